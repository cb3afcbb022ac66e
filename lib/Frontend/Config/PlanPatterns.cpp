//===- PlanPatterns.cpp - Assigns patterns to layers ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanPatterns.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace mf {

/// More than a model has operators; a limit for hostile input.
static constexpr size_t mostPatterns = 1000;

llvm::ArrayRef<llvm::StringRef> getDefaultSelectPatterns(NameFamily family) {
  static constexpr llvm::StringRef classic[] = {
      "feed_forward\\.mul", "feed_forward\\.w1\\.activation\\.silu"};
  static constexpr llvm::StringRef mcore[] = {
      "mlp\\.shared_experts\\.mul",
      "mlp\\.shared_experts\\.activation_func\\.silu", "mlp\\.mul",
      "mlp\\.activation_func\\.silu"};
  if (family == NameFamily::Mcore)
    return mcore;
  return classic;
}

llvm::ArrayRef<llvm::StringRef> getDefaultCommPatterns() {
  static constexpr llvm::StringRef patterns[] = {".*\\.norm"};
  return patterns;
}

llvm::StringRef getDefaultSwapPattern() { return ".*\\.flash_attention"; }

const CellPattern::Result &ActivePattern::matchIn(const CellTree &tree) {
  auto found = results.find(&tree);
  if (found == results.end())
    found = results.try_emplace(&tree, pattern.match(tree)).first;
  return found->second;
}

std::string ActivePattern::describe() const {
  return key.str() + " " + quote(layers.pattern);
}

std::vector<ActivePattern>
resolvePatterns(const LayerSetting &setting, llvm::StringRef key,
                llvm::ArrayRef<llvm::StringRef> defaults,
                LayerNormalizer &normalizer, DiagnosticList &diagnostics) {
  std::vector<ActivePattern> patterns;
  if (setting.kind == LayerSetting::Kind::Selection) {
    const LayerSelection &selection = setting.selection;
    NormalizedLayers layers = normalizer.normalize(selection, key);
    // An empty list names no operators; it is no list of counts either.
    if (selection.kind == LayerSelection::Kind::Counts &&
        selection.counts.empty())
      return patterns;
    for (llvm::StringRef pattern : defaults)
      patterns.emplace_back(
          key, PatternLayers{pattern.str(), layers, setting.location, true});
    if (defaults.empty() && setting.isTruthy())
      diagnostics.warning(setting.location,
                          quote(key) +
                              " without operator names excludes nothing; give "
                              "a list of names, or a map from name to layers");
    return patterns;
  }
  if (setting.patterns.size() > mostPatterns) {
    diagnostics.error(setting.location, "more than " +
                                            llvm::Twine(mostPatterns) +
                                            " patterns in " + quote(key));
    return patterns;
  }
  // A list of names covers all layers; with swap on it is not accepted.
  std::optional<NormalizedLayers> all;
  if (setting.kind == LayerSetting::Kind::Patterns)
    all = normalizer.normalize(setting.selection, key);
  llvm::StringSet<> seen;
  for (const LayerSetting::Pattern &pattern : setting.patterns) {
    if (!seen.insert(pattern.text).second)
      continue;
    std::string what = key.str() + " " + quote(pattern.text);
    patterns.emplace_back(
        key,
        PatternLayers{pattern.text,
                      all ? *all : normalizer.normalize(pattern.layers, what),
                      pattern.location, false,
                      pattern.layers.kind == LayerSelection::Kind::Numbers});
  }
  return patterns;
}

void dropExcluded(std::vector<ActivePattern> &selected,
                  const std::vector<ActivePattern> &excluded,
                  std::vector<std::string> &logLines) {
  for (const ActivePattern &exclude : excluded) {
    auto found = llvm::find_if(selected, [&](const ActivePattern &select) {
      return exclude.getPattern().conflictsWith(select.getPattern());
    });
    if (found == selected.end())
      continue;
    logLines.push_back(("The pattern " + escapeControls(found->layers.pattern) +
                        " in " + found->getKey() + " conflicts with " +
                        exclude.getKey() + " and will be removed.")
                           .str());
    selected.erase(found);
  }
}

namespace {
/// The trees of the layers that a pattern covers.
using TreeSet = llvm::SmallSetVector<const CellTree *, 4>;
} // namespace

static TreeSet getCoveredTrees(const NormalizedLayers &layers,
                               const StageMap &stages,
                               llvm::ArrayRef<PlannedLayer> planned) {
  TreeSet trees;
  for (const PlannedLayer &layer : planned)
    if (!trees.contains(layer.tree) && layers.covers(stages, layer.layer))
      trees.insert(layer.tree);
  return trees;
}

static void warnAboutNoMatch(const ActivePattern &pattern, const TreeSet &trees,
                             DiagnosticList &diagnostics) {
  if (pattern.layers.meansWholePaths) {
    diagnostics.warning(
        pattern.layers.location,
        "select_module pattern " + quote(pattern.layers.pattern) +
            " did not match any module in the model; it must match the whole "
            "path of a module below its layer" +
            suggestPatterns(pattern.layers.pattern, trees.getArrayRef()));
    return;
  }
  Diagnostic &warning = diagnostics.warning(
      pattern.layers.location,
      pattern.describe() + " matches nothing in the layers it is for" +
          suggestPatterns(pattern.layers.pattern, trees.getArrayRef()));
  llvm::StringRef text = pattern.layers.pattern;
  if (text.contains('.') && !text.contains("\\."))
    warning.attachNote("levels are separated by '\\.', and a '.' alone stands "
                       "for any character");
}

void checkPatterns(std::vector<ActivePattern> &patterns, const StageMap &stages,
                   llvm::ArrayRef<PlannedLayer> planned, bool allowWildcard,
                   DiagnosticList &diagnostics) {
  size_t idleDefaults = 0;
  for (ActivePattern &pattern : patterns) {
    TreeSet trees = getCoveredTrees(pattern.layers.layers, stages, planned);
    std::string error = pattern.getPattern().getError();
    if (!error.empty()) {
      std::string message = "invalid " + pattern.describe() + ": " + error;
      if (trees.empty())
        diagnostics.warning(pattern.layers.location, message);
      else
        diagnostics.error(pattern.layers.location, message);
      continue;
    }
    bool matches = trees.empty();
    for (const CellTree *tree : trees) {
      const CellPattern::Result &result = pattern.matchIn(*tree);
      matches |= !result.matches.empty();
      if (!result.matchesPythonNames || allowWildcard ||
          pattern.layers.meansWholePaths)
        continue;
      diagnostics.error(pattern.layers.location,
                        pattern.describe() +
                            " ends in a wildcard that matches every "
                            "attribute, even those that are no operators; "
                            "name the operators");
      matches = true;
      break;
    }
    if (!matches && pattern.layers.isDefault)
      ++idleDefaults;
    else if (!matches)
      warnAboutNoMatch(pattern, trees, diagnostics);
  }
  if (idleDefaults == 0 || idleDefaults != patterns.size())
    return;
  diagnostics.warning(patterns[0].layers.location,
                      patterns[0].getKey() +
                          " without operator names stands for " +
                          quote(patterns[0].layers.pattern) +
                          " and the like, which match nothing in this model; "
                          "name the operators");
}

std::vector<PlannedLayer> shareTrees(llvm::ArrayRef<PlannedLayer> planned) {
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

} // namespace mf
