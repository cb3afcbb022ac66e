//===- ScalePlan.h - Chooses scaled gradients to store ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An update multiplies gradients by the inverse of the loss scale and by the
// clipping factor. This file decides which of these products are computed by
// the operators that read them, so that they are not written back. It does not
// depend on IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_OPTIMIZER_SCALEPLAN_H
#define MF_PASSES_OPTIMIZER_SCALEPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace mf::passes {

/// An operator of an update.
struct GradientUser {
  enum class Kind {
    /// The operator multiplies gradients in place.
    Scales,
    /// The operator only reads gradients, and can multiply them by factors.
    Reads,
    Other
  };

  std::string name;
  Kind kind = Kind::Other;
  /// The parameters whose gradients it uses.
  std::vector<std::string> gradients;
};

/// The decision on one operator that scales.
struct ScaleDecision {
  /// Its index among the operators.
  size_t scale;
  /// The index of the first operator that needs the product in memory, if there
  /// is one. In that case the operator stays.
  std::optional<size_t> obstacle;
  /// The operators that multiply by the factor themselves instead.
  std::vector<size_t> readers;
};

/// Returns the decisions on all operators of `users` that scale, the last one
/// first. They must be applied in that order, each factor in front of those
/// that a reader has already. Operators are in the order in which they run. A
/// reader of which only some gradients are scaled is an obstacle.
std::vector<ScaleDecision> planScales(llvm::ArrayRef<GradientUser> users);

void printScales(llvm::ArrayRef<GradientUser> users,
                 llvm::ArrayRef<ScaleDecision> decisions,
                 llvm::raw_ostream &os);

} // namespace mf::passes

#endif // MF_PASSES_OPTIMIZER_SCALEPLAN_H
