//===- DynamicKeyPage.cpp - Fields of the dynamic graph as a page ---------===//

#include "DynamicKeys.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "llvm/Support/raw_ostream.h"

namespace mf {

static void printField(const DynamicKey &key, llvm::raw_ostream &out) {
  out << "| `" << key.name << "` | "
      << (key.type.name.empty() ? "anything" : key.type.name) << " | ";
  if (key.isRequired)
    out << "required";
  else if (!key.missing.empty())
    out << "`" << key.missing << "`";
  out << " | " << key.meaning;
  if (!key.instead.empty())
    out << "; " << key.instead;
  else if (key.use == DynamicUse::NoEffect)
    out << "; no effect on a step";
  out << " |\n";
}

void printDynamicKeyPage(llvm::raw_ostream &out) {
  out << "\n# Fields of the dynamic graph's YAML\n\nTypes are those of the "
         "trainer, which takes an int for a float and no bool for either.\n";
  for (const DynamicSection *section : getDynamicSections()) {
    out << "\n## "
        << (section->name.empty() ? llvm::StringRef("The document")
                                  : llvm::StringRef(section->name))
        << " (" << section->className << ")\n\n";
    if (section->takesOthers)
      out << "Other fields are taken, too.\n\n";
    out << "| field | takes | default | meaning |\n|---|---|---|---|\n";
    for (const DynamicKey &key : section->keys)
      if (key.use == DynamicUse::Section)
        out << "| `" << key.name << "` | a section | | |\n";
      else
        printField(key, out);
  }
}

} // namespace mf
