//===- LayerSetting.cpp - Values of recompute and swap keys ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/LayerSetting.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

static std::string repr(const LayerCount &count) {
  if (count.isBool)
    return count.value ? "True" : "False";
  return std::to_string(count.value);
}

std::string reprCounts(llvm::ArrayRef<LayerCount> counts) {
  std::string text = "[";
  for (const LayerCount &count : counts)
    text += (text.size() > 1 ? ", " : "") + repr(count);
  return text + "]";
}

std::string LayerSelection::repr() const {
  switch (kind) {
  case Kind::Bool:
    return flag ? "True" : "False";
  case Kind::Counts:
    return reprCounts(counts);
  case Kind::Names:
    return "True";
  case Kind::Numbers: {
    std::vector<LayerCount> list;
    for (int64_t layer : numbers)
      list.push_back(LayerCount::fromInt(layer));
    return reprCounts(list);
  }
  case Kind::Table:
    break;
  }
  std::string text = "[";
  for (const LayerCountRow &row : table) {
    text += text.size() > 1 ? ", " : "";
    text +=
        row.whole ? (*row.whole ? "True" : "False") : reprCounts(row.counts);
  }
  return text + "]";
}

bool LayerSetting::isTruthy() const {
  if (kind != Kind::Selection)
    return !patterns.empty();
  switch (selection.kind) {
  case LayerSelection::Kind::Bool:
    return selection.flag;
  case LayerSelection::Kind::Counts:
    return !selection.counts.empty();
  case LayerSelection::Kind::Table:
  case LayerSelection::Kind::Names:
    return true;
  case LayerSelection::Kind::Numbers:
    return !selection.numbers.empty();
  }
  return false;
}

bool SwapEntry::covers(int64_t layer) const {
  return allLayers || llvm::is_contained(layers, layer);
}

static constexpr llvm::StringLiteral acceptedForms =
    "a bool, a list of ints (layers per stage) or a list of such lists (one "
    "per interleave)";

/// Reads an int or a bool of a list. An int of more than 64 bits is clamped, as
/// every count is clamped to the number of layers later.
static std::optional<LayerCount> readCount(const Node &node) {
  if (std::optional<bool> flag = node.getBool())
    return LayerCount::fromBool(*flag);
  if (std::optional<int64_t> count = node.getInt())
    return LayerCount::fromInt(*count);
  return std::nullopt;
}

static void rejectItem(const Node &item, llvm::StringRef key,
                       DiagnosticList &diagnostics) {
  std::string range = item.isInt() ? " out of range" : "";
  diagnostics.error(item.getLocation(),
                    "expected an int or a bool in the list of " + quote(key) +
                        ", but got " + describe(item.getKind()) + range + ", " +
                        item.repr(60));
}

static std::optional<std::vector<LayerCount>>
readCounts(const Node &list, llvm::StringRef key, DiagnosticList &diagnostics) {
  std::vector<LayerCount> counts;
  for (const Node &item : list.getElements()) {
    std::optional<LayerCount> count = readCount(item);
    if (!count) {
      rejectItem(item, key, diagnostics);
      return std::nullopt;
    }
    counts.push_back(*count);
  }
  return counts;
}

static std::optional<std::vector<LayerCountRow>>
readTable(const Node &list, llvm::StringRef key, DiagnosticList &diagnostics) {
  std::vector<LayerCountRow> table;
  for (const Node &item : list.getElements()) {
    LayerCountRow row;
    if (std::optional<bool> flag = item.getBool()) {
      row.whole = flag;
    } else if (item.isList()) {
      auto counts = readCounts(item, key, diagnostics);
      if (!counts)
        return std::nullopt;
      row.counts = std::move(*counts);
    } else {
      rejectValue(item, "a list or a bool for each row of " + quote(key),
                  diagnostics);
      return std::nullopt;
    }
    table.push_back(std::move(row));
  }
  return table;
}

/// Reads the layers that a value covers: a bool, a list of ints and bools, a
/// list of such rows, or a list of strings. Anything else is an error that
/// names `key`.
static std::optional<LayerSelection>
readLayerSelection(const Node &node, llvm::StringRef key,
                   DiagnosticList &diagnostics) {
  LayerSelection selection;
  selection.location = node.getLocation();
  if (std::optional<bool> flag = node.getBool()) {
    selection.flag = *flag;
    return selection;
  }
  if (!node.isList()) {
    rejectValue(node, acceptedForms + " for " + quote(key), diagnostics);
    return std::nullopt;
  }
  const std::vector<Node> &items = node.getElements();
  if (!items.empty() &&
      llvm::all_of(items, [](const Node &item) { return item.isString(); })) {
    selection.kind = LayerSelection::Kind::Names;
    return selection;
  }
  if (llvm::any_of(items, [](const Node &item) { return item.isList(); })) {
    selection.kind = LayerSelection::Kind::Table;
    auto table = readTable(node, key, diagnostics);
    if (!table)
      return std::nullopt;
    selection.table = std::move(*table);
    return selection;
  }
  selection.kind = LayerSelection::Kind::Counts;
  auto counts = readCounts(node, key, diagnostics);
  if (!counts)
    return std::nullopt;
  selection.counts = std::move(*counts);
  return selection;
}

static std::optional<LayerSetting> readPatternMap(const Node &node,
                                                  DiagnosticList &diagnostics) {
  LayerSetting setting;
  setting.kind = LayerSetting::Kind::PatternMap;
  bool isValid = true;
  for (const Node::Entry &entry : node.getEntries()) {
    if (!entry.key.isString()) {
      rejectValue(entry.key, "an operator name pattern", diagnostics);
      isValid = false;
      continue;
    }
    auto layers =
        readLayerSelection(entry.value, entry.key.getText(), diagnostics);
    if (!layers) {
      isValid = false;
      continue;
    }
    setting.patterns.push_back({entry.key.getText().str(), std::move(*layers),
                                entry.key.getLocation()});
  }
  if (!isValid)
    return std::nullopt;
  return setting;
}

std::optional<LayerSetting> readLayerSetting(const Node &node,
                                             llvm::StringRef key,
                                             bool allowPatterns,
                                             DiagnosticList &diagnostics) {
  std::optional<LayerSetting> setting;
  if (allowPatterns && node.isMap()) {
    setting = readPatternMap(node, diagnostics);
  } else {
    std::optional<LayerSelection> selection =
        readLayerSelection(node, key, diagnostics);
    if (!selection)
      return std::nullopt;
    setting.emplace();
    if (selection->kind == LayerSelection::Kind::Names && allowPatterns) {
      setting->kind = LayerSetting::Kind::Patterns;
      for (const Node &item : node.getElements())
        setting->patterns.push_back({item.getText().str(),
                                     LayerSelection::fromBool(true),
                                     item.getLocation()});
    }
    setting->selection = std::move(*selection);
  }
  if (setting)
    setting->location = node.getLocation();
  return setting;
}

} // namespace mf
