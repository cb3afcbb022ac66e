//===- ScalePlan.h - Chooses scaled gradients to write ----------*- C++ -*-===//
//
// An update multiplies gradients by the loss scale's inverse and by what clips
// them. This decides which of these products are computed where they are read,
// so that they are not written back. No IR.
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
    /// Multiplies gradients in place.
    Scales,
    /// Only reads them, and can do so times factors.
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
  /// Its place among the operators.
  size_t scale;
  /// The first operator that needs the product in memory, if there is one; the
  /// operator then stays.
  std::optional<size_t> obstacle;
  /// Operators that read the product times its factor instead.
  std::vector<size_t> readers;
};

/// The decisions on all operators of `users` that scale, the last one first: so
/// they are to be applied, each factor in front of those that a reader has.
/// Operators are in the order in which they run. A reader whose gradients are
/// not all scaled is an obstacle.
std::vector<ScaleDecision> planScales(llvm::ArrayRef<GradientUser> users);

void printScales(llvm::ArrayRef<GradientUser> users,
                 llvm::ArrayRef<ScaleDecision> decisions,
                 llvm::raw_ostream &os);

} // namespace mf::passes

#endif // MF_PASSES_OPTIMIZER_SCALEPLAN_H
