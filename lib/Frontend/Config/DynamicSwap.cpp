//===- DynamicSwap.cpp - Swap of the trainer ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicLayers.h"

namespace mf {

/// Returns the maps of a list. Emits an error and returns none for another
/// form.
static std::optional<std::vector<Node>>
getSwapItems(const DynamicReader &reader, llvm::StringRef key,
             llvm::ArrayRef<llvm::StringRef> keys) {
  const std::string label = "TrainConfig.swap_config." + key.str();
  Node value = reader.getWritten(key);
  if (!value)
    return std::nullopt;
  if (!value.isList()) {
    reader.error(key, label + " must be a list, got " + getPythonType(value));
    return std::nullopt;
  }
  for (auto [number, item] : llvm::enumerate(value.getElements())) {
    const std::string at = label + "[" + std::to_string(number) + "]";
    if (!item.isMap()) {
      reader.diagnostics.error(item.getLocation(), at +
                                                       " must be a dict, got " +
                                                       getPythonType(item));
      return std::nullopt;
    }
    for (llvm::StringRef needed : keys)
      if (!item[needed]) {
        reader.diagnostics.error(
            item.getLocation(),
            at + ": each entry must include " +
                (keys.size() > 1 ? "'op_name' and 'layers'" : "'layers'") +
                ", got " + item.repr(60));
        return std::nullopt;
      }
    Node layers = item["layers"];
    if (!layers.isList()) {
      reader.diagnostics.error(
          layers.getLocation(),
          at +
              ".layers: expected list/tuple of layer ids or ranges like "
              "['5'], ['0-19'], got " +
              getPythonType(layers) + ": " + layers.repr(60));
      return std::nullopt;
    }
  }
  return value.getElements();
}

static std::optional<SwapEntry> readSwapItem(const Node &item,
                                             const std::string &label,
                                             const DynamicDepth &depth,
                                             int64_t prefetch,
                                             DiagnosticList &diagnostics) {
  auto numbers =
      readLayerNumbers(item["layers"], label + ".layers", depth, prefetch,
                       /*checksRange=*/true, diagnostics);
  if (!numbers)
    return std::nullopt;
  SwapEntry entry;
  entry.prefetch = prefetch;
  entry.countsLayers = true;
  entry.layers = std::move(*numbers);
  entry.location = item.getLocation();
  return entry;
}

static void readLayerSwap(const DynamicReader &reader,
                          const DynamicDepth &depth, SwapConfig &swap) {
  auto items = getSwapItems(reader, "layer_swap", {"layers"});
  swap.layerSwap.emplace();
  if (!items)
    return;
  for (auto [number, item] : llvm::enumerate(*items)) {
    auto entry = readSwapItem(item,
                              "TrainConfig.swap_config.layer_swap[" +
                                  std::to_string(number) + "]",
                              depth, swap.defaultPrefetch, reader.diagnostics);
    if (entry && number == 0)
      swap.layerSwap->push_back(std::move(*entry));
    else if (entry)
      reader.diagnostics.warning(item.getLocation(),
                                 "item " + llvm::Twine(number) +
                                     " of 'layer_swap' has no effect: the "
                                     "trainer applies the first one only");
  }
}

static void readOperatorSwap(const DynamicReader &reader,
                             const DynamicDepth &depth, SwapConfig &swap) {
  auto items = getSwapItems(reader, "op_swap", {"op_name", "layers"});
  swap.opSwap.emplace();
  if (!items)
    return;
  for (auto [number, item] : llvm::enumerate(*items)) {
    const std::string label =
        "TrainConfig.swap_config.op_swap[" + std::to_string(number) + "]";
    Node name = item["op_name"];
    if (!name.isString() || name.getText().trim().empty()) {
      reader.diagnostics.error(
          name.getLocation(),
          label + ".op_name must be a non-empty str, got " + name.repr(60));
      continue;
    }
    auto entry = readSwapItem(item, label, depth, swap.defaultPrefetch,
                              reader.diagnostics);
    if (!entry)
      continue;
    // Layers that are swapped as a whole have no swap of their modules.
    for (const SwapEntry &whole : *swap.layerSwap)
      llvm::erase_if(entry->layers, [&](int64_t layer) {
        return llvm::is_contained(whole.layers, layer);
      });
    swap.opSwap->push_back(
        {name.getText().str(), {std::move(*entry)}, name.getLocation()});
  }
}

void readDynamicSwap(const Node &root, const DynamicDepth &depth,
                     const DynamicLayout &layout, TrainingConfig &config,
                     DiagnosticList &diagnostics) {
  DynamicReader reader(root, "swap", diagnostics);
  SwapConfig &swap = config.swap;
  swap.node = reader.getNode();
  if (!reader.getBool("enable")) {
    for (llvm::StringRef key : {"default_prefetch", "layer_swap", "op_swap"})
      if (reader.getWritten(key))
        reader.warn(key, quote(key) + " has no effect: 'enable' of swap is not "
                                      "True");
    return;
  }
  swap.location = reader.get("enable").getLocation();
  swap.defaultPrefetch = reader.getInt("default_prefetch");
  if (swap.defaultPrefetch < 1 || swap.defaultPrefetch >= depth.getAll()) {
    reader.error("default_prefetch",
                 "TrainConfig.swap_config.default_prefetch: value " +
                     llvm::Twine(swap.defaultPrefetch) + " out of range [1, " +
                     llvm::Twine(depth.getAll() - 1) + "]");
    return;
  }
  swap.swap = true;
  readLayerSwap(reader, depth, swap);
  readOperatorSwap(reader, depth, swap);
  if (!reader.getWritten("layer_swap") && !reader.getWritten("op_swap"))
    reader.warn("enable",
                "'enable' of swap has no effect: neither 'layer_swap' "
                "nor 'op_swap' says which layers");
  if (layout.pipeline > 1)
    reader.warn("enable", "releases before MindSpore 2.11 refuse swap with "
                          "several stages: swap is not supported with "
                          "pipeline parallel");
}

} // namespace mf
