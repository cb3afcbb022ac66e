//===- RecomputePlan.h - Operators that backward runs again -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The decision of mf-insert-recompute as a plain value: the operators marked
// for recompute whose results backward needs, and the values from which they
// are computed. This file does not depend on MLIR.
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
  /// True if backward should compute it again instead of keeping its results.
  bool isMarked = false;
  /// True if it costs nothing to recompute: it is a view, or depends on
  /// parameters alone.
  bool isFree = false;
  /// True if backward uses one of its results.
  bool isReadByBackward = false;
  /// The indices of the operators whose results it uses.
  llvm::SmallVector<int64_t, 2> producers;
  /// The bytes of the results that backward uses.
  int64_t readBytes = 0;
  /// The bytes of another form of the result that forward can compute, which is
  /// then kept instead of the operands. Empty if there is none.
  std::optional<int64_t> savedBytes;
  int64_t flops = 0;
};

/// The operators to clone and those to keep, as indices in forward order.
struct RecomputePlan {
  /// Marked operators that backward runs again, and free ones between them.
  std::vector<int64_t> clones;
  /// Operators that are not cloned but whose results clones read. Backward
  /// needs these results only because of the clones.
  std::vector<int64_t> kept;
  /// The bytes of results that backward used and now recomputes.
  int64_t droppedBytes = 0;
  /// The floating-point operations that run twice.
  int64_t flops = 0;

  void print(llvm::ArrayRef<ForwardOperator> operators,
             llvm::raw_ostream &os) const;
};

/// Makes the plan for `operators`, given in program order. A marked operator is
/// cloned if backward or a clone reads it. Values of unmarked operators that
/// clones read are kept. Free operators are cloned with their producers. Takes
/// linear time in operators and uses.
RecomputePlan planRecompute(llvm::ArrayRef<ForwardOperator> operators);

} // namespace mf::passes

#endif // MF_PASSES_RECOMPUTE_RECOMPUTEPLAN_H
