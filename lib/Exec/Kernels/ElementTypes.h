//===- ElementTypes.h - bf16 and f16 in memory ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_ELEMENTTYPES_H
#define MF_LIB_EXEC_KERNELS_ELEMENTTYPES_H

#include "mf/Support/DType.h"
#include "llvm/Support/ErrorHandling.h"
#include <cstdint>

namespace mf {

/// The upper half of an f32.
struct BFloat16 {
  uint16_t bits;
};

/// IEEE 754 binary16.
struct Float16 {
  uint16_t bits;
};

inline bool isFloat(DType type) {
  return type == DType::F32 || type == DType::BF16 || type == DType::F16;
}

/// Calls `function` with a null pointer to the C++ type of `type`, which must
/// be a floating-point type. Used to pick a template instance.
template <typename Function>
auto dispatchFloat(DType type, Function &&function) {
  switch (type) {
  case DType::F32:
    return function(static_cast<float *>(nullptr));
  case DType::BF16:
    return function(static_cast<BFloat16 *>(nullptr));
  case DType::F16:
    return function(static_cast<Float16 *>(nullptr));
  case DType::I32:
  case DType::I64:
  case DType::I1:
    break;
  }
  llvm_unreachable("not a floating-point type");
}

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_ELEMENTTYPES_H
