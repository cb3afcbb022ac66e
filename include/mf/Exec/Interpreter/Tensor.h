//===- Tensor.h - The values of the interpreter ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_INTERPRETER_TENSOR_H
#define MF_EXEC_INTERPRETER_TENSOR_H

#include "mf/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace mf::interpreter {

/// A dense row-major tensor. Copies and views of a Tensor share its memory.
class Tensor {
public:
  /// Makes a null tensor.
  Tensor() = default;
  /// Allocates a tensor. All bytes are 0xff, so that floats are NaNs and reads
  /// of values that were never written are noticed.
  explicit Tensor(const TensorShape &shape);

  explicit operator bool() const { return memory != nullptr; }

  const TensorShape &getShape() const { return shape; }
  llvm::MutableArrayRef<uint8_t> getBytes() const;
  /// Returns the elements with the C++ type of the element type.
  template <typename Element>
  llvm::MutableArrayRef<Element> getElements() const {
    llvm::MutableArrayRef<uint8_t> bytes = getBytes();
    return {reinterpret_cast<Element *>(bytes.data()),
            bytes.size() / sizeof(Element)};
  }

  /// Returns a view of the same memory from `byteOffset` on, with another shape
  /// that fits.
  Tensor getView(const TensorShape &viewShape, int64_t byteOffset = 0) const;
  /// Returns a copy with its own memory.
  Tensor clone() const;
  void fillWithZeros() const;

private:
  TensorShape shape;
  std::shared_ptr<std::vector<uint8_t>> memory;
  int64_t offset = 0;
};

/// Makes an fp32 scalar.
Tensor makeScalar(float value);

} // namespace mf::interpreter

#endif // MF_EXEC_INTERPRETER_TENSOR_H
