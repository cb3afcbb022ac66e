//===- HideInherited.h - Hides LLVM's own options in --help -----*- C++ -*-===//

#ifndef MF_TOOLS_HELP_HIDEINHERITED_H
#define MF_TOOLS_HELP_HIDEINHERITED_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"

namespace mf::tools {

/// Leaves options out of `--help` that libLLVM registers when it is loaded:
/// code generators and optimizers that mean nothing to mf. `--help-hidden`
/// shows them. Options in `categories` stay, and those that are registered
/// later (MLIR registers its options when its entry points run). To be called
/// first in main.
void hideInheritedOptions(
    llvm::ArrayRef<const llvm::cl::OptionCategory *> categories = {});

} // namespace mf::tools

#endif // MF_TOOLS_HELP_HIDEINHERITED_H
