//===- Outputs.h - Files that are written at the end ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_PLAN_OUTPUTS_H
#define MF_TOOLS_MF_PLAN_OUTPUTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mf::tools {

/// Checks, before a long search, that these files can be written and differ
/// from each other. Empty paths and "-" are always accepted.
llvm::Error checkOutputPaths(llvm::ArrayRef<std::string> paths);

/// Text that is written to files once it is complete, each file whole or not at
/// all.
class Outputs {
public:
  /// Adds text for a file. It is dropped for an empty path and written to
  /// standard output for "-".
  void add(llvm::StringRef path, std::string text);
  llvm::Error write() const;

private:
  struct File {
    std::string path, text;
  };
  std::vector<File> files;
};

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_OUTPUTS_H
