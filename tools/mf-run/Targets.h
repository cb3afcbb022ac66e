//===- Targets.h - The targets of mf-run -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_RUN_TARGETS_H
#define MF_TOOLS_MF_RUN_TARGETS_H

#include "Options.h"
#include "Processes.h"
#include "mf/Perf/Target/Target.h"
#include "mlir/IR/MLIRContext.h"

namespace mf::tools {

/// The target of --target.
struct LoadedTarget {
  /// The text of the target's file.
  std::string text;
  target::Target written;
  /// The target with the numbers of --set.
  target::Target changed;
};

/// Reads --target and applies --set. Returns none after an error.
std::optional<LoadedTarget> loadTarget(const Options &options,
                                       mlir::MLIRContext &context,
                                       Messages &messages);

/// Writes the file of a target to -o, in one step, or to standard output. It is
/// that of --target, with the numbers of `target` and `comment` as `//` lines
/// at its top.
llvm::Error writeTarget(const Options &options, const LoadedTarget &loaded,
                        const target::Target &target, llvm::StringRef comment,
                        mlir::MLIRContext &context);

/// Returns the first sentence of the comment that the file of a target begins
/// with.
std::string getTargetSummary(llvm::StringRef text);

/// Implements --list-targets: prints a line for each target that is part of
/// mf-run.
int listTargets();

/// Implements --list-parameters: prints the path and value of each number that
/// --set can change. Returns the exit code.
int listParameters(const Options &options, Messages &messages);

/// Implements --print-target: prints the file of --target, with its comments
/// and the numbers of --set. Returns the exit code.
int printTarget(const Options &options, Messages &messages);

} // namespace mf::tools

#endif // MF_TOOLS_MF_RUN_TARGETS_H
