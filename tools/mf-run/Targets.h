//===- Targets.h - The targets of mf-run -----------------------*- C++ -*-===//

#ifndef MF_TOOLS_MF_RUN_TARGETS_H
#define MF_TOOLS_MF_RUN_TARGETS_H

#include "Options.h"
#include "Processes.h"
#include "mf/Perf/Target/Target.h"
#include "mlir/IR/MLIRContext.h"

namespace mf::tools {

/// The target of --target.
struct LoadedTarget {
  /// Its file, and what this says.
  std::string text;
  target::Target written;
  /// The target with the numbers of --set.
  target::Target changed;
};

/// Reads --target and changes it as --set says; none behind an error.
std::optional<LoadedTarget> loadTarget(const Options &options,
                                       mlir::MLIRContext &context,
                                       Messages &messages);

/// Writes the file of a target to -o, in one step, or to standard output. It is
/// that of --target, with the numbers of `target` and `comment` as `//` lines
/// at its top.
llvm::Error writeTarget(const Options &options, const LoadedTarget &loaded,
                        const target::Target &target, llvm::StringRef comment,
                        mlir::MLIRContext &context);

/// --list-targets: a line for each target that comes with mf-run.
int listTargets();

/// --list-parameters: the path and value of each number that --set can change.
/// Returns what main returns.
int listParameters(const Options &options, Messages &messages);

/// --print-target: the file of --target, with its comments and the numbers of
/// --set. Returns what main returns.
int printTarget(const Options &options, Messages &messages);

} // namespace mf::tools

#endif // MF_TOOLS_MF_RUN_TARGETS_H
