//===- RecomputePlan.h - Operators that backward repeats --------*- C++ -*-===//
//
// The decision of mf-insert-recompute as a plain value: the operators marked
// for recompute whose results backward needs, and the values that they are
// computed from. Knows no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_RECOMPUTE_RECOMPUTEPLAN_H
#define MF_PASSES_RECOMPUTE_RECOMPUTEPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf::passes {

/// One operator of a chunk's forward half.
struct ForwardOperator {
  std::string name;
  /// Backward is to compute it again rather than keep its results.
  bool isMarked = false;
  /// Costs nothing to make again: a view, or made of parameters alone.
  bool isFree = false;
  /// Backward uses one of its results.
  bool isReadByBackward = false;
  /// The operators, by index, whose results it uses.
  llvm::SmallVector<int64_t, 2> producers;
  /// Bytes of the results that backward uses.
  int64_t readBytes = 0;
  /// Set if forward makes another form of the result, of so many bytes, which
  /// is kept in place of the operands.
  std::optional<int64_t> savedBytes;
  int64_t flops = 0;
};

/// The operators to clone and those to keep, as indices in forward order.
struct RecomputePlan {
  /// Marked operators that backward runs again, and free ones between them.
  std::vector<int64_t> clones;
  /// Operators that are not cloned but whose results clones read: backward
  /// needs them, and did not need all of them before.
  std::vector<int64_t> kept;
  /// Bytes of results that backward used and now computes.
  int64_t droppedBytes = 0;
  /// Bytes of other forms that are kept instead.
  int64_t savedBytes = 0;
  /// Floating-point operations that run twice.
  int64_t flops = 0;

  void print(llvm::ArrayRef<ForwardOperator> operators,
             llvm::raw_ostream &os) const;
};

/// Decides for `operators`, given in program order. A marked operator is cloned
/// if backward, or a clone, reads it; values that clones read of operators that
/// are not marked are kept. Free operators follow their producers. Linear in
/// operators and uses.
RecomputePlan planRecompute(llvm::ArrayRef<ForwardOperator> operators);

} // namespace mf::passes

#endif // MF_PASSES_RECOMPUTE_RECOMPUTEPLAN_H
