//===- ResolvedLayers.cpp - The layers that settings cover ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/ResolvedLayers.h"
#include "LayerNormalizer.h"
#include "mf/Layers/CellPattern.h"
#include "llvm/Support/raw_ostream.h"

namespace mf {

static std::string reprKey(llvm::StringRef text) {
  char mark = text.contains('\'') && !text.contains('"') ? '"' : '\'';
  return mark + escapeControls(text) + mark;
}

/// Returns `{'pattern': layers, ...}`. A backslash of a pattern is printed
/// once, as in the documentation, and not escaped.
static std::string reprPatterns(llvm::ArrayRef<PatternLayers> patterns) {
  std::string text = "{";
  for (const PatternLayers &pattern : patterns)
    text += (text.size() > 1 ? ", " : "") + reprKey(pattern.request.pattern) +
            ": " + pattern.layers.repr();
  return text + "}";
}

static std::string reprSwapEntries(const std::vector<SwapEntry> &entries) {
  std::string text = "[";
  for (const SwapEntry &entry : entries)
    text +=
        (text.size() > 1 ? ", " : "") + std::string("{") +
        "'backward_prefetch': " + std::to_string(entry.prefetch) +
        ", 'layers': " + (entry.allLayers ? "True" : reprList(entry.layers)) +
        "}";
  return text + "]";
}

static std::string
reprOpSwap(const std::vector<SwapConfig::OperatorSwap> &swaps) {
  std::string text = "{";
  for (const SwapConfig::OperatorSwap &swap : swaps)
    text += (text.size() > 1 ? ", " : "") + reprKey(swap.pattern) + ": " +
            reprSwapEntries(swap.entries);
  return text + "}";
}

/// A limit for hostile input, far above what real files request.
static constexpr size_t mostPatternLayers = 1 << 17;

/// Warns about indices that no layer has.
static void checkLayers(const SwapEntry &entry, llvm::StringRef name,
                        const StageMap &stages, DiagnosticList &diagnostics) {
  for (int64_t layer : entry.layers)
    if (layer < 0 || layer >= stages.getNumLayers())
      diagnostics.warning(entry.location,
                          quote(name) + " names layer " + llvm::Twine(layer) +
                              ", but there are " +
                              llvm::Twine(stages.getNumLayers()) + " layers");
}

static CellPattern getPattern(const LayerRequest &request) {
  return request.meansWholePaths ? CellPattern::ofWholePaths(request.pattern)
                                 : CellPattern(request.pattern);
}

/// Drops the patterns from `selected` that conflict with `excluded`: for each
/// exclude pattern, the first select pattern of the same depth. Adds a log line
/// for each.
static void dropExcluded(std::vector<PatternLayers> &selected,
                         llvm::ArrayRef<PatternLayers> excluded,
                         std::vector<std::string> &logLines) {
  for (const PatternLayers &exclude : excluded) {
    auto found = llvm::find_if(selected, [&](const PatternLayers &select) {
      return getPattern(exclude.request)
          .conflictsWith(getPattern(select.request));
    });
    if (found == selected.end())
      continue;
    logLines.push_back(("The pattern " +
                        escapeControls(found->request.pattern) + " in " +
                        getName(found->request.key) + " conflicts with " +
                        getName(exclude.request.key) + " and will be removed.")
                           .str());
    selected.erase(found);
  }
}

//===----------------------------------------------------------------------===//
// Resolving
//===----------------------------------------------------------------------===//

namespace {

class LayerResolver {
public:
  LayerResolver(const TrainingConfig &config, const StageMap &stages,
                llvm::ArrayRef<llvm::StringRef> selection,
                DiagnosticList &diagnostics)
      : config(config), stages(stages), selection(selection),
        diagnostics(diagnostics),
        normalizer(stages, config.swap.swap, diagnostics) {}

  ResolvedLayers run() {
    resolved.mpCommRecompute = config.recompute.mpCommRecompute;
    resolved.parallelOptimizerCommRecompute =
        config.recompute.parallelOptimizerCommRecompute;
    logStages();
    resolveRecompute();
    if (config.swap.swap)
      resolveSwap();
    // The trainer of the dynamic graph does not log what layers get.
    if (config.recompute.isOfDynamicGraph)
      resolved.initLines.clear();
    const size_t patterns = resolved.patterns.size() + resolved.opSwap.size();
    const auto layers = static_cast<size_t>(stages.getNumLayers());
    if (patterns * layers > mostPatternLayers)
      diagnostics.error({}, "too many settings: " + llvm::Twine(patterns) +
                                " patterns for " + llvm::Twine(layers) +
                                " layers");
    else
      checkPatterns();
    if (diagnostics.hasErrors())
      return std::move(resolved);
    for (int64_t layer = 0; layer < stages.getNumLayers(); ++layer)
      resolved.layers.push_back(resolveLayer(layer));
    return std::move(resolved);
  }

private:
  void logStages() {
    std::vector<int64_t> pipelineIds;
    std::vector<int64_t> interleaveIds;
    auto count = static_cast<size_t>(stages.getNumCounted());
    pipelineIds.reserve(count);
    interleaveIds.reserve(count);
    for (int64_t layer = 0; layer < stages.getNumCounted(); ++layer) {
      pipelineIds.push_back(stages.getPlace(layer).stage);
      interleaveIds.push_back(stages.getPlace(layer).chunk);
    }
    resolved.initLines = {
        "num_layers per stage: " + reprMatrix(stages.getLayersPerStage()),
        "Accumulated num_layers per stage: " +
            reprMatrix(stages.getAccumulated()),
        "Pipeline id list with start_stage: " + reprList(pipelineIds),
        "Interleave id list: " + reprList(interleaveIds)};
  }

  void resolveRecompute() {
    const RecomputeConfig &recompute = config.recompute;
    resolved.recompute = normalizer.normalize(recompute.recompute.selection,
                                              getName(LayerKey::Recompute));
    // Excludes are counted over stages even with swap on.
    LayerNormalizer perStage(stages, /*isSwapOn=*/false, diagnostics);
    auto resolve = [&](const LayerSetting &setting, LayerKey key,
                       llvm::ArrayRef<llvm::StringRef> defaults,
                       LayerNormalizer &with) {
      return resolvePatterns(setting, key, defaults, with, diagnostics);
    };
    auto select = resolve(recompute.selectRecompute, LayerKey::SelectRecompute,
                          selection, normalizer);
    auto comm =
        resolve(recompute.selectCommRecompute, LayerKey::SelectCommRecompute,
                getDefaultCommPatterns(), normalizer);
    auto exclude = resolve(recompute.selectRecomputeExclude,
                           LayerKey::SelectRecomputeExclude, {}, perStage);
    auto commExclude =
        resolve(recompute.selectCommRecomputeExclude,
                LayerKey::SelectCommRecomputeExclude, {}, perStage);
    resolved.initLines.push_back("Formative layer_recompute: " +
                                 resolved.recompute.repr());
    resolved.initLines.push_back(
        ("The configuration of " + getName(LayerKey::SelectRecomputeExclude) +
         " and " + getName(LayerKey::SelectCommRecomputeExclude) +
         " have the highest priority.")
            .str());
    dropExcluded(select, exclude, resolved.initLines);
    dropExcluded(comm, commExclude, resolved.initLines);
    for (auto [key, patterns] :
         {std::pair(LayerKey::SelectRecompute, &select),
          std::pair(LayerKey::SelectCommRecompute, &comm),
          std::pair(LayerKey::SelectRecomputeExclude, &exclude),
          std::pair(LayerKey::SelectCommRecomputeExclude, &commExclude)}) {
      resolved.initLines.push_back(
          ("Formative " + getName(key) + ": " + reprPatterns(*patterns)).str());
      llvm::append_range(resolved.patterns, *patterns);
    }
  }

  void resolveSwap() {
    const SwapConfig &swap = config.swap;
    resolved.swap = true;
    if (swap.layerSwap)
      resolved.layerSwap = *swap.layerSwap;
    if (swap.opSwap)
      resolved.opSwap = *swap.opSwap;
    if (!swap.layerSwap && !swap.opSwap) {
      SwapEntry entry;
      entry.prefetch = swap.defaultPrefetch;
      entry.allLayers = true;
      entry.location = swap.location;
      resolved.opSwap = {
          {getDefaultSwapPattern().str(), {entry}, entry.location}};
    } else if (swap.prefetchLocation.isKnown()) {
      diagnostics.warning(
          swap.prefetchLocation,
          quote(known::nameOf(&SwapConfig::defaultPrefetch)) +
              " has no effect: it is for the default policy, and " +
              getName(LayerKey::LayerSwap) + " or " +
              getName(LayerKey::OpSwap) + " is given");
    }
    for (const SwapConfig::OperatorSwap &op : resolved.opSwap)
      for (const SwapEntry &entry : op.entries)
        checkLayers(entry, op.pattern, stages, diagnostics);
    for (const SwapEntry &entry : resolved.layerSwap)
      checkLayers(entry, getName(LayerKey::LayerSwap), stages, diagnostics);
    resolved.initLines.push_back("Formative layer swap: " +
                                 reprSwapEntries(resolved.layerSwap));
    resolved.initLines.push_back("Formative op swap: " +
                                 reprOpSwap(resolved.opSwap));
    for (LayerKey key : {LayerKey::SelectRecomputeExclude,
                         LayerKey::SelectCommRecomputeExclude})
      if (std::vector<PatternLayers> ignored = resolved.getPatterns(key);
          !ignored.empty())
        diagnostics.warning(ignored.front().request.location,
                            getName(key) + " has no effect with swap on");
  }

  /// Reports patterns that are not regular expressions.
  void checkPatterns() {
    auto check = [&](const LayerRequest &request, bool isUsed) {
      const std::string error = getPattern(request).getError();
      if (error.empty())
        return;
      const std::string message = ("invalid " + getName(request.key) + " " +
                                   quote(request.pattern) + ": " + error)
                                      .str();
      if (isUsed)
        diagnostics.error(request.location, message);
      else
        diagnostics.warning(request.location, message);
    };
    auto isUsed = [&](llvm::function_ref<bool(int64_t)> covers) {
      for (int64_t layer = 0; layer < stages.getNumLayers(); ++layer)
        if (covers(layer))
          return true;
      return false;
    };
    for (const PatternLayers &pattern : resolved.patterns)
      if (!resolved.swap ||
          pattern.request.key < LayerKey::SelectRecomputeExclude)
        check(pattern.request, isUsed([&](int64_t layer) {
                return pattern.layers.covers(stages, layer);
              }));
    for (const SwapConfig::OperatorSwap &op : resolved.opSwap) {
      LayerRequest request;
      request.key = LayerKey::OpSwap;
      request.pattern = op.pattern;
      request.location = op.location;
      request.meansWholePaths =
          !op.entries.empty() && op.entries.front().countsLayers;
      check(request, isUsed([&](int64_t layer) {
              return llvm::any_of(op.entries, [&](const SwapEntry &entry) {
                return entry.covers(stages.getSettingLayer(layer));
              });
            }));
    }
  }

  LayerSettings resolveLayer(int64_t layer) {
    const RecomputeConfig &recompute = config.recompute;
    LayerSettings settings;
    settings.layer = stages.getSettingLayer(layer);
    settings.commFusion =
        stages.getCommFusion(layer, config.parallel.gradientAggregationGroup);
    settings.mpCommRecompute = recompute.mpCommRecompute;
    settings.sliceActivation = recompute.recomputeSliceActivation;
    settings.selectsOperators = recompute.selectRecompute.isTruthy();
    settings.isSwapOn = resolved.swap;
    settings.keptOperators = recompute.keptOperators;
    if (resolved.recompute.covers(stages, layer)) {
      LayerRequest request;
      request.location = recompute.recompute.location;
      request.isUnnamed =
          recompute.recompute.selection.kind == LayerSelection::Kind::Bool;
      settings.requests.push_back(std::move(request));
    }
    for (const PatternLayers &pattern : resolved.patterns)
      if (pattern.layers.covers(stages, layer) &&
          (!resolved.swap ||
           pattern.request.key < LayerKey::SelectRecomputeExclude))
        settings.requests.push_back(pattern.request);
    if (resolved.swap)
      addSwaps(layer, settings);
    return settings;
  }

  void addSwaps(int64_t layer, LayerSettings &settings) {
    auto add = [&](LayerKey key, llvm::StringRef pattern,
                   llvm::ArrayRef<SwapEntry> entries) {
      const auto *entry =
          llvm::find_if(entries, [&](const SwapEntry &candidate) {
            return candidate.covers(stages.getSettingLayer(layer));
          });
      if (entry == entries.end())
        return;
      LayerRequest request;
      request.key = key;
      request.pattern = pattern.str();
      request.location = entry->location;
      request.prefetch = entry->prefetch;
      request.countsLayers = entry->countsLayers;
      request.meansWholePaths =
          key == LayerKey::OpSwap && entries.front().countsLayers;
      settings.requests.push_back(std::move(request));
    };
    add(LayerKey::LayerSwap, "", resolved.layerSwap);
    for (const SwapConfig::OperatorSwap &op : resolved.opSwap)
      add(LayerKey::OpSwap, op.pattern, op.entries);
  }

  const TrainingConfig &config;
  const StageMap &stages;
  llvm::ArrayRef<llvm::StringRef> selection;
  DiagnosticList &diagnostics;
  LayerNormalizer normalizer;
  ResolvedLayers resolved;
};

} // namespace

ResolvedLayers resolveLayers(const TrainingConfig &config,
                             const StageMap &stages,
                             llvm::ArrayRef<llvm::StringRef> selection,
                             DiagnosticList &diagnostics) {
  return LayerResolver(config, stages, selection, diagnostics).run();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

std::vector<PatternLayers> ResolvedLayers::getPatterns(LayerKey key) const {
  std::vector<PatternLayers> found;
  llvm::copy_if(
      patterns, std::back_inserter(found),
      [&](const PatternLayers &pattern) { return pattern.request.key == key; });
  return found;
}

void ResolvedLayers::printLog(llvm::raw_ostream &stream) const {
  for (const std::string &line : initLines)
    stream << "INFO - " << line << '\n';
}

static llvm::json::Value toJson(const NormalizedLayers &layers) {
  switch (layers.kind) {
  case NormalizedLayers::Kind::All:
    return true;
  case NormalizedLayers::Kind::Indices: {
    llvm::json::Array indices;
    for (const LayerCount &index : layers.indices)
      indices.push_back(index.value);
    return indices;
  }
  case NormalizedLayers::Kind::Matrix:
    break;
  }
  llvm::json::Array rows;
  for (const std::vector<int64_t> &row : layers.matrix)
    rows.push_back(llvm::json::Array(row));
  return rows;
}

/// llvm::json requires valid UTF-8, but names come from the user.
static std::string makeUtf8(llvm::StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

static llvm::json::Value toJson(llvm::ArrayRef<PatternLayers> patterns) {
  llvm::json::Array array;
  for (const PatternLayers &pattern : patterns)
    array.push_back(
        llvm::json::Object{{"pattern", makeUtf8(pattern.request.pattern)},
                           {"layers", toJson(pattern.layers)}});
  return array;
}

static llvm::json::Value toJson(const std::vector<SwapEntry> &entries) {
  llvm::json::Array array;
  for (const SwapEntry &entry : entries)
    array.push_back(llvm::json::Object{
        {"backward_prefetch", entry.prefetch},
        {"layers", entry.allLayers ? llvm::json::Value(true)
                                   : llvm::json::Array(entry.layers)}});
  return array;
}

llvm::json::Object ResolvedLayers::toJson() const {
  llvm::json::Array log;
  for (const std::string &line : initLines)
    log.push_back(makeUtf8(line));
  llvm::json::Object object{
      {getName(LayerKey::Recompute), mf::toJson(recompute)},
      {"mp_comm_recompute", mpCommRecompute},
      {"parallel_optimizer_comm_recompute", parallelOptimizerCommRecompute},
      {"swap", swap},
      {"log", std::move(log)}};
  for (LayerKey key :
       {LayerKey::SelectRecompute, LayerKey::SelectCommRecompute,
        LayerKey::SelectRecomputeExclude, LayerKey::SelectCommRecomputeExclude})
    object[getName(key)] = mf::toJson(getPatterns(key));
  if (swap) {
    object[getName(LayerKey::LayerSwap)] = mf::toJson(layerSwap);
    llvm::json::Array ops;
    for (const SwapConfig::OperatorSwap &op : opSwap)
      ops.push_back(llvm::json::Object{{"pattern", makeUtf8(op.pattern)},
                                       {"entries", mf::toJson(op.entries)}});
    object[getName(LayerKey::OpSwap)] = std::move(ops);
  }
  return object;
}

} // namespace mf
