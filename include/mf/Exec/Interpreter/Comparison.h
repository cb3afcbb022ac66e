//===- Comparison.h - Whether a rewrite computes the same ------*- C++ -*-===//
//
// Runs a module before and after a rewrite on the same random data and initial
// values. Values that both compute must be the same. Values that only the
// rewritten one computes are compared with something else: gradients against
// finite differences of the loss before, an update against AdamW written down
// in plain doubles. Finite differences need a loss in fp32 throughout.
//
//===----------------------------------------------------------------------===//

#ifndef MF_INTERPRETER_COMPARISON_H
#define MF_INTERPRETER_COMPARISON_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace mf::interpreter {

struct ComparisonOptions {
  int64_t steps = 2;
  /// The seed of initial values and data.
  uint64_t seed = 1;
  int threads = 0;
  /// 0 asks for the same bits; else the largest difference's norm relative to
  /// that of the value, for rewrites that change the order of sums.
  double tolerance = 0;
};

struct Comparison {
  /// The kinds of values that were compared and are the same, such as "losses".
  std::vector<std::string> same;
  /// The kinds of values that could not be compared, and why.
  std::vector<std::string> skipped;
  /// One sentence for each difference.
  std::vector<std::string> differences;

  bool isSame() const { return differences.empty(); }
  void print(llvm::raw_ostream &os) const;
};

/// Modules that cannot be run are a difference too; why is reported at their
/// operations.
Comparison compareModules(mlir::ModuleOp before, mlir::ModuleOp after,
                          const ComparisonOptions &options);

} // namespace mf::interpreter

#endif // MF_INTERPRETER_COMPARISON_H
