//===- PassCheck.h - Checks the IR between passes by running it -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_CHECK_REWRITE_PASSCHECK_H
#define MF_TOOLS_MF_CHECK_REWRITE_PASSCHECK_H

#include "mf/Exec/Interpreter/Comparison.h"
#include "mlir/Pass/PassManager.h"

namespace mf::tools {

/// A module as a pass left it.
struct Snapshot {
  /// The pass's argument; empty for the input.
  std::string pass;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// True if the pass has changed the IR.
  bool hasChanged = false;
};

/// Runs the passes of `manager`. Copies the module before the first pass and
/// after each one. If several passes run on several operations in turn, only
/// the state after the last operation is copied. The module's context must be
/// single-threaded.
mlir::FailureOr<std::vector<Snapshot>>
runWithSnapshots(mlir::PassManager &manager, mlir::ModuleOp module);

/// True if the module can be run without further passes. Only a program without
/// a memory plan cannot.
bool canRunAsIs(mlir::ModuleOp module);

/// Calls interpreter::compareModules. Programs without a memory plan are
/// planned first, in a copy.
interpreter::Comparison
checkRewrite(mlir::ModuleOp before, mlir::ModuleOp after,
             const interpreter::ComparisonOptions &options);

/// Returns the snapshot to which the one at `index` is compared: the last
/// earlier one that can be run without further passes.
const Snapshot &getReference(llvm::ArrayRef<Snapshot> snapshots, size_t index);

} // namespace mf::tools

#endif // MF_TOOLS_MF_CHECK_REWRITE_PASSCHECK_H
