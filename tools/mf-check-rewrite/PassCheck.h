//===- PassCheck.h - Checks the IR between passes by running it -*- C++ -*-===//

#ifndef MF_TOOLS_MF_CHECK_REWRITE_PASSCHECK_H
#define MF_TOOLS_MF_CHECK_REWRITE_PASSCHECK_H

#include "mf/Exec/Interpreter/Comparison.h"
#include "mlir/Pass/PassManager.h"

namespace mf::tools {

/// A module as a pass left it.
struct Snapshot {
  /// The pass's argument; empty for what came in.
  std::string pass;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Whether the pass left other IR than it found.
  bool hasChanged = false;
};

/// Runs the passes of `manager` and copies the module before the first and
/// behind each. Where a pass runs on several operations in a row, the copy is
/// that behind the last. The module's context must not use threads.
mlir::FailureOr<std::vector<Snapshot>>
runWithSnapshots(mlir::PassManager &manager, mlir::ModuleOp module);

/// Whether the module can be run as it is: all but a program without a memory
/// plan.
bool canRunAsIs(mlir::ModuleOp module);

/// interpreter::compareModules; programs without a memory plan are planned
/// first, in a copy.
interpreter::Comparison
checkRewrite(mlir::ModuleOp before, mlir::ModuleOp after,
             const interpreter::ComparisonOptions &options);

/// The snapshot that number `index` is compared with: the last one before it
/// that can be run as it is.
const Snapshot &getReference(llvm::ArrayRef<Snapshot> snapshots, size_t index);

} // namespace mf::tools

#endif // MF_TOOLS_MF_CHECK_REWRITE_PASSCHECK_H
