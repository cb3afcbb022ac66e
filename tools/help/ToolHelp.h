//===- ToolHelp.h - --help and --version of tools ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_HELP_TOOLHELP_H
#define MF_TOOLS_HELP_TOOLHELP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"

namespace mf::tools {

/// Prepares `--help` and `--version` of a tool. Must be called first in main.
///
/// `--help` shows the options in `categories`, options that are registered
/// later (MLIR registers its options when its entry points run), and then
/// `extra`: sections such as examples. It hides the options that libLLVM
/// registers when it is loaded, for code generators and optimizers that mf does
/// not use. `--help-hidden` shows them. Categories are sorted by name.
///
/// `--version` shows the version of mf, the commit from which it was built, and
/// the version of LLVM.
///
/// `hasShortHelp`: an entry point of MLIR registers an option -h of its own.
void setUpHelp(llvm::ArrayRef<const llvm::cl::OptionCategory *> categories,
               llvm::StringRef extra, bool hasShortHelp = false);

/// Returns "0.1.0 (commit 0123abcd)", for example.
llvm::StringRef getVersion();

} // namespace mf::tools

#endif // MF_TOOLS_HELP_TOOLHELP_H
