//===- InputText.h - Files that are read whole -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_PLAN_INPUTTEXT_H
#define MF_TOOLS_MF_PLAN_INPUTTEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mf::tools {

/// Returns the text of a file, or of standard input for "-".
llvm::Expected<std::string> readInput(llvm::StringRef path);

/// Returns the name of the file for messages.
llvm::StringRef nameInput(llvm::StringRef path);

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_INPUTTEXT_H
