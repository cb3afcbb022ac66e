//===- DType.h - Element types and shapes ---------------------*- C++ -*-===//
//
// The element types that a training step holds in memory, shared by the
// kernels, the file formats and the decoded program.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TENSOR_DTYPE_H
#define MF_TENSOR_DTYPE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace mf {

/// An element type. Names (`getName`) are MLIR's: f32, bf16, f16, i32, i64, i1.
/// The last is a bit of a mask.
enum class DType : uint8_t { F32, BF16, F16, I32, I64, I1 };

/// Size of one element in bytes; a bit on its own takes one.
int64_t getBytes(DType type);

/// Bytes of `elements` elements that lie behind each other. Bits lie as
/// aclnnDropoutGenMask packs them: eight in a byte, the lowest one first, in
/// units of 128.
int64_t getBytes(DType type, int64_t elements);

/// MLIR's spelling of the type.
llvm::StringRef getName(DType type);

/// The type spelt `name` in MLIR's way, or none.
std::optional<DType> parseDType(llvm::StringRef name);

/// Element type and static shape of a dense row-major tensor. A scalar has an
/// empty shape and one element.
struct TensorShape {
  DType type = DType::F32;
  llvm::SmallVector<int64_t, 4> dims;

  int64_t getNumElements() const;
  int64_t getBytes() const;

  bool operator==(const TensorShape &other) const {
    return type == other.type && dims == other.dims;
  }
  bool operator!=(const TensorShape &other) const { return !(*this == other); }
};

} // namespace mf

#endif // MF_TENSOR_DTYPE_H
