//===- LayerPlan.cpp - Recompute and swap of each layer -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/LayerPlan.h"
#include "LayerNormalizer.h"
#include "PlanPatterns.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace mf {

static std::string reprKey(llvm::StringRef text) {
  char mark = text.contains('\'') && !text.contains('"') ? '"' : '\'';
  return mark + escapeControls(text) + mark;
}

/// Returns `{'pattern': layers, ...}`. A backslash of a pattern is printed
/// once, as in the documentation, and not escaped.
static std::string reprPatterns(const std::vector<PatternLayers> &patterns) {
  std::string text = "{";
  for (const PatternLayers &pattern : patterns)
    text += (text.size() > 1 ? ", " : "") + reprKey(pattern.pattern) + ": " +
            pattern.layers.repr();
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

/// Marks the layers of a swap entry in `layers.mask`, and warns about indices
/// that no layer has.
static void setCoveredLayers(const SwapEntry &entry, llvm::StringRef name,
                             const StageMap &stages, NormalizedLayers &layers,
                             DiagnosticList &diagnostics) {
  if (entry.allLayers)
    layers.kind = NormalizedLayers::Kind::All;
  for (int64_t layer : entry.layers) {
    if (layer >= 0 && layer < stages.getNumLayers()) {
      layers.mask[static_cast<size_t>(layer)] = true;
      continue;
    }
    diagnostics.warning(entry.location,
                        quote(name) + " names layer " + llvm::Twine(layer) +
                            ", but there are " +
                            llvm::Twine(stages.getNumLayers()) + " layers");
  }
}

/// A limit for hostile input, far above what real files request.
static constexpr size_t mostPatternLayers = 1 << 17;

namespace {

/// An op_swap pattern while the plan is made.
struct ActiveSwap {
  ActivePattern pattern;
  const SwapConfig::OperatorSwap *entries;
};

class LayerSettingPlanner {
public:
  LayerSettingPlanner(const LayerPlanInput &input, DiagnosticList &diagnostics)
      : input(input), layers(shareTrees(input.layers)),
        diagnostics(diagnostics),
        normalizer(input.stages, input.swap.swap, diagnostics),
        logs(!input.recompute.isOfDynamicGraph) {}

  LayerPlan run();

private:
  void logStages();
  void planRecompute();
  void planSwap();
  void checkSettings();
  void planLayer(const PlannedLayer &layer);
  void applyRecompute(const CellTree &tree, LayerEffects &effects);
  void applyExcludes(const CellTree &tree, LayerEffects &effects);
  void applySwap(const CellTree &tree, LayerEffects &effects);
  void findConflicts(const LayerEffects &effects);
  void logPaths(LayerEffects &effects, llvm::StringRef what,
                const std::vector<std::string> &paths) const;

  enum class MatchUse : uint8_t { Select, Comm, Exclude, CommExclude };
  std::vector<std::string> applyPatterns(std::vector<ActivePattern> &patterns,
                                         MatchUse use, const CellTree &tree,
                                         LayerEffects &effects);

  const LayerPlanInput &input;
  std::vector<PlannedLayer> layers;
  DiagnosticList &diagnostics;
  LayerNormalizer normalizer;
  bool logs;
  LayerPlan plan;
  SwapConflicts conflicts;
  std::vector<ActivePattern> select;
  std::vector<ActivePattern> comm;
  std::vector<ActivePattern> selectExclude;
  std::vector<ActivePattern> commExclude;
  std::vector<ActiveSwap> opSwap;
};

} // namespace

void LayerSettingPlanner::logStages() {
  const StageMap &stages = input.stages;
  std::vector<int64_t> pipelineIds;
  std::vector<int64_t> interleaveIds;
  auto count = static_cast<size_t>(stages.getNumCounted());
  pipelineIds.reserve(count);
  interleaveIds.reserve(count);
  for (int64_t layer = 0; layer < stages.getNumCounted(); ++layer) {
    pipelineIds.push_back(stages.getPlace(layer).stage);
    interleaveIds.push_back(stages.getPlace(layer).chunk);
  }
  plan.initLines = {
      "num_layers per stage: " + reprMatrix(stages.getLayersPerStage()),
      "Accumulated num_layers per stage: " +
          reprMatrix(stages.getAccumulated()),
      "Pipeline id list with start_stage: " + reprList(pipelineIds),
      "Interleave id list: " + reprList(interleaveIds)};
}

static std::vector<PatternLayers>
getLayers(const std::vector<ActivePattern> &patterns) {
  std::vector<PatternLayers> layers;
  layers.reserve(patterns.size());
  for (const ActivePattern &pattern : patterns)
    layers.push_back(pattern.layers);
  return layers;
}

void LayerSettingPlanner::planRecompute() {
  const RecomputeConfig &config = input.recompute;
  plan.recompute =
      normalizer.normalize(config.recompute.selection, "recompute");
  auto resolve = [&](const LayerSetting &setting, llvm::StringRef key,
                     llvm::ArrayRef<llvm::StringRef> defaults,
                     LayerNormalizer &with) {
    return resolvePatterns(setting, key, defaults, with, diagnostics);
  };
  select = resolve(config.selectRecompute, "select_recompute",
                   getDefaultSelectPatterns(input.names), normalizer);
  comm = resolve(config.selectCommRecompute, "select_comm_recompute",
                 getDefaultCommPatterns(), normalizer);
  // Excludes are counted over stages even with swap on.
  LayerNormalizer perStage(input.stages, /*isSwapOn=*/false, diagnostics);
  selectExclude = resolve(config.selectRecomputeExclude,
                          "select_recompute_exclude", {}, perStage);
  commExclude = resolve(config.selectCommRecomputeExclude,
                        "select_comm_recompute_exclude", {}, perStage);
  plan.initLines.push_back("Formative layer_recompute: " +
                           plan.recompute.repr());
  plan.initLines.emplace_back(
      "The configuration of select_recompute_exclude and "
      "select_comm_recompute_exclude have the highest priority.");
  dropExcluded(select, selectExclude, plan.initLines);
  dropExcluded(comm, commExclude, plan.initLines);
  plan.select = getLayers(select);
  plan.comm = getLayers(comm);
  plan.selectExclude = getLayers(selectExclude);
  plan.commExclude = getLayers(commExclude);
  for (auto [name, patterns] :
       {std::pair("select_recompute", &plan.select),
        std::pair("select_comm_recompute", &plan.comm),
        std::pair("select_recompute_exclude", &plan.selectExclude),
        std::pair("select_comm_recompute_exclude", &plan.commExclude)})
    plan.initLines.push_back("Formative " + std::string(name) + ": " +
                             reprPatterns(*patterns));
}

void LayerSettingPlanner::planSwap() {
  const SwapConfig &config = input.swap;
  plan.swap = true;
  if (config.layerSwap)
    plan.layerSwap = *config.layerSwap;
  if (config.opSwap)
    plan.opSwap = *config.opSwap;
  if (!config.layerSwap && !config.opSwap) {
    SwapEntry entry;
    entry.prefetch = config.defaultPrefetch;
    entry.allLayers = true;
    entry.location = config.location;
    plan.opSwap = {{getDefaultSwapPattern().str(), {entry}, entry.location}};
  } else if (config.prefetchLocation.isKnown()) {
    diagnostics.warning(config.prefetchLocation,
                        "'default_prefetch' has no effect: it is for the "
                        "default policy, and layer_swap or op_swap is given");
  }
  for (const SwapConfig::OperatorSwap &swap : plan.opSwap) {
    NormalizedLayers layers;
    layers.kind = NormalizedLayers::Kind::Indices;
    layers.mask.resize(static_cast<size_t>(input.stages.getNumLayers()));
    for (const SwapEntry &entry : swap.entries)
      setCoveredLayers(entry, swap.pattern, input.stages, layers, diagnostics);
    opSwap.push_back(
        {ActivePattern("op_swap", {swap.pattern, layers, swap.location, false,
                                   !swap.entries.empty() &&
                                       swap.entries.front().countsLayers}),
         &swap});
  }
  NormalizedLayers ignored;
  ignored.mask.resize(static_cast<size_t>(input.stages.getNumLayers()));
  for (const SwapEntry &entry : plan.layerSwap)
    setCoveredLayers(entry, "layer_swap", input.stages, ignored, diagnostics);
  plan.initLines.push_back("Formative layer swap: " +
                           reprSwapEntries(plan.layerSwap));
  plan.initLines.push_back("Formative op swap: " + reprOpSwap(plan.opSwap));
}

/// Reports invalid patterns. The layers must be known.
void LayerSettingPlanner::checkSettings() {
  auto check = [&](std::vector<ActivePattern> &patterns) {
    checkPatterns(patterns, input.stages, layers,
                  /*allowWildcard=*/false, diagnostics);
  };
  check(select);
  check(comm);
  if (!plan.swap) {
    check(selectExclude);
    check(commExclude);
    return;
  }
  for (const std::vector<ActivePattern> *excludes :
       {&selectExclude, &commExclude})
    if (!excludes->empty())
      diagnostics.warning(excludes->front().layers.location,
                          excludes->front().getKey() +
                              " has no effect with swap on");
  std::vector<ActivePattern> swaps;
  swaps.reserve(opSwap.size());
  for (ActiveSwap &swap : opSwap)
    swaps.emplace_back("op_swap", swap.pattern.layers);
  checkPatterns(swaps, input.stages, layers, /*allowWildcard=*/true,
                diagnostics);
}

/// Returns the parts of a cell that it does not call itself.
static std::vector<std::string> getApart(const CellTree &tree, size_t cell) {
  std::vector<std::string> paths;
  for (size_t child : tree.get(cell).children)
    if (tree.get(child).isCalledApart)
      paths.push_back(tree.get(child).path);
  return paths;
}

/// Applies the patterns that cover the layer. Returns the affected paths in the
/// order of application.
std::vector<std::string>
LayerSettingPlanner::applyPatterns(std::vector<ActivePattern> &patterns,
                                   MatchUse use, const CellTree &tree,
                                   LayerEffects &effects) {
  bool isComm = use == MatchUse::Comm || use == MatchUse::CommExclude;
  bool isEnabled = use == MatchUse::Select || use == MatchUse::Comm;
  std::vector<std::string> paths;
  for (ActivePattern &pattern : patterns) {
    if (!pattern.layers.layers.covers(input.stages, effects.layer))
      continue;
    for (const CellPattern::Match &match : pattern.matchIn(tree).matches) {
      const std::string &path = tree.get(match.entry).path;
      if (match.isCell && use != MatchUse::Select) {
        effects.logLines.push_back(
            std::string(use == MatchUse::Comm
                            ? "For communication recompute, "
                            : "For select recompute/comm_recompute exclude, ") +
            std::string(path.find('.') == std::string::npos ? "." : "") + path +
            " is expected to be operation but got cell, this configuration "
            "will not be effective.");
        continue;
      }
      (isComm ? effects.commRecompute : effects.recompute)
          .push_back({{path, match.isCell, pattern.describe(),
                       pattern.layers.location, getApart(tree, match.entry)},
                      isEnabled});
      paths.push_back(path);
    }
  }
  if (use == MatchUse::Select)
    dropInnerCells(patterns, effects, paths);
  return paths;
}

void LayerSettingPlanner::logPaths(
    LayerEffects &effects, llvm::StringRef what,
    const std::vector<std::string> &paths) const {
  if (!logs || paths.empty())
    return;
  const int64_t layer = input.stages.getSettingLayer(effects.layer);
  effects.logLines.push_back((what + " at layer " + llvm::Twine(layer) + ": " +
                              llvm::join(paths, ", "))
                                 .str());
}

void LayerSettingPlanner::applyRecompute(const CellTree &tree,
                                         LayerEffects &effects) {
  if (plan.recompute.covers(input.stages, effects.layer)) {
    effects.fullRecompute = true;
    effects.sliceActivation = input.recompute.recomputeSliceActivation;
    effects.recompute.push_back(
        {{"", /*isCell=*/true, "recompute_config.recompute",
          input.recompute.recompute.location}});
    // With swap enabled and a recompute setting of True, MindSpore Transformers
    // logs nothing.
    if (logs && plan.recompute.kind != NormalizedLayers::Kind::All)
      effects.logLines.push_back(
          "Set full recompute at layer " +
          std::to_string(input.stages.getSettingLayer(effects.layer)));
    return;
  }
  std::string on = plan.swap ? "" : " on";
  logPaths(effects, "Set select recompute" + on,
           applyPatterns(select, MatchUse::Select, tree, effects));
  logPaths(effects, "Set select comm recompute" + on,
           applyPatterns(comm, MatchUse::Comm, tree, effects));
}

void LayerSettingPlanner::applyExcludes(const CellTree &tree,
                                        LayerEffects &effects) {
  logPaths(effects, "Set select recompute exclude",
           applyPatterns(selectExclude, MatchUse::Exclude, tree, effects));
  logPaths(effects, "Set select comm recompute exclude",
           applyPatterns(commExclude, MatchUse::CommExclude, tree, effects));
}

void LayerSettingPlanner::applySwap(const CellTree &tree,
                                    LayerEffects &effects) {
  const int64_t settingLayer = input.stages.getSettingLayer(effects.layer);
  for (const SwapEntry &entry : plan.layerSwap) {
    if (!entry.covers(settingLayer))
      continue;
    effects.swap.push_back({{"", /*isCell=*/true, "layer_swap", entry.location},
                            entry.prefetch,
                            entry.countsLayers});
    if (logs)
      effects.logLines.push_back(
          "Set layer swap at layer " + std::to_string(settingLayer) +
          " and value is: " + std::to_string(entry.prefetch));
    break;
  }
  std::vector<std::string> items;
  for (ActiveSwap &swap : opSwap) {
    if (!swap.pattern.layers.layers.covers(input.stages, effects.layer))
      continue;
    const SwapEntry &entry =
        *llvm::find_if(swap.entries->entries, [&](const SwapEntry &candidate) {
          return candidate.covers(settingLayer);
        });
    for (const CellPattern::Match &match : swap.pattern.matchIn(tree).matches) {
      const std::string &path = tree.get(match.entry).path;
      const bool isOneLevel = path.find('.') == std::string::npos;
      items.push_back((isOneLevel ? "." : "") + path +
                      ", value=" + std::to_string(entry.prefetch));
      effects.swap.push_back({{path, match.isCell, swap.pattern.describe(),
                               entry.location, getApart(tree, match.entry)},
                              entry.prefetch,
                              entry.countsLayers});
    }
  }
  logPaths(effects, "Set op_swap", items);
}

/// Finds each cell or operator of the layer that is both recomputed and
/// swapped once; of two nested ones, the inner one.
void LayerSettingPlanner::findConflicts(const LayerEffects &effects) {
  // Several patterns may match the same cell or operator.
  llvm::SmallMapVector<llvm::StringRef, const LayerTarget *, 4> swapped;
  llvm::SmallMapVector<llvm::StringRef, const LayerTarget *, 4> recomputed;
  for (const SwapTarget &target : effects.swap)
    swapped[target.path] = &target;
  for (const RecomputeTarget &target : effects.recompute)
    recomputed[target.path] = &target;
  llvm::SetVector<llvm::StringRef> paths;
  for (const auto &[swapPath, swap] : swapped) {
    for (const auto &[recomputePath, recompute] : recomputed) {
      if (swap->contains(recomputePath))
        paths.insert(recomputePath);
      else if (recompute->contains(swapPath))
        paths.insert(swapPath);
    }
  }
  for (llvm::StringRef path : paths)
    conflicts.add(effects, path, "", effects.getRecomputeSetting(path));
}

void LayerSettingPlanner::planLayer(const PlannedLayer &layer) {
  LayerEffects effects;
  const LayerPlace &place = input.stages.getPlace(layer.layer);
  effects.layer = layer.layer;
  effects.stage = place.stage;
  effects.chunk = place.chunk;
  effects.mpCommRecompute = input.recompute.mpCommRecompute;
  effects.commFusion =
      input.stages.getCommFusion(layer.layer, input.gradientAggregationGroup);
  for (const CellTree::Entry &entry : layer.tree->getEntries()) {
    if (!entry.presetRecompute)
      continue;
    effects.presets.push_back(
        {{entry.path, entry.isCell, "the model itself", Location()},
         *entry.presetRecompute,
         /*isPreset=*/true});
  }
  applyRecompute(*layer.tree, effects);
  if (plan.swap) {
    applySwap(*layer.tree, effects);
    findConflicts(effects);
  } else {
    applyExcludes(*layer.tree, effects);
  }
  plan.layers.push_back(std::move(effects));
}

LayerPlan LayerSettingPlanner::run() {
  plan.mpCommRecompute = input.recompute.mpCommRecompute;
  plan.parallelOptimizerCommRecompute =
      input.recompute.parallelOptimizerCommRecompute;
  logStages();
  planRecompute();
  if (input.swap.swap)
    planSwap();
  if (!logs)
    plan.initLines.clear();
  size_t patterns = select.size() + comm.size() + selectExclude.size() +
                    commExclude.size() + opSwap.size();
  if (patterns * layers.size() > mostPatternLayers)
    diagnostics.error({}, "too many settings: " + llvm::Twine(patterns) +
                              " patterns for " + llvm::Twine(layers.size()) +
                              " layers");
  else
    checkSettings();
  if (diagnostics.hasErrors())
    return std::move(plan);
  plan.layers.reserve(layers.size());
  for (const PlannedLayer &layer : layers) {
    if (layer.layer < 0 || layer.layer >= input.stages.getNumLayers()) {
      diagnostics.error({}, "layer " + llvm::Twine(layer.layer) +
                                " is not in the stage map of " +
                                llvm::Twine(input.stages.getNumLayers()) +
                                " layers");
      return std::move(plan);
    }
    planLayer(layer);
  }
  conflicts.report(diagnostics);
  return std::move(plan);
}

LayerPlan planLayers(const LayerPlanInput &input, DiagnosticList &diagnostics) {
  return LayerSettingPlanner(input, diagnostics).run();
}

} // namespace mf
