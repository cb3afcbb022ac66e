//===- RunCommand.h - Runs what the options of mf-run ask for ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_RUN_RUNCOMMAND_H
#define MF_TOOLS_MF_RUN_RUNCOMMAND_H

#include "Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>

namespace mf::tools {

/// A lowered step or a model, and the digest of what it was made from, which
/// all processes of a run must share.
struct StepInMemory {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string digest;
};

/// Makes the step of a run. Warnings go to `errors`.
using StepSource = std::function<llvm::Expected<StepInMemory>(
    mlir::MLIRContext &context, llvm::raw_ostream &errors)>;

/// Returns a short digest of a text.
std::string getDigest(llvm::StringRef text);

/// Returns the first sentence of the comment that the file of a target begins
/// with.
std::string getTargetSummary(llvm::StringRef text);

/// Does what the options ask for: executes a step, simulates it, shows or fits
/// targets. `program` is argv[0]. Without a `source`, the step is in the file
/// of the options. Returns the exit code of the program.
int runSteps(const Options &options, const char *program,
             const StepSource &source = {});

} // namespace mf::tools

#endif // MF_TOOLS_MF_RUN_RUNCOMMAND_H
