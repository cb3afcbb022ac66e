//===- LayerPlan.cpp - What the settings of layers name -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Layers/LayerPlan.h"
#include "mf/Layers/CellPattern.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <tuple>

namespace mf {

namespace {

/// A pattern of one key, the names in the layers that it is for, and its
/// matches in them.
struct ActivePattern {
  explicit ActivePattern(const LayerRequest &request)
      : request(request),
        pattern(request.meansWholePaths
                    ? CellPattern::ofWholePaths(request.pattern)
                    : CellPattern(request.pattern)) {}

  const CellPattern::Result &matchIn(const CellTree &tree) {
    auto found = results.find(&tree);
    if (found == results.end())
      found = results.try_emplace(&tree, pattern.match(tree)).first;
    return found->second;
  }

  LayerRequest request;
  CellPattern pattern;
  llvm::SmallSetVector<const CellTree *, 4> trees;
  llvm::DenseMap<const CellTree *, CellPattern::Result> results;
};

} // namespace

/// Returns `select_recompute 'feed_forward\.mul'`, for example.
static std::string describe(const LayerRequest &request) {
  return (getName(request.key) + " " + quote(request.pattern)).str();
}

static void warnAboutNoMatch(const ActivePattern &pattern,
                             DiagnosticList &diagnostics) {
  if (pattern.request.meansWholePaths) {
    diagnostics.warning(pattern.request.location,
                        "select_module pattern " +
                            quote(pattern.request.pattern) +
                            " did not match any module in the model; it must "
                            "match the whole path of a module below its layer" +
                            suggestPatterns(pattern.request.pattern,
                                            pattern.trees.getArrayRef()));
    return;
  }
  Diagnostic &warning = diagnostics.warning(
      pattern.request.location,
      describe(pattern.request) + " matches nothing in the layers it is for" +
          suggestPatterns(pattern.request.pattern,
                          pattern.trees.getArrayRef()));
  llvm::StringRef text = pattern.request.pattern;
  if (text.contains('.') && !text.contains("\\."))
    warning.attachNote("levels are separated by '\\.', and a '.' alone stands "
                       "for any character");
}

/// Returns the parts of a cell that it does not call itself.
static std::vector<std::string> getApart(const CellTree &tree, size_t cell) {
  std::vector<std::string> paths;
  for (size_t child : tree.get(cell).children)
    if (tree.get(child).isCalledApart)
      paths.push_back(tree.get(child).path);
  return paths;
}

/// Drops a cell inside another recomputed cell if patterns match whole paths:
/// it is recomputed with the outer one.
static void dropInnerCells(LayerEffects &effects,
                           std::vector<std::string> &paths) {
  auto isInner = [](llvm::StringRef path, llvm::StringRef outer) {
    return path.consume_front(outer) && path.starts_with(".");
  };
  llvm::sort(paths);
  paths.erase(llvm::unique(paths), paths.end());
  const std::vector<std::string> all = paths;
  auto isCovered = [&](llvm::StringRef path) {
    return llvm::any_of(
        all, [&](llvm::StringRef outer) { return isInner(path, outer); });
  };
  llvm::erase_if(paths, isCovered);
  llvm::erase_if(effects.recompute, [&](const RecomputeTarget &target) {
    return isCovered(target.path);
  });
}

namespace {

class LayerSettingPlanner {
public:
  LayerSettingPlanner(llvm::ArrayRef<PlannedLayer> layers, bool logs,
                      DiagnosticList &diagnostics)
      : layers(shareTrees(layers)), logs(logs), diagnostics(diagnostics) {}

  LayerPlan run() {
    LayerPlan plan;
    checkPatterns();
    if (diagnostics.hasErrors())
      return plan;
    plan.layers.reserve(layers.size());
    for (const PlannedLayer &layer : layers)
      plan.layers.push_back(planLayer(layer));
    conflicts.report(diagnostics);
    return plan;
  }

private:
  /// Returns `planned` with one shared tree for all layers with the same names,
  /// so that patterns are matched once for them.
  static std::vector<PlannedLayer>
  shareTrees(llvm::ArrayRef<PlannedLayer> planned) {
    std::vector<PlannedLayer> shared(planned.begin(), planned.end());
    llvm::DenseMap<size_t, llvm::SmallVector<const CellTree *, 1>> byHash;
    for (PlannedLayer &layer : shared) {
      // Never a key that the map keeps for itself.
      auto &trees = byHash[layer.tree->getHash() >> 1];
      auto found = llvm::find_if(
          trees, [&](const CellTree *tree) { return *tree == *layer.tree; });
      if (found == trees.end())
        trees.push_back(layer.tree);
      else
        layer.tree = *found;
    }
    return shared;
  }

  ActivePattern &getPattern(const LayerRequest &request) {
    auto [found, isNew] =
        indices.try_emplace({request.key, request.pattern}, patterns.size());
    if (isNew)
      patterns.emplace_back(request);
    return patterns[found->second];
  }

  /// Reports patterns that have no effect, or that match Python's own
  /// attributes (`__class__`), in the order of keys and of lines in the file.
  void checkPatterns() {
    for (const PlannedLayer &layer : layers)
      for (const LayerRequest &request : layer.settings->requests)
        if (namesOperators(request.key))
          getPattern(request).trees.insert(layer.tree);
    auto ordered = llvm::to_vector(llvm::make_pointer_range(patterns));
    llvm::sort(ordered, [](ActivePattern *left, ActivePattern *right) {
      auto getPlace = [](ActivePattern *pattern) {
        const LayerRequest &request = pattern->request;
        return std::tuple(request.key, request.location.line,
                          request.location.column, pattern);
      };
      return getPlace(left) < getPlace(right);
    });
    for (size_t first = 0, end = 0; first < ordered.size(); first = end) {
      const LayerRequest &request = ordered[first]->request;
      size_t idleDefaults = 0;
      for (; end < ordered.size() && ordered[end]->request.key == request.key;
           ++end)
        checkPattern(*ordered[end], idleDefaults);
      if (idleDefaults > 0 && idleDefaults == end - first)
        diagnostics.warning(request.location,
                            getName(request.key) +
                                " without operator names stands for " +
                                quote(request.pattern) +
                                " and the like, which match nothing in this "
                                "model; name the operators");
    }
  }

  void checkPattern(ActivePattern &pattern, size_t &idleDefaults) {
    const LayerRequest &request = pattern.request;
    bool matches = false;
    for (const CellTree *tree : pattern.trees) {
      const CellPattern::Result &result = pattern.matchIn(*tree);
      matches |= !result.matches.empty();
      if (!result.matchesPythonNames || isSwap(request.key) ||
          request.meansWholePaths)
        continue;
      diagnostics.error(
          request.location,
          describe(request) +
              " ends in a wildcard that matches every attribute, even those "
              "that are no operators; name the operators");
      return;
    }
    if (!matches && request.isUnnamed)
      ++idleDefaults;
    else if (!matches)
      warnAboutNoMatch(pattern, diagnostics);
  }

  LayerEffects planLayer(const PlannedLayer &layer) {
    const LayerSettings &settings = *layer.settings;
    LayerEffects effects;
    effects.layer = layer.number;
    effects.stage = layer.stage;
    effects.chunk = layer.chunk;
    effects.mpCommRecompute = settings.mpCommRecompute;
    effects.commFusion = settings.commFusion;
    for (const CellTree::Entry &entry : layer.tree->getEntries()) {
      if (!entry.presetRecompute)
        continue;
      effects.presets.push_back(
          {{entry.path, entry.isCell, "the model itself", Location()},
           *entry.presetRecompute,
           /*isPreset=*/true});
    }
    if (const LayerRequest *whole = settings.find(LayerKey::Recompute)) {
      effects.fullRecompute = true;
      effects.sliceActivation = settings.sliceActivation;
      effects.recompute.push_back(
          {{"", /*isCell=*/true,
            ("recompute_config." + getName(whole->key)).str(),
            whole->location}});
      // With swap enabled and a recompute setting of True, MindSpore
      // Transformers logs nothing.
      if (logs && !(settings.isSwapOn && whole->isUnnamed))
        effects.logLines.push_back("Set full recompute at layer " +
                                   std::to_string(settings.layer));
    } else {
      const std::string on = settings.isSwapOn ? "" : " on";
      apply(layer, LayerKey::SelectRecompute, "Set select recompute" + on,
            effects);
      apply(layer, LayerKey::SelectCommRecompute,
            "Set select comm recompute" + on, effects);
    }
    apply(layer, LayerKey::SelectRecomputeExclude,
          "Set select recompute exclude", effects);
    apply(layer, LayerKey::SelectCommRecomputeExclude,
          "Set select comm recompute exclude", effects);
    applySwap(layer, effects);
    if (!effects.swap.empty())
      findConflicts(effects);
    return effects;
  }

  /// Applies the patterns of a key, and logs the affected paths.
  void apply(const PlannedLayer &layer, LayerKey key, llvm::StringRef what,
             LayerEffects &effects) {
    const bool isComm = key == LayerKey::SelectCommRecompute ||
                        key == LayerKey::SelectCommRecomputeExclude;
    const bool isEnabled = key == LayerKey::SelectRecompute ||
                           key == LayerKey::SelectCommRecompute;
    bool meansWholePaths = false;
    std::vector<std::string> paths;
    for (const LayerRequest &request : layer.settings->requests) {
      if (request.key != key)
        continue;
      meansWholePaths |= request.meansWholePaths;
      for (const CellPattern::Match &match :
           getPattern(request).matchIn(*layer.tree).matches) {
        const std::string &path = layer.tree->get(match.entry).path;
        if (match.isCell && key != LayerKey::SelectRecompute) {
          effects.logLines.push_back(
              std::string(
                  key == LayerKey::SelectCommRecompute
                      ? "For communication recompute, "
                      : "For select recompute/comm_recompute exclude, ") +
              std::string(path.find('.') == std::string::npos ? "." : "") +
              path +
              " is expected to be operation but got cell, this configuration "
              "will not be effective.");
          continue;
        }
        (isComm ? effects.commRecompute : effects.recompute)
            .push_back({{path, match.isCell, describe(request),
                         request.location, getApart(*layer.tree, match.entry)},
                        isEnabled});
        paths.push_back(path);
      }
    }
    if (key == LayerKey::SelectRecompute && meansWholePaths)
      dropInnerCells(effects, paths);
    log(layer, what, paths, effects);
  }

  void applySwap(const PlannedLayer &layer, LayerEffects &effects) {
    const LayerSettings &settings = *layer.settings;
    if (const LayerRequest *whole = settings.find(LayerKey::LayerSwap)) {
      effects.swap.push_back(
          {{"", /*isCell=*/true, getName(whole->key).str(), whole->location},
           whole->prefetch,
           whole->countsLayers});
      if (logs)
        effects.logLines.push_back(
            "Set layer swap at layer " + std::to_string(settings.layer) +
            " and value is: " + std::to_string(whole->prefetch));
    }
    std::vector<std::string> items;
    for (const LayerRequest &request : settings.requests) {
      if (request.key != LayerKey::OpSwap)
        continue;
      for (const CellPattern::Match &match :
           getPattern(request).matchIn(*layer.tree).matches) {
        const std::string &path = layer.tree->get(match.entry).path;
        const bool isOneLevel = path.find('.') == std::string::npos;
        items.push_back((isOneLevel ? "." : "") + path +
                        ", value=" + std::to_string(request.prefetch));
        effects.swap.push_back(
            {{path, match.isCell, describe(request), request.location,
              getApart(*layer.tree, match.entry)},
             request.prefetch,
             request.countsLayers});
      }
    }
    log(layer, "Set op_swap", items, effects);
  }

  /// Finds each cell or operator of the layer that is both recomputed and
  /// swapped once; of two nested ones, the inner one.
  void findConflicts(const LayerEffects &effects) {
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

  void log(const PlannedLayer &layer, llvm::StringRef what,
           llvm::ArrayRef<std::string> paths, LayerEffects &effects) const {
    if (logs && !paths.empty())
      effects.logLines.push_back((what + " at layer " +
                                  llvm::Twine(layer.settings->layer) + ": " +
                                  llvm::join(paths, ", "))
                                     .str());
  }

  std::vector<PlannedLayer> layers;
  bool logs;
  DiagnosticList &diagnostics;
  SwapConflicts conflicts;
  std::vector<ActivePattern> patterns;
  /// Their indices by key and text.
  std::map<std::pair<LayerKey, std::string>, size_t> indices;
};

} // namespace

LayerPlan planLayers(llvm::ArrayRef<PlannedLayer> layers, bool logs,
                     DiagnosticList &diagnostics) {
  return LayerSettingPlanner(layers, logs, diagnostics).run();
}

void LayerPlan::printLog(llvm::raw_ostream &stream) const {
  for (const LayerEffects &layer : layers)
    for (const std::string &line : layer.logLines)
      stream << "INFO - " << line << '\n';
}

namespace {
/// Equal layers next to each other on one stage.
struct PrintedRow {
  std::string layers;
  std::string stage;
  std::string chunk;
  std::string effects;
};
} // namespace

static std::vector<PrintedRow> makeRows(llvm::ArrayRef<LayerEffects> layers) {
  std::vector<PrintedRow> rows;
  for (size_t first = 0; first < layers.size();) {
    const LayerEffects &layer = layers[first];
    std::string effects = layer.describe();
    size_t end = first + 1;
    while (end < layers.size() && layers[end].stage == layer.stage &&
           layers[end].chunk == layer.chunk &&
           layers[end].layer == layers[end - 1].layer + 1 &&
           layers[end].describe() == effects)
      ++end;
    std::string range = std::to_string(layer.layer);
    if (end > first + 1)
      range += "-" + std::to_string(layers[end - 1].layer);
    rows.push_back({range, std::to_string(layer.stage),
                    std::to_string(layer.chunk), effects});
    first = end;
  }
  return rows;
}

void LayerPlan::printTable(llvm::raw_ostream &stream) const {
  std::vector<PrintedRow> rows = makeRows(layers);
  rows.insert(rows.begin(), {"layers", "stage", "chunk", "gets"});
  size_t width = 0;
  for (const PrintedRow &row : rows)
    width = std::max(width, row.layers.size());
  for (const PrintedRow &row : rows) {
    stream << row.layers;
    stream.indent(static_cast<unsigned>(width - row.layers.size() + 2));
    stream << row.stage;
    stream.indent(
        static_cast<unsigned>(7 - std::min<size_t>(row.stage.size(), 6)));
    stream << row.chunk;
    stream.indent(
        static_cast<unsigned>(7 - std::min<size_t>(row.chunk.size(), 6)));
    stream << row.effects << '\n';
  }
}

/// llvm::json requires valid UTF-8, but names come from the user.
static std::string makeUtf8(llvm::StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

static llvm::json::Value toJson(const LayerEffects &layer) {
  llvm::json::Object recompute;
  llvm::json::Object comm;
  llvm::json::Array swap;
  llvm::json::Array log;
  for (const RecomputeTarget &target : layer.recompute)
    if (!target.path.empty())
      recompute[makeUtf8(target.path)] = target.enabled;
  for (const RecomputeTarget &target : layer.commRecompute)
    comm[makeUtf8(target.path)] = target.enabled;
  for (const SwapTarget &target : layer.swap)
    swap.push_back(llvm::json::Object{{"path", makeUtf8(target.path)},
                                      {"cell", target.isCell},
                                      {"prefetch", target.prefetch}});
  for (const std::string &line : layer.logLines)
    log.push_back(makeUtf8(line));
  return llvm::json::Object{{"layer", layer.layer},
                            {"stage", layer.stage},
                            {"chunk", layer.chunk},
                            {"comm_fusion", layer.commFusion},
                            {"full_recompute", layer.fullRecompute},
                            {"slice_activation", layer.sliceActivation},
                            {"recompute", std::move(recompute)},
                            {"comm_recompute", std::move(comm)},
                            {"swap", std::move(swap)},
                            {"log", std::move(log)}};
}

llvm::json::Array LayerPlan::toJson() const {
  llvm::json::Array all;
  for (const LayerEffects &layer : layers)
    all.push_back(mf::toJson(layer));
  return all;
}

} // namespace mf
