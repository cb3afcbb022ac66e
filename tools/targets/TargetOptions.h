//===- TargetOptions.h - Options --target and --set -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_TARGETS_TARGETOPTIONS_H
#define MF_TOOLS_TARGETS_TARGETOPTIONS_H

#include "mf/Perf/Target/Target.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/SourceMgr.h"

namespace mf::tools {

/// Adds the file of --target, which is a name or a path, as the main file of
/// `sources`.
llvm::Error openTargetOption(llvm::StringRef target, llvm::SourceMgr &sources);

/// Parses the main file of `sources`; errors in it go to `errors`.
mlir::FailureOr<target::Target> parseTargetOption(llvm::SourceMgr &sources,
                                                  mlir::MLIRContext &context,
                                                  llvm::raw_ostream &errors);

/// Reads the target of --target. The error names the option or the place in the
/// file.
llvm::Expected<target::Target> readTargetOption(llvm::StringRef target);

/// Changes numbers of a target. Each element of --set has the form
/// `path=number`.
llvm::Error applySetOptions(target::Target &target,
                            llvm::ArrayRef<std::string> settings);

} // namespace mf::tools

#endif // MF_TOOLS_TARGETS_TARGETOPTIONS_H
