//===- SettingChanges.cpp - Differences between two YAMLs -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/SettingChanges.h"
#include "SettingKeys.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace mf {

/// True if the value at a path is a single setting and not a section of
/// several. The keys of swap_config are one setting, as they depend on each
/// other.
static bool isSetting(StringRef path) {
  return path == swapSection.name ||
         llvm::is_contained(getSettingPaths(), path);
}

static bool isSame(const Node &before, const Node &after) {
  return before.isDefined() && before.getKind() == after.getKind() &&
         printFlow(SettingValue::fromNode(before)) ==
             printFlow(SettingValue::fromNode(after));
}

static void addChanges(const Node &before, const Node &after,
                       const std::string &path, SettingValue &changes) {
  for (const Node::Entry &entry : after.getEntries()) {
    const StringRef key = entry.key.getText();
    const Node old = before[key];
    if (isSame(old, entry.value))
      continue;
    const std::string at = (path.empty() ? "" : path + ".") + key.str();
    if (entry.value.isMap() && !isSetting(at))
      addChanges(old, entry.value, at, changes.getSection(key));
    else
      changes.getSection(key) = SettingValue::fromNode(entry.value);
  }
}

std::string printSettingChanges(const Node &before, const Node &after,
                                size_t indent) {
  SettingValue changes;
  addChanges(before, after, "", changes);
  if (changes.entries.empty())
    return "";
  return printBlock(changes, indent, 2, "\n") + "\n";
}

std::string printSettingChanges(StringRef before, StringRef after,
                                size_t indent) {
  DiagnosticList ignored;
  return printSettingChanges(parseYaml(before, "", ignored),
                             parseYaml(after, "", ignored), indent);
}

} // namespace mf
