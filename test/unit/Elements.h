//===- Elements.h - Bytes of tensors as numbers, for tests -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_ELEMENTS_H
#define MF_TEST_UNIT_ELEMENTS_H

#include "mf/Exec/Data/ElementConversion.h"
#include "llvm/ADT/ArrayRef.h"
#include <vector>

namespace mf {

/// Rounds `values` to elements of a floating-point type.
template <typename Byte>
void writeElements(llvm::ArrayRef<float> values, DType type,
                   llvm::MutableArrayRef<Byte> bytes) {
  llvm::cantFail(convertElements(
      DType::F32,
      {reinterpret_cast<const uint8_t *>(values.data()), values.size() * 4},
      type, {reinterpret_cast<uint8_t *>(bytes.data()), bytes.size()}));
}

/// Elements of a floating-point type.
template <typename Byte>
std::vector<float> readElements(DType type, llvm::ArrayRef<Byte> bytes) {
  std::vector<float> values(bytes.size() / getBytes(type));
  llvm::cantFail(convertElements(
      type, {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()},
      DType::F32,
      {reinterpret_cast<uint8_t *>(values.data()), values.size() * 4}));
  return values;
}

} // namespace mf

#endif // MF_TEST_UNIT_ELEMENTS_H
