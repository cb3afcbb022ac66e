//===- ToolHelp.cpp - --help and --version of tools -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/help/ToolHelp.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mf::tools {

static void
hideInheritedOptions(ArrayRef<const cl::OptionCategory *> categories) {
  SmallVector<cl::Option *> shown;
  for (auto &[name, option] : cl::getRegisteredOptions())
    if (option->getOptionHiddenFlag() == cl::NotHidden)
      shown.push_back(option);
  // Options such as `--help` are not hidden; their category has no public name.
  cl::HideUnrelatedOptions(categories);
  for (cl::Option *option : shown)
    if (option->getOptionHiddenFlag() == cl::ReallyHidden)
      option->setHiddenFlag(cl::Hidden);
}

void setUpHelp(ArrayRef<const cl::OptionCategory *> categories,
               StringRef extra) {
  hideInheritedOptions(categories);
  cl::SetVersionPrinter([](raw_ostream &os) {
    os << "mf " << getVersion() << ", with LLVM " LLVM_VERSION_STRING "\n";
  });
  // extrahelp keeps a reference to its text.
  static std::string text;
  text = extra.str();
  static cl::extrahelp help(text);
}

} // namespace mf::tools
