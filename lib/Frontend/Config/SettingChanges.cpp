//===- SettingChanges.cpp - Differences between two YAMLs -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/SettingChanges.h"
#include "SettingKeys.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace mf {

static SettingValue toScalar(const Node &node) {
  if (node.isUndefinedOrNull())
    return SettingValue::fromName("null");
  SettingValue scalar = SettingValue::fromName(node.getText());
  scalar.isString = node.isString();
  // A text that can be written as a key without quotes can be written so as a
  // value.
  scalar.isQuoted = scalar.isString && printKey(scalar.text) != scalar.text;
  return scalar;
}

static SettingValue toValue(const Node &node) {
  if (node.isMap()) {
    SettingValue map = SettingValue::makeMap();
    for (const Node::Entry &entry : node.getEntries())
      map.entries.emplace_back(entry.key.getText().str(), toValue(entry.value));
    return map;
  }
  if (node.isList()) {
    SettingValue list = SettingValue::makeList();
    for (const Node &element : node.getElements())
      list.elements.push_back(toValue(element));
    return list;
  }
  return toScalar(node);
}

/// True if the value at a path is a single setting and not a section of
/// several. The keys of swap_config are one setting, as they depend on each
/// other.
static bool isSetting(StringRef path) {
  return path == "swap_config" || llvm::is_contained(getSettingPaths(), path);
}

static bool isSame(const Node &before, const Node &after) {
  return before.isDefined() && before.getKind() == after.getKind() &&
         printFlow(toValue(before)) == printFlow(toValue(after));
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
      changes.getSection(key) = toValue(entry.value);
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
