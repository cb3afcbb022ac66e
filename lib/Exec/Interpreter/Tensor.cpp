//===- Tensor.cpp - The values of the interpreter -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Interpreter/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include <cassert>

namespace mf::interpreter {

Tensor::Tensor(const TensorShape &shape)
    : shape(shape), memory(std::make_shared<std::vector<uint8_t>>(
                        shape.getBytes(), uint8_t{0xff})) {}

llvm::MutableArrayRef<uint8_t> Tensor::getBytes() const {
  return llvm::MutableArrayRef<uint8_t>(*memory).slice(offset,
                                                       shape.getBytes());
}

Tensor Tensor::getView(const TensorShape &viewShape, int64_t byteOffset) const {
  assert(byteOffset + viewShape.getBytes() <= shape.getBytes() &&
         "a view lies inside its tensor");
  Tensor view = *this;
  view.shape = viewShape;
  view.offset += byteOffset;
  return view;
}

Tensor Tensor::clone() const {
  Tensor copy(shape);
  llvm::copy(getBytes(), copy.getBytes().begin());
  return copy;
}

void Tensor::fillWithZeros() const { llvm::fill(getBytes(), 0); }

Tensor makeScalar(float value) {
  Tensor scalar(TensorShape{DType::F32, {}});
  scalar.getElements<float>()[0] = value;
  return scalar;
}

} // namespace mf::interpreter
