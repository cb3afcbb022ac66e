//===- ChoicePrint.h - Prints the costs of choices -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_OPT_CHOICEPRINT_H
#define MF_TOOLS_MF_OPT_CHOICEPRINT_H

#include "mf/Plan/Settings/ChoiceCosts.h"

namespace mf::tools {

/// Compiles a step once with each of MindSpore's choices changed, and prints
/// the costs as a table on standard error, or the reason why it cannot.
void printChoices(const planner::CompilerInput &input, llvm::StringRef yaml);

} // namespace mf::tools

#endif // MF_TOOLS_MF_OPT_CHOICEPRINT_H
