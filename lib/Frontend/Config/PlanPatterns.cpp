//===- PlanPatterns.cpp - Assigns patterns to layers ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanPatterns.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>

namespace mf {

CellPattern::CellPattern(llvm::StringRef text) : text(text.str()) {
  llvm::SmallVector<llvm::StringRef> pieces;
  text.split(pieces, "\\.");
  for (llvm::StringRef piece : pieces) {
    parts.push_back(piece.str());
    components.emplace_back(piece);
  }
}

std::string CellPattern::getError() const {
  for (size_t i = 0; i < components.size(); ++i)
    if (!components[i].isValid())
      return quote(parts[i]) +
             " is not a regular expression: " + components[i].getMessage();
  return {};
}

CellPattern CellPattern::ofWholePaths(llvm::StringRef text) {
  CellPattern pattern;
  pattern.text = text.str();
  pattern.parts = {pattern.text};
  pattern.components.emplace_back(text);
  pattern.isWholePath = true;
  return pattern;
}

CellPattern::Result CellPattern::matchWholePaths(const CellTree &tree) const {
  std::vector<size_t> found;
  for (auto [number, entry] : llvm::enumerate(tree.getEntries()))
    if (number > 0 && entry.isCell && components.front().fullMatch(entry.path))
      found.push_back(number);
  auto getKey = [&](size_t number) {
    llvm::StringRef path = tree.get(number).path;
    return std::pair(path.count('.'), path);
  };
  llvm::sort(found, [&](size_t left, size_t right) {
    return getKey(left) < getKey(right);
  });
  Result result;
  for (size_t number : found) {
    llvm::StringRef path = tree.get(number).path;
    const bool isInner = llvm::any_of(result.matches, [&](const Match &outer) {
      llvm::StringRef rest = path;
      return rest.consume_front(tree.get(outer.entry).path) &&
             rest.starts_with(".");
    });
    if (!isInner)
      result.matches.push_back({number, /*isCell=*/true});
  }
  return result;
}

CellPattern::Result CellPattern::match(const CellTree &tree) const {
  if (isWholePath)
    return matchWholePaths(tree);
  Result result;
  match(tree, 0, 0, result);
  return result;
}

void CellPattern::match(const CellTree &tree, size_t cell, size_t component,
                        Result &result) const {
  const NameRegex &regex = components[component];
  const CellTree::Entry &parent = tree.get(cell);
  if (component + 1 < components.size()) {
    for (size_t child : parent.children)
      if (tree.get(child).isCell && regex.fullMatch(tree.get(child).name))
        match(tree, child, component + 1, result);
    return;
  }
  std::vector<Match> operators;
  std::vector<Match> cells;
  for (size_t child : parent.children) {
    const CellTree::Entry &entry = tree.get(child);
    if (regex.fullMatch(entry.name))
      (entry.isCell ? cells : operators).push_back({child, entry.isCell});
  }
  llvm::sort(operators, [&](const Match &left, const Match &right) {
    return tree.get(left.entry).name < tree.get(right.entry).name;
  });
  llvm::append_range(result.matches, operators);
  llvm::append_range(result.matches, cells);
  result.matchesPythonNames |= regex.fullMatch("__class__");
}

bool CellPattern::conflictsWith(const CellPattern &other) const {
  if (parts.size() != other.parts.size())
    return false;
  for (size_t i = 0; i < parts.size(); ++i)
    if (!components[i].fullMatch(other.parts[i]) &&
        !other.components[i].fullMatch(parts[i]))
      return false;
  return true;
}

static std::string toPattern(llvm::StringRef path) {
  std::string pattern;
  for (char c : path)
    pattern += c == '.' ? std::string("\\.") : std::string(1, c);
  return pattern;
}

/// Returns the distance of a name from the user's text, in percent of the
/// length of the longer one. A name with the same ending is nearer.
static unsigned getDistance(llvm::StringRef wanted, llvm::StringRef name) {
  auto longer = static_cast<unsigned>(std::max(wanted.size(), name.size()));
  unsigned distance = wanted.edit_distance(name) * 100 / std::max(longer, 1U);
  bool sameEnd = wanted.rsplit('.').second == name.rsplit('.').second &&
                 wanted.contains('.') && name.contains('.');
  return sameEnd ? distance / 2 : distance;
}

std::string suggestPatterns(llvm::StringRef pattern,
                            llvm::ArrayRef<const CellTree *> trees) {
  if (pattern.size() > 128)
    return {};
  std::string wanted;
  for (char c : pattern)
    if (c != '\\')
      wanted += c;
  std::vector<std::pair<unsigned, std::string>> candidates;
  for (const CellTree *tree : trees)
    for (const CellTree::Entry &entry : tree->getEntries().drop_front())
      if (unsigned distance = getDistance(wanted, entry.path); distance <= 40)
        candidates.emplace_back(distance, entry.path);
  llvm::sort(candidates);
  candidates.erase(llvm::unique(candidates), candidates.end());
  std::string text;
  for (const auto &[distance, path] : llvm::ArrayRef(candidates).take_front(3))
    text += (text.empty() ? "; nearest: " : ", ") + quote(toPattern(path));
  return text;
}

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
