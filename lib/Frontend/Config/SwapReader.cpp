//===- SwapReader.cpp - Section swap_config -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SectionReader.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/StringMap.h"

namespace mf {

namespace {

class SwapListReader {
public:
  SwapListReader(bool isSwapOn, DiagnosticList &diagnostics)
      : isSwapOn(isSwapOn), diagnostics(diagnostics) {}

  std::optional<std::vector<SwapEntry>> readLayerSwap(const Node &value) {
    auto items = getItems(value, getName(LayerKey::LayerSwap));
    if (!items)
      return std::nullopt;
    std::vector<SwapEntry> entries;
    for (const Node &item : *items) {
      checkItemKeys(item, getName(LayerKey::LayerSwap),
                    {known::swapPrefetch, known::swapLayers});
      if (auto entry = readEntry(item, getName(LayerKey::LayerSwap)))
        entries.push_back(std::move(*entry));
    }
    mergeEntries(entries, quote(getName(LayerKey::LayerSwap)));
    return entries;
  }

  std::optional<std::vector<SwapConfig::OperatorSwap>>
  readOpSwap(const Node &value) {
    auto items = getItems(value, getName(LayerKey::OpSwap));
    if (!items)
      return std::nullopt;
    std::vector<SwapConfig::OperatorSwap> operators;
    llvm::StringMap<size_t> index;
    for (const Node &item : *items) {
      checkItemKeys(item, getName(LayerKey::OpSwap),
                    {known::swapName, known::swapPrefetch, known::swapLayers});
      std::vector<Node> names = readNames(item);
      auto entry = readEntry(item, getName(LayerKey::OpSwap));
      if (!entry)
        continue;
      for (const Node &name : names) {
        auto [found, isNew] =
            index.try_emplace(name.getText(), operators.size());
        if (isNew)
          operators.push_back({name.getText().str(), {}, name.getLocation()});
        operators[found->second].entries.push_back(*entry);
      }
    }
    for (SwapConfig::OperatorSwap &op : operators)
      mergeEntries(op.entries,
                   getName(LayerKey::OpSwap).str() + " " + quote(op.pattern));
    return operators;
  }

private:
  /// Returns the dicts of a list of dicts. A single dict is accepted in place
  /// of a list.
  std::optional<std::vector<Node>> getItems(const Node &value,
                                            llvm::StringRef key) {
    if (value.isUndefinedOrNull())
      return std::nullopt;
    if (value.isMap())
      return std::vector<Node>{value};
    if (!value.isList()) {
      rejectValue(value, "a list of maps for " + quote(key), diagnostics);
      return std::nullopt;
    }
    for (const Node &item : value.getElements()) {
      if (item.isMap())
        continue;
      rejectValue(item,
                  "a map with " + quote(known::swapPrefetch) + " and " +
                      quote(known::swapLayers) + " in " + quote(key),
                  diagnostics);
      return std::nullopt;
    }
    return value.getElements();
  }

  std::optional<SwapEntry> readEntry(const Node &item, llvm::StringRef key) {
    SwapEntry entry;
    entry.location = item.getLocation();
    bool hasPrefetch = readPrefetch(item, key, entry);
    bool hasLayers = readLayers(item, key, entry);
    if (!hasPrefetch || !hasLayers)
      return std::nullopt;
    return entry;
  }

  bool readPrefetch(const Node &item, llvm::StringRef key, SwapEntry &entry) {
    Node value = item[known::swapPrefetch];
    if (!value) {
      diagnostics.error(
          item.getLocation(),
          "missing " + quote(known::swapPrefetch) + " in an item of " +
              quote(key) +
              "; give the kernels to prefetch ahead, an int of at least 1");
      return false;
    }
    std::optional<int64_t> prefetch = value.getInt();
    if (prefetch && *prefetch >= 1 && *prefetch <= INT32_MAX) {
      entry.prefetch = *prefetch;
      return true;
    }
    if (!isSwapOn)
      return true;
    rejectValue(value,
                "an int of at least 1 for " + quote(known::swapPrefetch) +
                    " of " + quote(key),
                diagnostics);
    return false;
  }

  bool readLayers(const Node &item, llvm::StringRef key, SwapEntry &entry) {
    Node value = item[known::swapLayers];
    const std::string wanted = "a bool or a list of layer indices for " +
                               quote(known::swapLayers) + " of " + quote(key);
    if (!value) {
      diagnostics.error(item.getLocation(), "missing " +
                                                quote(known::swapLayers) +
                                                " in an item of " + quote(key) +
                                                "; expected " + wanted);
      return false;
    }
    if (std::optional<bool> flag = value.getBool()) {
      entry.allLayers = *flag;
      return true;
    }
    if (!value.isList()) {
      rejectValue(value, wanted, diagnostics);
      return false;
    }
    for (const Node &layer : value.getElements()) {
      std::optional<int64_t> index = layer.getInt();
      // Lists of lists are rejected only if they are used.
      if (!index && !isSwapOn && layer.isList())
        continue;
      if (!index) {
        rejectValue(layer,
                    "a layer index in " + quote(known::swapLayers) + " of " +
                        quote(key),
                    diagnostics);
        return false;
      }
      entry.layers.push_back(*index);
    }
    return true;
  }

  /// Returns the single name or the list of names of an item of op_swap.
  std::vector<Node> readNames(const Node &item) {
    Node value = item[known::swapName];
    if (!value) {
      diagnostics.error(
          item.getLocation(),
          "missing " + quote(known::swapName) + " in an item of " +
              quote(getName(LayerKey::OpSwap)) +
              "; expected an operator name pattern or a list of them");
      return {};
    }
    std::vector<Node> names =
        value.isList() ? value.getElements() : std::vector<Node>{value};
    for (const Node &name : names) {
      if (name.isString())
        continue;
      rejectValue(name,
                  "an operator name pattern for " + quote(known::swapName) +
                      " of " + quote(getName(LayerKey::OpSwap)),
                  diagnostics);
      return {};
    }
    return names;
  }

  void checkItemKeys(const Node &item, llvm::StringRef key,
                     llvm::ArrayRef<llvm::StringRef> keys) {
    for (const Node::Entry &entry : item.getEntries()) {
      llvm::StringRef name = entry.key.getText();
      if (!llvm::is_contained(keys, name))
        diagnostics.warning(entry.key.getLocation(),
                            "unknown key " + quote(name) + " in an item of " +
                                quote(key) + suggestName(name, keys) +
                                " (the key is ignored)");
    }
  }

  /// If an item covers all layers, every item must have the same prefetch, and
  /// that item replaces the whole list.
  void mergeEntries(std::vector<SwapEntry> &entries, llvm::StringRef name) {
    bool coversAll = false;
    size_t checked = 1; // The entries before this one are known to agree.
    for (size_t i = 0; i < entries.size(); ++i) {
      coversAll |= entries[i].allLayers;
      for (; coversAll && checked <= i; ++checked) {
        const SwapEntry &left = entries[checked - 1];
        const SwapEntry &right = entries[checked];
        if (left.prefetch == right.prefetch)
          continue;
        diagnostics
            .error(right.location,
                   "different values of 'backward_prefetch' for " + name +
                       ": an item covers all layers, and this one asks for " +
                       llvm::Twine(right.prefetch) + " instead of " +
                       llvm::Twine(left.prefetch) +
                       "; give every layer one value")
            .attachNote("the other item", left.location);
        return;
      }
    }
    if (!coversAll)
      return;
    entries.resize(1);
    entries[0].allLayers = true;
    entries[0].layers.clear();
  }

  bool isSwapOn;
  DiagnosticList &diagnostics;
};

} // namespace

void readSwapConfig(const Node &root, TrainingConfig &config,
                    DiagnosticList &diagnostics) {
  SectionReader reader(swapSection.getNode(root), swapSection, diagnostics);
  SwapConfig &swap = config.swap;
  swap.node = reader.getNode();
  const KnownKey &isOn = known::findKey(&SwapConfig::swap);
  const KnownKey &prefetch = known::findKey(&SwapConfig::defaultPrefetch);
  reader.read(isOn, config);
  swap.location = reader.get(isOn).getLocation();
  swap.prefetchLocation = reader.get(prefetch).getLocation();
  // MindSpore Transformers reads the value only with swap enabled.
  if (swap.swap)
    reader.read(prefetch, config);
  SwapListReader lists(swap.swap, diagnostics);
  swap.layerSwap = lists.readLayerSwap(swap.node[getName(LayerKey::LayerSwap)]);
  swap.opSwap = lists.readOpSwap(swap.node[getName(LayerKey::OpSwap)]);
}

} // namespace mf
