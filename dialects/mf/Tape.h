//===- Tape.h - What a trainer keeps of an operator -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The interface through which operators say what the trainer of a YAML holds in
// device memory for them: which values its automatic differentiation keeps from
// forward to backward, which results are views, and which workspace a kernel
// takes. The trainer is that of the dynamic graph, which runs one operator
// after another and records each on a tape. docs/sources.md names the sources.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DIALECTS_MF_TAPE_H
#define MF_DIALECTS_MF_TAPE_H

#include "mlir/IR/Value.h"

namespace mf::ir {

class AllGatherOp;
class AllReduceOp;
class CrossEntropyOp;
class GatherRowsOp;

/// The workspaces of aclnn's kernels, in bytes, as MindSpore's memory tracker
/// shows them.
inline constexpr int64_t matmulWorkspace = 20 * 1048576 + 1024;
inline constexpr int64_t groupedMatmulWorkspace = 16 * 1048576;
inline constexpr int64_t normWorkspace = 16 * 1048576;
/// The part of the workspace of a scatter that does not depend on its operands.
inline constexpr int64_t scatterWorkspace = 16 * 1048576 + 1536;
/// The width of the rows in which flash attention returns maxima and sums.
inline constexpr int64_t flashAttentionRowWidth = 8;

/// Records one operator of a chunk. A result that the operator does not mention
/// gets a block of its own.
class Tape {
public:
  virtual ~Tape() = default;

  /// Returns whether gradients flow through a value.
  virtual bool needsGradient(mlir::Value value) = 0;
  /// Returns the bytes of a value in the type in which the trainer holds it.
  virtual int64_t getBytes(mlir::Value value) = 0;
  /// Returns the operators that read a value, also those of the next layer.
  virtual llvm::SmallVector<mlir::Operation *>
  getReaders(mlir::Value value) = 0;

  /// Backward of the operator reads the value.
  virtual void keep(mlir::Value value) = 0;
  /// Backward of the operator reads the value if `other` has a gradient.
  void keepFor(mlir::Value value, mlir::Value other) {
    if (needsGradient(other))
      keep(value);
  }
  /// The kernel converts the value itself: forward reads, and backward too if
  /// `isKept`, the value that the model converts to a wider type in front of
  /// the operator. Returns that value.
  virtual mlir::Value readUncast(mlir::Value value, bool isKept) = 0;
  /// Backward reads the value, of which the kernel needs a contiguous copy if
  /// it is a view with gaps.
  virtual void keepContiguous(mlir::Value value) = 0;
  /// Backward reads a value of so many bytes, which the operator makes beside
  /// its results.
  virtual void keepBytes(int64_t bytes) = 0;
  /// The caller's frame holds the value until forward of the chunk ends. If
  /// several operators say so, the last one holds.
  virtual void holdToEnd(mlir::Value value) = 0;

  /// The result has a block of so many copies of its size, or with the type of
  /// elements of `like`.
  virtual void make(mlir::Value result, int64_t copies = 1) = 0;
  virtual void makeLike(mlir::Value result, mlir::Value like) = 0;
  /// The result has the memory of another value, with the same dimensions, with
  /// permuted ones, or with other dimensions if no element has to move.
  virtual void view(mlir::Value result, mlir::Value of) = 0;
  virtual void viewPermuted(mlir::Value result, mlir::Value of,
                            llvm::ArrayRef<int64_t> permutation) = 0;
  virtual void viewReshaped(mlir::Value result, mlir::Value of) = 0;
  /// The result is another type of the input. A conversion to a wider type only
  /// runs if an operator reads the wider type.
  virtual void convert(mlir::Value result, mlir::Value input) = 0;
  /// The result is a weight that is gathered for its layer, and again for the
  /// layer's backward if `isFreed`. Returns false if the input is no weight.
  virtual bool gatherWeight(mlir::Value result, mlir::Value input,
                            bool isFreed) = 0;
  /// Of the result the trainer only makes `numerator` / `denominator`, since it
  /// reduces and scatters where the model reduces and takes a part later.
  virtual void makePart(mlir::Value result, int64_t numerator,
                        int64_t denominator) = 0;
  /// The result is the part of the input that a rank has.
  virtual void takePart(mlir::Value result, mlir::Value input) = 0;

  /// The kernel takes workspaces of so many bytes in forward and in backward.
  virtual void useWorkspace(int64_t forward, int64_t backward) = 0;
  /// At a moment within the operator, or within its backward, so many bytes of
  /// values are alive beside the operands, the results and their gradients.
  virtual void addMoment(bool isBackward, llvm::StringRef name, int64_t bytes,
                         int64_t workspace = 0) = 0;
};

/// Record operators whose trainer runs several steps.
void recordOnTape(AllGatherOp op, Tape &tape);
void recordOnTape(AllReduceOp op, Tape &tape);
void recordOnTape(CrossEntropyOp op, Tape &tape);
void recordOnTape(GatherRowsOp op, Tape &tape);

} // namespace mf::ir

#endif // MF_DIALECTS_MF_TAPE_H
