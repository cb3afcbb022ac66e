//===- AllTools.cpp - One program that is all tools -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the tool by whose name the program is called: a release has a symbolic
// link for each. Under any other name it is `mf`.
//
//===----------------------------------------------------------------------===//

#include "tools/main/ToolMains.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"

namespace {

struct Tool {
  llvm::StringLiteral name;
  int (*run)(int argc, char **argv);
};

constexpr Tool tools[] = {
#define MF_TOOL(name, function) {name, mf::tools::function},
#include "tools/main/ToolMains.def"
};

} // namespace

int main(int argc, char **argv) {
  const llvm::StringRef name =
      argc > 0 ? llvm::sys::path::filename(argv[0]) : llvm::StringRef();
  for (const Tool &tool : tools)
    if (tool.name == name)
      return tool.run(argc, argv);
  return mf::tools::mfMain(argc, argv);
}
