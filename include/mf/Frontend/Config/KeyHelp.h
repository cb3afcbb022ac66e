//===- KeyHelp.h - Descriptions of keys for editors -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_CONFIG_KEYHELP_H
#define MF_FRONTEND_CONFIG_KEYHELP_H

#include "mf/Frontend/Config/Node.h"
#include <string>
#include <vector>

namespace mf {

struct KnownSection;

/// The description of one key.
struct KeyHelp {
  std::string name;
  /// Other names of the same key.
  std::vector<std::string> otherNames;
  /// The values that the key accepts, and its default. Empty for sections and
  /// for keys with a format of their own.
  std::string takes, missing;
  std::string meaning;
  /// The effect on a step, if it differs from the meaning.
  std::string effect;
  /// All values of a key that accepts only a few.
  std::vector<std::string> values;
  bool isSection = false;
  /// True if the value is a map of patterns of operators.
  bool takesPatterns = false;
};

/// Return the keys of a section, which is given by the names of the enclosing
/// maps, joined by dots, or empty for the document. The result is empty for an
/// unknown section.
std::vector<KeyHelp> describeStaticKeys(llvm::StringRef section);
std::vector<KeyHelp> describeDynamicKeys(llvm::StringRef section);

/// Returns the keys of a section of the static graph by its records.
std::vector<KeyHelp> describeKeys(const KnownSection &section);

/// Returns whether the document has sections of the dynamic graph's trainer.
bool hasDynamicSections(const Node &root);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_KEYHELP_H
