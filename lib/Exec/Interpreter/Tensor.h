//===- Tensor.h - The values of the interpreter -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_INTERPRETER_TENSOR_H
#define MF_LIB_EXEC_INTERPRETER_TENSOR_H

#include "mf/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <cassert>
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
  explicit Tensor(const TensorShape &shape)
      : shape(shape), memory(std::make_shared<std::vector<uint8_t>>(
                          shape.getBytes(), uint8_t{0xff})) {}

  explicit operator bool() const { return memory != nullptr; }

  const TensorShape &getShape() const { return shape; }
  llvm::MutableArrayRef<uint8_t> getBytes() const {
    return llvm::MutableArrayRef<uint8_t>(*memory).slice(offset,
                                                         shape.getBytes());
  }
  /// Returns the elements with the C++ type of the element type.
  template <typename Element>
  llvm::MutableArrayRef<Element> getElements() const {
    llvm::MutableArrayRef<uint8_t> bytes = getBytes();
    return {reinterpret_cast<Element *>(bytes.data()),
            bytes.size() / sizeof(Element)};
  }

  /// Returns a view of the same memory from `byteOffset` on, with another shape
  /// that fits.
  Tensor getView(const TensorShape &viewShape, int64_t byteOffset = 0) const {
    assert(byteOffset + viewShape.getBytes() <= shape.getBytes() &&
           "a view lies inside its tensor");
    Tensor view = *this;
    view.shape = viewShape;
    view.offset += byteOffset;
    return view;
  }

  /// Returns a copy with its own memory.
  Tensor clone() const {
    Tensor copy(shape);
    llvm::copy(getBytes(), copy.getBytes().begin());
    return copy;
  }
  void fillWithZeros() const { llvm::fill(getBytes(), 0); }

private:
  TensorShape shape;
  std::shared_ptr<std::vector<uint8_t>> memory;
  int64_t offset = 0;
};

/// Makes an fp32 scalar.
inline Tensor makeScalar(float value) {
  Tensor scalar(TensorShape{DType::F32, {}});
  scalar.getElements<float>()[0] = value;
  return scalar;
}

} // namespace mf::interpreter

#endif // MF_LIB_EXEC_INTERPRETER_TENSOR_H
