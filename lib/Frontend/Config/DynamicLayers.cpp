//===- DynamicLayers.cpp - Settings of the trainer's layers
//----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicConfig.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

namespace mf {

using namespace dynamic;

/// Returns the name by which the trainer's messages call a section or a key.
static std::string getTrainerName(llvm::StringRef path) {
  return (getDynamicSection("").className + "." + path).str();
}

namespace {

struct LayerSpan {
  int64_t first = 0, last = 0;
};

} // namespace

std::string printLayerRange(int64_t first, int64_t last) {
  const std::string text = std::to_string(first);
  return last > first ? text + "-" + std::to_string(last) : text;
}

/// Parses a range such as '5' or '0-19', in which only digits are allowed.
static std::optional<LayerSpan> parseLayerSpan(llvm::StringRef text) {
  auto [first, last] = text.split('-');
  const bool isRange = text.contains('-');
  LayerSpan range;
  auto parse = [](llvm::StringRef digits, int64_t &number) {
    constexpr size_t mostDigits = 18;
    return !digits.empty() && digits.size() <= mostDigits &&
           digits.find_first_not_of("0123456789") == llvm::StringRef::npos &&
           !digits.getAsInteger(10, number);
  };
  if (!parse(first, range.first) || (isRange && !parse(last, range.last)))
    return std::nullopt;
  if (!isRange)
    range.last = range.first;
  return range;
}

/// Checks a range in the trainer's words; empty if it is right.
static std::string checkLayerSpan(const Node &spec, const LayerSpan &range,
                                  int64_t numLayers) {
  const std::string got = ", got " + spec.repr(60);
  if (range.first > range.last)
    return "range start must be <= end" + got;
  if (range.last >= numLayers)
    return "layer id " + std::to_string(range.last) + " out of range [0, " +
           std::to_string(numLayers - 1) + "]" + got;
  return {};
}

/// Reads lists of layers such as ['5', '0-19']. Errors have the trainer's text
/// after `label`. With a `prefetch`, the layer at that distance after the last
/// listed one must exist.
static std::optional<std::vector<int64_t>>
readLayerNumbers(const Node &list, const std::string &label,
                 const DynamicDepth &depth, int64_t prefetch, bool checksRange,
                 DiagnosticList &diagnostics) {
  /// If the trainer does not check the range, layers after the last one of the
  /// model are ignored.
  const int64_t numLayers = depth.getAll();
  std::vector<int64_t> numbers;
  LayerSpan previous = {-1, -1};
  for (auto [position, spec] : llvm::enumerate(list.getElements())) {
    const std::string at = label + "[" + std::to_string(position) + "]: ";
    const std::string text = getPythonText(spec);
    std::optional<LayerSpan> range =
        parseLayerSpan(llvm::StringRef(text).trim());
    std::string problem;
    if (!range || (!spec.isString() && !spec.isInt()))
      problem = at + "invalid layer spec " + spec.repr(60) +
                "; expected one non-negative integer or 'start-end' (e.g. '5', "
                "'0-19')";
    else if (checksRange)
      // Without layers the number of layers is what is wrong.
      problem = depth.layers > 0 ? checkLayerSpan(spec, *range, numLayers) : "";
    if (range && checksRange && problem.empty() &&
        range->first <= previous.last)
      problem = label +
                ": layer specs must be in strictly ascending order; spec[" +
                std::to_string(position) + "] '" + text + "' starts at " +
                std::to_string(range->first) + " but previous spec ends at " +
                std::to_string(previous.last);
    else if (!problem.empty() && range)
      problem.insert(0, at);
    if (!problem.empty()) {
      diagnostics.error(spec.getLocation(), problem);
      return std::nullopt;
    }
    previous = *range;
    for (int64_t layer = range->first;
         layer <= std::min(range->last, numLayers - 1); ++layer)
      numbers.push_back(layer);
  }
  if (prefetch > 0 && previous.last >= 0 &&
      previous.last + prefetch >= numLayers) {
    diagnostics.error(list.getLocation(),
                      label + ": max layer id " + llvm::Twine(previous.last) +
                          " plus prefetch " + llvm::Twine(prefetch) +
                          " exceeds num_layers (" + llvm::Twine(numLayers) +
                          "); max allowed layer id is " +
                          llvm::Twine(numLayers - prefetch - 1));
    return std::nullopt;
  }
  return numbers;
}

static LayerSelection selectNumbers(std::vector<int64_t> numbers,
                                    const Location &location) {
  LayerSelection selection;
  selection.kind = LayerSelection::Kind::Numbers;
  selection.numbers = std::move(numbers);
  selection.location = location;
  return selection;
}

/// Reads a map from whole paths of modules to layers.
static LayerSetting
readModulePatterns(const Node &map, const std::string &prefix,
                   const std::string &specPrefix, const DynamicDepth &depth,
                   bool checksRange, DiagnosticList &diagnostics) {
  LayerSetting setting;
  setting.kind = LayerSetting::Kind::PatternMap;
  setting.location = map.getLocation();
  if (!map.isMap()) {
    diagnostics.error(
        map.getLocation(),
        prefix + "." + recompute::selectModule.name +
            " must be a dict (module path -> list of layer ranges), got " +
            getPythonType(map));
    return setting;
  }
  for (const Node::Entry &entry : map.getEntries()) {
    const std::string quoted = "'" + getPythonText(entry.key) + "'";
    if (!entry.key.isString() || entry.key.getText().trim().empty()) {
      diagnostics.error(entry.key.getLocation(),
                        prefix + "." + recompute::selectModule.name +
                            ": invalid module path key " + entry.key.repr(60));
      continue;
    }
    if (!entry.value.isList()) {
      diagnostics.error(
          entry.value.getLocation(),
          prefix + "." + recompute::selectModule.name + "[" + quoted +
              "]: value must be a list or tuple of layer ranges, got " +
              getPythonType(entry.value));
      continue;
    }
    auto numbers =
        readLayerNumbers(entry.value,
                         specPrefix + "." + recompute::selectModule.name.str() +
                             "[" + quoted + "]",
                         depth,
                         /*prefetch=*/0, checksRange, diagnostics);
    if (numbers)
      setting.patterns.push_back(
          {entry.key.getText().str(),
           selectNumbers(std::move(*numbers), entry.value.getLocation()),
           entry.key.getLocation()});
  }
  return setting;
}

static bool isEmpty(const Node &value) {
  return value.getElements().empty() && value.getEntries().empty();
}

/// Returns whether `value` is left out or empty. Another type has an error of
/// its own.
static bool isLeftOut(const Node &value) {
  return !value || value.getKind() == NodeKind::Null ||
         ((value.isList() || value.isMap()) && isEmpty(value));
}

/// Reads `mode`; emits an error for an unknown one.
static std::string readRecomputeMode(const DynamicReader &reader) {
  Node mode = reader.getAny(recompute::mode);
  if (!mode)
    return "None";
  std::string text = getPythonText(mode);
  if (mode.isString() && (text == "None" || text == "full" || text == "select"))
    return text;
  if (mode.getKind() == NodeKind::Null)
    text = "None";
  reader.diagnostics.error(
      mode.getLocation(),
      "RecomputeConfig.mode must be 'None', 'full', or 'select', got " + text);
  return "None";
}

static void readExcludedOperators(const DynamicReader &reader,
                                  RecomputeConfig &config) {
  const DynamicKey &key = recompute::excludeOp;
  for (const Node &item : reader.getWritten(key).getElements()) {
    if (item.getText().trim().empty())
      reader.diagnostics.error(item.getLocation(),
                               getTrainerName(key.getPath()) +
                                   ": expected non-empty strings, but got " +
                                   item.repr(60));
    else
      config.keptOperators.push_back(item.getText().lower());
  }
}

/// Reads recompute itself.
static void readRecomputeSection(const DynamicReader &reader,
                                 const DynamicDepth &depth,
                                 RecomputeConfig &config) {
  DiagnosticList &diagnostics = reader.diagnostics;
  const std::string mode = readRecomputeMode(reader);
  const std::string prefix = getTrainerName(recompute::section);
  const std::string specs =
      getTrainerName((recomputeSection.name + "." + recompute::section).str());
  Node layers = reader.getWritten(recompute::fullRecomputeLayer);
  Node modules = reader.getWritten(recompute::selectModule);
  readExcludedOperators(reader, config);
  config.recompute.selection = selectNumbers({}, {});
  if (mode == "None") {
    for (const DynamicKey *key :
         {&recompute::fullRecomputeLayer, &recompute::selectModule,
          &recompute::excludeOp})
      if (reader.getWritten(*key))
        reader.warnUnused(*key, "mode of recompute is 'None'");
    config.keptOperators.clear();
    return;
  }
  if (mode == "full" && isLeftOut(reader.getAny(recompute::fullRecomputeLayer)))
    return reader.error(recompute::mode,
                        prefix + ": mode is 'full' but " +
                            recompute::fullRecomputeLayer.name +
                            " is missing or empty");
  if (mode == "select" && isEmpty(modules))
    return reader.error(recompute::mode, prefix + ": mode is 'select' but " +
                                             recompute::selectModule.name +
                                             " is missing or empty");
  if (!isEmpty(layers))
    if (auto numbers = readLayerNumbers(
            layers, specs + "." + recompute::fullRecomputeLayer.name.str(),
            depth, /*prefetch=*/0,
            /*checksRange=*/true, diagnostics)) {
      config.recompute.selection =
          selectNumbers(std::move(*numbers), layers.getLocation());
      config.recompute.location = layers.getLocation();
    }
  if (mode == "select")
    config.selectRecompute = readModulePatterns(modules, prefix, specs, depth,
                                                isEmpty(layers), diagnostics);
  else if (modules)
    reader.warnUnused(recompute::selectModule, "mode of recompute is 'full'");
}

/// Fills the section of `config` from recompute and recompute_comm.
static void readDynamicRecompute(const DynamicReader &reader,
                                 const DynamicDepth &depth,
                                 TrainingConfig &config) {
  readRecomputeSection(reader, depth, config.recompute);
  const DynamicKey &key = recomputeComm::selectModule;
  const DynamicKey &enable = recomputeComm::enable;
  Node modules = reader.getWritten(key);
  if (!reader.getBool(enable)) {
    if (modules)
      reader.warnUnused(key, quote(enable.name) + " of " + enable.section +
                                 " is not True");
    return;
  }
  const std::string prefix = getTrainerName(recomputeComm::section);
  if (isEmpty(modules))
    return reader.error(enable, prefix + ": enable is True but " + key.name +
                                    " is missing or empty");
  config.recompute.selectCommRecompute = readModulePatterns(
      modules, prefix,
      getTrainerName(
          (recomputeSection.name + "." + recomputeComm::section).str()),
      depth, /*checksRange=*/true, reader.diagnostics);
}

//===----------------------------------------------------------------------===//
// Swap
//===----------------------------------------------------------------------===//

static std::string getSwapLabel(const DynamicKey &key) {
  return getTrainerName((swapSection.name + "." + key.name).str());
}

/// Returns the maps of a list. Emits an error and returns none for another
/// form.
static std::optional<std::vector<Node>>
getSwapItems(const DynamicReader &reader, const DynamicKey &key,
             llvm::ArrayRef<llvm::StringRef> keys) {
  const std::string label = getSwapLabel(key);
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
                (keys.size() > 1 ? quote(known::swapName) + " and " : "") +
                quote(known::swapLayers) + ", got " + item.repr(60));
        return std::nullopt;
      }
    Node layers = item[known::swapLayers];
    if (!layers.isList()) {
      reader.diagnostics.error(layers.getLocation(),
                               at + "." + known::swapLayers +
                                   ": expected list/tuple of layer ids or "
                                   "ranges like ['5'], ['0-19'], got " +
                                   getPythonType(layers) + ": " +
                                   layers.repr(60));
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
      readLayerNumbers(item[known::swapLayers],
                       label + "." + known::swapLayers.str(), depth, prefetch,
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
                          const DynamicDepth &depth, SwapConfig &config) {
  auto items = getSwapItems(reader, swap::layerSwap, {known::swapLayers});
  config.layerSwap.emplace();
  if (!items)
    return;
  for (auto [number, item] : llvm::enumerate(*items)) {
    auto entry = readSwapItem(
        item,
        getSwapLabel(swap::layerSwap) + "[" + std::to_string(number) + "]",
        depth, config.defaultPrefetch, reader.diagnostics);
    if (entry && number == 0)
      config.layerSwap->push_back(std::move(*entry));
    else if (entry)
      reader.diagnostics.warning(
          item.getLocation(),
          "item " + llvm::Twine(number) + " of " + quote(swap::layerSwap.name) +
              " has no effect: the trainer applies the first one only");
  }
}

static void readOperatorSwap(const DynamicReader &reader,
                             const DynamicDepth &depth, SwapConfig &config) {
  auto items =
      getSwapItems(reader, swap::opSwap, {known::swapName, known::swapLayers});
  config.opSwap.emplace();
  if (!items)
    return;
  for (auto [number, item] : llvm::enumerate(*items)) {
    const std::string label =
        getSwapLabel(swap::opSwap) + "[" + std::to_string(number) + "]";
    Node name = item[known::swapName];
    if (!name.isString() || name.getText().trim().empty()) {
      reader.diagnostics.error(name.getLocation(),
                               label + "." + known::swapName +
                                   " must be a non-empty str, got " +
                                   name.repr(60));
      continue;
    }
    auto entry = readSwapItem(item, label, depth, config.defaultPrefetch,
                              reader.diagnostics);
    if (!entry)
      continue;
    // Layers that are swapped as a whole have no swap of their modules.
    for (const SwapEntry &whole : *config.layerSwap)
      llvm::erase_if(entry->layers, [&](int64_t layer) {
        return llvm::is_contained(whole.layers, layer);
      });
    config.opSwap->push_back(
        {name.getText().str(), {std::move(*entry)}, name.getLocation()});
  }
}

/// Fills the section of `config` from swap.
static void readDynamicSwap(const DynamicReader &reader,
                            const DynamicDepth &depth,
                            const DynamicLayout &layout, SwapConfig &config) {
  const DynamicKey &enable = swap::enable, &prefetch = swap::defaultPrefetch;
  config.node = reader.getSection(swap::section);
  if (!reader.getBool(enable)) {
    for (const DynamicKey *key : {&prefetch, &swap::layerSwap, &swap::opSwap})
      if (reader.getWritten(*key))
        reader.warnUnused(*key, quote(enable.name) + " of swap is not True");
    return;
  }
  config.location = reader.get(enable).getLocation();
  config.defaultPrefetch = reader.getInt(prefetch);
  if (config.defaultPrefetch < 1 || config.defaultPrefetch >= depth.getAll()) {
    reader.error(prefetch, getSwapLabel(prefetch) + ": value " +
                               llvm::Twine(config.defaultPrefetch) +
                               " out of range [1, " +
                               llvm::Twine(depth.getAll() - 1) + "]");
    return;
  }
  config.swap = true;
  readLayerSwap(reader, depth, config);
  readOperatorSwap(reader, depth, config);
  if (!reader.getWritten(swap::layerSwap) && !reader.getWritten(swap::opSwap))
    reader.warn(enable, quote(enable.name) +
                            " of swap has no effect: neither " +
                            quote(swap::layerSwap.name) + " nor " +
                            quote(swap::opSwap.name) + " says which layers");
  if (layout.pipeline > 1)
    reader.warn(enable,
                "releases before MindSpore 2.11 refuse swap with several "
                "stages: swap is not supported with pipeline parallel");
}

//===----------------------------------------------------------------------===//
// What no section of the static graph has
//===----------------------------------------------------------------------===//

static void addSharding(const DynamicReader &reader,
                        const DynamicLayout &layout, ParallelConfig &parallel) {
  if (layout.getNumRanks() == 1)
    return;
  FullyShardedConfig &sharded = parallel.fullySharded.emplace();
  sharded.replicate = layout.replicate;
  sharded.shard = layout.shard;
  if (Node dense = reader.getWritten(parallelism::denseFsdpShardSize))
    sharded.denseShardSize = dense.getInt();
  sharded.reshardAfterForward =
      llvm::StringSwitch<ReshardPolicy>(
          reader.getString(parallelism::reshardPolicy))
          .Case("always", ReshardPolicy::Always)
          .Case("never", ReshardPolicy::Never)
          .Default(ReshardPolicy::Default);
  sharded.dividesGradients =
      !reader.getBool(parallelism::disableGradientDivision);
}

static std::vector<std::string> readPatterns(const DynamicReader &reader,
                                             const DynamicKey &key) {
  std::vector<std::string> patterns;
  for (const Node &item : reader.get(key).getElements())
    patterns.push_back(item.getText().str());
  return patterns;
}

/// The fused AdamW counts steps from -1, and takes the rate before it counts.
static void addLateRates(const Node &optimizer, LrScheduleConfig &rates,
                         DiagnosticList &diagnostics) {
  if (optimizer[optimizer::type.name].getText() != "AdamW")
    return;
  for (llvm::StringRef key : lateAdamKeys) {
    if (!optimizer[key].getBool().value_or(false))
      continue;
    rates.lateSteps = 1;
    const double warmup =
        rates.warmupRatio ? std::floor(*rates.warmupRatio *
                                       static_cast<double>(rates.totalSteps))
                          : static_cast<double>(rates.warmupSteps.value_or(0));
    const std::optional<LrScheduleKind> kind = findLrScheduleKind(rates.type);
    const bool anneals = kind == LrScheduleKind::CosineAnnealing ||
                         kind == LrScheduleKind::CosineAnnealingWarmRestarts;
    if (warmup == 0 && !anneals)
      diagnostics.warning(
          optimizer[key].getLocation(),
          "with " + quote(key) +
              " and no warm-up steps the trainer divides by 0 for the rate of "
              "the first step; it has that of the second here");
    return;
  }
}

/// Layers read such weights in the type in which they compute.
static bool asksForHalf(const Node &model) {
  return llvm::any_of(keys::paramType.getNames(keys::Mcore),
                      [&](llvm::StringRef key) {
                        const llvm::StringRef type = model[key].getText();
                        return type == "bfloat16" || type == "float16";
                      });
}

void addDynamicSettings(const Node &root, const DynamicLayout &layout,
                        TrainingConfig &config, DiagnosticList &diagnostics) {
  config.wrapper.hasLocalLoss = true;
  config.recompute.isOfDynamicGraph = true;
  config.chunkLossNum = readDynamicLossPieces(root, diagnostics);
  const DynamicReader reader(root, diagnostics);
  ParallelConfig &parallel = config.parallel;
  parallel.takesFewMicroBatches = true;
  addSharding(reader, layout, parallel);
  // The trainer drops both for other schedules than the interleaved one.
  if (layout.interleave > 1) {
    parallel.overlapsBackward = reader.getBool(parallelism::overlapBackward);
    parallel.detachesWeights = reader.getBool(parallelism::dxdwSplit);
  }
  config.optimizer.decayInclude =
      readPatterns(reader, optimizer::weightDecayInclude);
  config.optimizer.decayExclude =
      readPatterns(reader, optimizer::weightDecayExclude);
  addLateRates(reader.getSection(optimizer::section), config.lrSchedule,
               diagnostics);
  config.model.asksForHalf = asksForHalf(root[model::section]);
  config.model.adapters = root[lora::section];
  const DynamicDepth depth = readDynamicDepth(config.model.config);
  if (depth.getAll() == 0)
    return;
  readDynamicRecompute(reader, depth, config);
  readDynamicSwap(reader, depth, layout, config.swap);
  if (layout.appliesMemorySettings())
    return;
  const bool isAsked = config.recompute.recompute.isTruthy() ||
                       config.recompute.selectRecompute.isTruthy() ||
                       config.recompute.selectCommRecompute.isTruthy() ||
                       config.swap.swap;
  config.recompute = RecomputeConfig();
  config.recompute.isOfDynamicGraph = true;
  config.swap = SwapConfig();
  if (isAsked)
    diagnostics.warning(
        (root[recompute::section] ? root[recompute::section]
                                  : root[swap::section])
            .getLocation(),
        "recompute and swap have no effect: the trainer applies neither to one "
        "rank, which RANK_SIZE asks for");
}

} // namespace mf
