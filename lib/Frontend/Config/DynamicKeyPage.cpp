//===- DynamicKeyPage.cpp - Fields of the dynamic graph as a page ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicConfig.h"
#include "DynamicKeys.h"
#include "mf/Frontend/Config/KeyHelp.h"
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

static KeyHelp makeFieldHelp(const DynamicKey &key) {
  KeyHelp help;
  help.name = key.name;
  help.meaning = key.meaning;
  help.isSection = key.use == DynamicUse::Section;
  help.takesPatterns = key.name == "select_module";
  if (help.isSection)
    return help;
  help.takes = key.type.name.empty() ? "anything" : key.type.name.str();
  help.missing = key.isRequired ? "required" : key.missing.str();
  if (!key.instead.empty())
    help.effect = key.instead;
  else if (key.use == DynamicUse::NoEffect)
    help.effect = "none on a step";
  if (key.type.name == "bool")
    help.values = {"True", "False"};
  return help;
}

std::vector<KeyHelp> describeDynamicKeys(llvm::StringRef section) {
  std::vector<KeyHelp> keys;
  for (const DynamicSection *known : getDynamicSections())
    if (known->name == section)
      for (const DynamicKey &key : known->keys)
        keys.push_back(makeFieldHelp(key));
  return keys;
}

bool hasDynamicSections(const Node &root) {
  DiagnosticList ignored;
  return isDynamicFormat(root, ignored);
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
