//===- KeyHelp.h - What an editor shows of a key ----------------*- C++ -*-===//

#ifndef MF_CONFIG_KEYHELP_H
#define MF_CONFIG_KEYHELP_H

#include "mf/Frontend/Config/Node.h"
#include <string>
#include <vector>

namespace mf {

/// The record of one key in words.
struct KeyHelp {
  std::string name;
  /// The values that it takes, and the one that holds without it; empty for
  /// sections and for keys with a form of their own.
  std::string takes, missing;
  std::string meaning;
  /// The effect on a step, where it is not what the meaning says.
  std::string effect;
  /// All values of a key that takes only a few.
  std::vector<std::string> values;
  bool isSection = false;
  /// Its value is a map of patterns of operators.
  bool takesPatterns = false;
};

/// The keys of a section, given by the names of the maps around it, joined by
/// dots; empty for the document. No keys for a section without records.
std::vector<KeyHelp> describeStaticKeys(llvm::StringRef section);
std::vector<KeyHelp> describeDynamicKeys(llvm::StringRef section);

/// Whether the document has sections of the dynamic graph's trainer.
bool hasDynamicSections(const Node &root);

} // namespace mf

#endif // MF_CONFIG_KEYHELP_H
