//===- Targets.h - The targets of mf-run -----------------------*- C++ -*-===//

#ifndef MF_TOOLS_MF_RUN_TARGETS_H
#define MF_TOOLS_MF_RUN_TARGETS_H

#include "Options.h"
#include "Processes.h"
#include "mf/Target/Target.h"
#include "mlir/IR/MLIRContext.h"

namespace mf::tools {

/// Reads --target and changes it as --set says; none behind an error.
std::optional<target::Target> loadTarget(const Options &options,
                                         mlir::MLIRContext &context,
                                         Messages &messages);

/// Writes the file of a target to -o, in one step, or to standard output.
llvm::Error writeTarget(const Options &options, llvm::StringRef text);

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
