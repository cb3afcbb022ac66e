//===- DynamicReader.cpp - Sections of the dynamic-graph trainer ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicConfig.h"
#include "DynamicKeys.h"
#include "NodeBuilder.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

llvm::StringRef getPythonType(const Node &value) {
  // In the order of NodeKind.
  static constexpr llvm::StringLiteral names[] = {
      "NoneType", "NoneType", "bool", "int", "float", "str", "list", "dict"};
  return names[static_cast<size_t>(value.getKind())];
}

std::string getPythonText(const Node &value) {
  return value.isString() ? escapeControls(value.getText().take_front(80))
                          : value.repr(80);
}

/// Checks a value of the field `name` in the trainer's words; empty if it is
/// right.
static std::string checkDynamicType(const Node &value, const DynamicType &type,
                                    const std::string &name) {
  if (type.name.empty())
    return {};
  if (value.getKind() == NodeKind::Null && !type.takes(NodeKind::Null))
    return "Field '" + name + "' cannot be None";
  const bool isUnion = type.name.starts_with("typing.");
  std::string wrong =
      "Expected " + type.name.str() + " for '" + name + "', got ";
  wrong += getPythonType(value);
  // The message contains the value only for scalars.
  if (isUnion || !type.takes(NodeKind::List))
    wrong += " (" + getPythonText(value) + ")";
  if (value && !type.takes(value.getKind()))
    return wrong;
  // Readers of an int would take its default.
  if (value.isInt() && !value.getInt() && !type.takes(NodeKind::Float))
    return "expected an int that fits 64 bits for '" + name + "', but got " +
           getPythonText(value);
  if (!type.element)
    return {};
  for (auto [number, item] : llvm::enumerate(value.getElements())) {
    std::string problem = checkDynamicType(
        item, *type.element, name + "[" + std::to_string(number) + "]");
    if (!problem.empty())
      return isUnion ? wrong : problem;
  }
  return {};
}

static std::string checkDynamicType(const Node &value, const DynamicKey &key) {
  return checkDynamicType(value, key.type,
                          getDynamicSection(key.section).className.str() + "." +
                              key.name.str());
}

static void checkUnknownFields(const Node &map, const DynamicSection &section,
                               DiagnosticList &diagnostics) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const DynamicKey *key : section.keys)
    names.push_back(key->name);
  std::string list, hints;
  Location first;
  for (const Node::Entry &entry : map.getEntries()) {
    llvm::StringRef name = entry.key.getText();
    if (section.find(name))
      continue;
    if (list.empty())
      first = entry.key.getLocation();
    list += (list.empty() ? "" : ", ") + quote(name);
    hints += suggestName(name, names);
  }
  if (!list.empty())
    diagnostics.error(first, "Unknown configuration keys for " +
                                 section.className + ": [" + list + "]" +
                                 hints);
}

/// True if both have the same value, in any spelling.
static bool isSameValue(const Node &value, const Node &other) {
  if (value.getFloat() && other.getFloat())
    return *value.getFloat() == *other.getFloat();
  return value.repr() == other.repr();
}

static Node getMissing(const Node &section, const DynamicKey &key) {
  if (key.missing.empty())
    return {};
  if (key.missing.starts_with("'"))
    return makeString(section, key.missing.substr(1, key.missing.size() - 2));
  if (!key.missing.starts_with("["))
    return makeScalar(section, key.missing);
  std::vector<Node> elements;
  llvm::SmallVector<llvm::StringRef> items;
  key.missing.drop_front().drop_back().split(items, ", ", -1, false);
  for (llvm::StringRef item : items)
    elements.push_back(makeScalar(section, item));
  return makeList(section, std::move(elements));
}

static void checkFieldValues(const Node &map, const DynamicSection &section,
                             DiagnosticList &diagnostics) {
  if (!section.takesOthers)
    checkUnknownFields(map, section, diagnostics);
  for (const DynamicKey *key : section.keys) {
    Node value = map[key->name];
    if (!value && key->isRequired)
      diagnostics.error(map.getLocation(), "Field '" + section.className + "." +
                                               key->name + "' cannot be None");
    if (!value || key->use == DynamicUse::Section)
      continue;
    std::string problem = checkDynamicType(value, *key);
    if (!problem.empty())
      diagnostics.error(value.getLocation(), problem);
    else if (!key->instead.empty() &&
             !isSameValue(value, getMissing(map, *key)))
      diagnostics.warning(value.getLocation(),
                          "'" + key->name + "' has no effect: " + key->instead);
  }
}

static void checkMissingSection(const Node &root, const DynamicSection &section,
                                DiagnosticList &diagnostics) {
  for (const DynamicKey *key : section.keys)
    if (key->isRequired)
      diagnostics.warning(root.getLocation(),
                          "the trainer fails without '" + section.name + "." +
                              key->name + "': Field '" + section.className +
                              "." + key->name + "' cannot be None");
}

/// Sections of other names are kept by the trainer, and read by nothing.
static void warnAboutUnknownSections(const Node &root,
                                     DiagnosticList &diagnostics) {
  const DynamicSection &document = getDynamicSection("");
  llvm::SmallVector<llvm::StringRef> names;
  for (const DynamicKey *key : document.keys)
    names.push_back(key->name);
  for (const Node::Entry &entry : root.getEntries())
    if (llvm::StringRef name = entry.key.getText(); !document.find(name))
      diagnostics.warning(entry.key.getLocation(),
                          "unknown section " + quote(name) +
                              suggestOrListNames(name, names) +
                              " (the section is ignored)");
}

void checkDynamicFields(const Node &root, DiagnosticList &diagnostics) {
  warnAboutUnknownSections(root, diagnostics);
  for (const DynamicSection &section : getDynamicSections()) {
    Node node = root.getPath(section.name);
    if (section.name == dynamic::callback::section) {
      for (const Node &callback : node.getElements())
        if (callback.isMap())
          checkFieldValues(callback, section, diagnostics);
      continue;
    }
    if (node.isMap()) {
      checkFieldValues(node, section, diagnostics);
      continue;
    }
    if (!node) {
      checkMissingSection(root, section, diagnostics);
      continue;
    }
    auto [around, key] = section.name.rsplit('.');
    const bool isInner = !key.empty();
    const DynamicSection &outer = getDynamicSection(isInner ? around : "");
    const std::string field =
        (outer.className + "." + (isInner ? key : llvm::StringRef(around)))
            .str();
    if (node.getKind() == NodeKind::Null && section.isOptional)
      continue;
    if (node.getKind() == NodeKind::Null)
      diagnostics.error(node.getLocation(),
                        "Field '" + field + "' cannot be None");
    else
      diagnostics.error(node.getLocation(), "Expected " + section.className +
                                                " for '" + field + "', got " +
                                                getPythonType(node));
  }
}

Node DynamicReader::getSection(llvm::StringRef name) const {
  Node section = root.getPath(name);
  return section.isMap() ? section : NodeBuilder(root).build();
}

void DynamicReader::warnAboutOthers(
    llvm::StringRef section, llvm::ArrayRef<llvm::StringRef> names) const {
  llvm::SmallVector<llvm::StringRef> all(names);
  for (const DynamicKey *key : getDynamicSection(section).keys)
    all.push_back(key->name);
  for (const Node::Entry &entry : getSection(section).getEntries())
    if (llvm::StringRef name = entry.key.getText();
        !llvm::is_contained(all, name))
      diagnostics.warning(entry.key.getLocation(),
                          "unknown key " + quote(name) + " in " + section +
                              suggestName(name, all) + " (the key is ignored)");
}

Node DynamicReader::getWritten(const DynamicKey &key) const {
  Node value = getAny(key);
  if (value.isUndefinedOrNull() || !checkDynamicType(value, key).empty())
    return {};
  return value;
}

Node DynamicReader::get(const DynamicKey &key) const {
  if (Node value = getWritten(key))
    return value;
  const Node given = getAny(key);
  return getMissing(given ? given : getSection(key.section), key);
}

bool DynamicReader::hasDefault(const DynamicKey &key) const {
  return isSameValue(get(key), getMissing(root, key));
}

int64_t DynamicReader::getInt(const DynamicKey &key) const {
  return get(key).getInt().value_or(0);
}

double DynamicReader::getFloat(const DynamicKey &key) const {
  return get(key).getFloat().value_or(0);
}

bool DynamicReader::getBool(const DynamicKey &key) const {
  return get(key).getBool().value_or(false);
}

std::string DynamicReader::getString(const DynamicKey &key) const {
  return get(key).getText().str();
}

Location DynamicReader::getLocation(const DynamicKey &key) const {
  const Node value = get(key);
  return (value ? value : getSection(key.section)).getLocation();
}

void DynamicReader::error(const DynamicKey &key,
                          const llvm::Twine &text) const {
  diagnostics.error(getLocation(key), text);
}

void DynamicReader::warn(const DynamicKey &key, const llvm::Twine &text) const {
  diagnostics.warning(getLocation(key), text);
}

static constexpr const DynamicKey *dynamicKeys[] = {
#define DYNAMIC_KEY(SECTION, ID, ...) &dynamic::SECTION::ID,
#include "DynamicKeys.def"
};

/// Returns the fields of a section, which are adjacent.
static llvm::ArrayRef<const DynamicKey *> getKeys(llvm::StringRef section) {
  return llvm::ArrayRef(dynamicKeys)
      .drop_until(
          [&](const DynamicKey *key) { return key->section == section; })
      .take_while(
          [&](const DynamicKey *key) { return key->section == section; });
}

llvm::ArrayRef<DynamicSection> getDynamicSections() {
  static const DynamicSection sections[] = {
#define DYNAMIC_SECTION(ID, NAME, CLASS, TAKES_OTHERS, IS_OPTIONAL)            \
  {NAME, CLASS, TAKES_OTHERS, IS_OPTIONAL, getKeys(NAME)},
#include "DynamicKeys.def"
  };
  return sections;
}

const DynamicKey *DynamicSection::find(llvm::StringRef key) const {
  const auto *found = llvm::find_if(
      keys, [&](const DynamicKey *known) { return known->name == key; });
  return found == keys.end() ? nullptr : *found;
}

const DynamicSection &getDynamicSection(llvm::StringRef name) {
  return *llvm::find_if(
      getDynamicSections(),
      [&](const DynamicSection &section) { return section.name == name; });
}

} // namespace mf
