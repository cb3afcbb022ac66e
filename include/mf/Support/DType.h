//===- DType.h - Element types and shapes ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The element types that a training step holds in memory, shared by the
// kernels, the file formats and the decoded program.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SUPPORT_DTYPE_H
#define MF_SUPPORT_DTYPE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace mf {

/// An element type. The names (`getName`) are MLIR's: f32, bf16, f16, i32, i64,
/// i1. I1 is one bit of a mask.
enum class DType : uint8_t { F32, BF16, F16, I32, I64, I1 };

/// Returns the size of one element in bytes. A single I1 takes one byte.
int64_t getBytes(DType type);

/// Returns the bytes of `elements` consecutive elements. I1 elements are packed
/// as by aclnnDropoutGenMask: eight in a byte, the lowest bit first, in units
/// of 128.
int64_t getBytes(DType type, int64_t elements);

/// Returns MLIR's spelling of the type.
llvm::StringRef getName(DType type);

/// Returns the type with the given MLIR spelling, or none.
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

#endif // MF_SUPPORT_DTYPE_H
