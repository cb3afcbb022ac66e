//===- InputText.cpp - Files that are read whole --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "InputText.h"
#include "llvm/Support/MemoryBuffer.h"

namespace mf::tools {

llvm::Expected<std::string> readInput(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!file)
    return llvm::createStringError("cannot read '" + path +
                                   "': " + file.getError().message());
  return (*file)->getBuffer().str();
}

llvm::StringRef nameInput(llvm::StringRef path) {
  return path == "-" ? "<stdin>" : path;
}

} // namespace mf::tools
