//===- Tensor.h - The values of the interpreter ----------------*- C++ -*-===//

#ifndef MF_INTERPRETER_TENSOR_H
#define MF_INTERPRETER_TENSOR_H

#include "mf/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace mf::interpreter {

/// A dense row-major tensor in memory of its own. Copies of a Tensor are the
/// same memory, and so are its views.
class Tensor {
public:
  /// No tensor.
  Tensor() = default;
  /// All bytes are 0xff, which makes floats NaNs: what nobody writes is seen.
  explicit Tensor(const TensorShape &shape);

  explicit operator bool() const { return memory != nullptr; }

  const TensorShape &getShape() const { return shape; }
  llvm::MutableArrayRef<uint8_t> getBytes() const;
  /// As elements of the C++ type that the element type stands for.
  template <typename Element>
  llvm::MutableArrayRef<Element> getElements() const {
    llvm::MutableArrayRef<uint8_t> bytes = getBytes();
    return {reinterpret_cast<Element *>(bytes.data()),
            bytes.size() / sizeof(Element)};
  }

  /// The same memory, from `byteOffset` on, with another shape that fits in.
  Tensor getView(const TensorShape &viewShape, int64_t byteOffset = 0) const;
  /// The same value in memory of its own.
  Tensor clone() const;
  void fillWithZeros() const;

private:
  TensorShape shape;
  std::shared_ptr<std::vector<uint8_t>> memory;
  int64_t offset = 0;
};

/// An fp32 scalar.
Tensor makeScalar(float value);

} // namespace mf::interpreter

#endif // MF_INTERPRETER_TENSOR_H
