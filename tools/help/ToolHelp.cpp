//===- ToolHelp.cpp - --help and --version of tools -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/help/ToolHelp.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

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

/// Registers a -h of its own. LLVM lets options whose name has one letter be
/// followed by others in the same word, so that its -h takes any unknown option
/// that begins with h, as --hbn=50GB, and ends the program successfully.
static void replaceShortHelp() {
  static cl::opt<bool> option("short-help", cl::ReallyHidden,
                              cl::callback([](const bool &) {
                                cl::PrintHelpMessage();
                                std::exit(EXIT_SUCCESS);
                              }));
  // setArgStr would allow such words.
  option.removeArgument();
  option.ArgStr = "h";
  option.addArgument();
}

void setUpHelp(ArrayRef<const cl::OptionCategory *> categories, StringRef extra,
               bool hasShortHelp) {
  hideInheritedOptions(categories);
  cl::SetVersionPrinter([](raw_ostream &os) {
    os << "mf " << getVersion() << ", with LLVM " LLVM_VERSION_STRING "\n";
  });
  // extrahelp keeps a reference to its text.
  static std::string text;
  text = extra.str();
  static cl::extrahelp help(text);
  if (!hasShortHelp)
    replaceShortHelp();
}

} // namespace mf::tools
