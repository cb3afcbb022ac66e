//===- HideInherited.cpp - Hides LLVM's own options in --help -------------===//

#include "tools/help/HideInherited.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;

namespace mf::tools {

void hideInheritedOptions(ArrayRef<const cl::OptionCategory *> categories) {
  SmallVector<cl::Option *> shown;
  for (auto &[name, option] : cl::getRegisteredOptions())
    if (option->getOptionHiddenFlag() == cl::NotHidden)
      shown.push_back(option);
  // This spares `--help` and its like, whose category has no public name.
  cl::HideUnrelatedOptions(categories);
  for (cl::Option *option : shown)
    if (option->getOptionHiddenFlag() == cl::ReallyHidden)
      option->setHiddenFlag(cl::Hidden);
}

} // namespace mf::tools
