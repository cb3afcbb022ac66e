//===- Comparison.h - Checks that a rewrite preserves results ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a module before and after a rewrite on the same random data and initial
// values. Values that both compute must be equal. Values that only the
// rewritten module computes are compared with a reference: gradients with
// finite differences of the loss before, updates with AdamW written in plain
// doubles. Finite differences need a loss that is computed in fp32 throughout.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_INTERPRETER_COMPARISON_H
#define MF_EXEC_INTERPRETER_COMPARISON_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace mf::interpreter {

/// The data of a comparison, and the differences that it accepts.
struct ComparisonOptions {
  int64_t steps = 2;
  /// The seed of initial values and data.
  uint64_t seed = 1;
  int threads = 0;
  /// If 0, values must have the same bits. Otherwise the largest norm of the
  /// difference relative to that of the value, for rewrites that change the
  /// order of sums.
  double tolerance = 0;
};

/// The result of comparing two modules.
struct Comparison {
  /// The kinds of values that were compared and are equal, for example
  /// "losses".
  std::vector<std::string> same;
  /// The kinds of values that could not be compared, with the reasons.
  std::vector<std::string> skipped;
  /// One sentence for each difference.
  std::vector<std::string> differences;

  bool isSame() const { return differences.empty(); }
  void print(llvm::raw_ostream &os) const;
};

/// Compares two modules. A module that cannot be run is a difference too. The
/// reason is reported at its operations.
Comparison compareModules(mlir::ModuleOp before, mlir::ModuleOp after,
                          const ComparisonOptions &options);

} // namespace mf::interpreter

#endif // MF_EXEC_INTERPRETER_COMPARISON_H
