//===- ToolHelp.h - What --help and --version of a tool print ---*- C++ -*-===//

#ifndef MF_TOOLS_HELP_TOOLHELP_H
#define MF_TOOLS_HELP_TOOLHELP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"

namespace mf::tools {

/// Prepares `--help` and `--version` of a tool. To be called first in main.
///
/// `--help` shows the options in `categories`, those that are registered later
/// (MLIR registers its options when its entry points run) and, behind them,
/// `extra`: sections such as examples. It leaves out what libLLVM registers
/// when it is loaded: code generators and optimizers that mean nothing to mf.
/// `--help-hidden` shows them. Categories are shown in the order of their
/// names.
///
/// `--version` shows the version of mf, the commit it was built from and the
/// version of LLVM.
void setUpHelp(llvm::ArrayRef<const llvm::cl::OptionCategory *> categories,
               llvm::StringRef extra);

/// "0.1.0 (commit 0123abcd)".
llvm::StringRef getVersion();

} // namespace mf::tools

#endif // MF_TOOLS_HELP_TOOLHELP_H
