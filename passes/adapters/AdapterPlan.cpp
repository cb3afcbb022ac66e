//===- AdapterPlan.cpp - Choice of adapted layers and trained parameters --===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/adapters/AdapterPlan.h"
#include "mf/Layers/NameRegex.h"
#include "mf/Support/Diagnostic.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"
#include <map>

namespace mf::passes {

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Returns whether this is a part of the network whose layers may get adapters.
/// A head beside it never does.
static bool isAdaptedPart(llvm::StringRef name) {
  return llvm::is_contained(
      {"backbone", "model", "transformer", "llm_model", "language_model"},
      name);
}

/// Returns the path of a layer from the network on.
static std::string getFullPath(const AdapterRules &rules,
                               const LinearLayer &layer) {
  return rules.network.empty() ? layer.path : rules.network + "." + layer.path;
}

/// Visits the Cells of `path` from the outermost one. The search ends at an
/// excluded Cell, and at a matching Cell that is not a linear layer.
static bool matchesName(llvm::StringRef path, const NameRegex &target,
                        llvm::ArrayRef<NameRegex> exclude) {
  llvm::SmallVector<llvm::StringRef> names;
  path.split(names, '.');
  if (names.size() < 2 || !isAdaptedPart(names.front()))
    return false;
  for (llvm::StringRef name : llvm::ArrayRef(names).drop_front()) {
    if (llvm::any_of(exclude, [&](const NameRegex &regex) {
          return regex.matchStart(name);
        }))
      return false;
    if (target.matchStart(name))
      return name.data() == names.back().data();
  }
  return false;
}

/// Searches the path of the Cell, and that of each Cell around it for what
/// excludes it.
static bool matchesPath(llvm::StringRef path, const NameRegex &target,
                        llvm::ArrayRef<NameRegex> exclude) {
  for (size_t end = path.find('.');; end = path.find('.', end + 1)) {
    const llvm::StringRef cell = path.take_front(end);
    if (llvm::any_of(exclude, [&](const NameRegex &regex) {
          return regex.search(cell);
        }))
      return false;
    if (end == llvm::StringRef::npos)
      return target.search(path);
  }
}

static bool isMatched(const AdapterRules &rules, const LinearLayer &layer,
                      const NameRegex &target,
                      llvm::ArrayRef<NameRegex> exclude) {
  const std::string path = getFullPath(rules, layer);
  return rules.matchesPaths ? matchesPath(path, target, exclude)
                            : matchesName(path, target, exclude);
}

/// Returns the names of linear layers that may get adapters, without
/// duplicates.
static std::set<std::string>
getLinearNames(const AdapterRules &rules,
               const std::vector<LinearLayer> &layers) {
  std::set<std::string> names;
  for (const LinearLayer &layer : layers) {
    const std::string path = getFullPath(rules, layer);
    if (isAdaptedPart(llvm::StringRef(path).split('.').first))
      names.insert(llvm::StringRef(path).rsplit('.').second.str());
  }
  return names;
}

/// Returns what the pattern matches instead of a linear layer's name: a Cell
/// around one, or a path. Empty if neither.
static std::string describeOtherMatch(const AdapterRules &rules,
                                      const NameRegex &target,
                                      const std::vector<LinearLayer> &layers) {
  if (rules.matchesPaths)
    return "";
  for (const LinearLayer &layer : layers) {
    const std::string text = getFullPath(rules, layer);
    const llvm::StringRef path = text;
    if (!isAdaptedPart(path.split('.').first))
      continue;
    llvm::SmallVector<llvm::StringRef> names;
    path.split(names, '.');
    for (llvm::StringRef name : llvm::ArrayRef(names).drop_front().drop_back())
      if (target.matchStart(name))
        return "; it matches the Cell " + quote(name) +
               ", which is no linear layer, and nothing in it is looked at";
    for (llvm::StringRef rest = path; rest.contains('.');
         rest = rest.split('.').second)
      if (target.fullMatch(rest))
        return "; it matches the path " + quote(rest) +
               ", but a pattern sees a Cell's own name alone";
  }
  return "";
}

/// Returns the message that the pattern matches nothing. Each of its
/// alternatives may be a misspelt name.
static std::string describeMismatch(const AdapterRules &rules,
                                    const NameRegex &target,
                                    const std::vector<LinearLayer> &layers) {
  std::set<std::string> names = getLinearNames(rules, layers);
  llvm::SmallVector<llvm::StringRef> known(names.begin(), names.end());
  llvm::SmallVector<llvm::StringRef> alternatives;
  llvm::StringRef(rules.target).split(alternatives, '|');
  std::string message = std::string("no linear layer of the model has a ") +
                        (rules.matchesPaths ? "path" : "name") + " that " +
                        quote(rules.target) + " matches";
  if (!rules.exclude.empty())
    message += " and 'exclude_layers' leaves";
  const std::string other = describeOtherMatch(rules, target, layers);
  message += other;
  std::vector<std::string> near;
  for (llvm::StringRef alternative : alternatives) {
    // The letters of `.*wqq` are the name that the user meant.
    std::string name;
    for (char c : alternative)
      if (llvm::isAlnum(c) || c == '_')
        name.push_back(c);
    llvm::StringRef nearest = findNearestName(name, known);
    if (!nearest.empty() && !llvm::is_contained(near, quote(nearest)))
      near.push_back(quote(nearest));
  }
  if (!near.empty() && other.empty())
    message += "; did you mean " + llvm::join(near, " and ") + "?";
  if (known.empty())
    return message + " (it has none that can get adapters)";
  return message + " (linear layers are " + llvm::join(known, ", ") + ")";
}

namespace {

/// Finds the alternatives of a regular expression and of its groups that match
/// nothing.
class DeadAlternatives {
public:
  explicit DeadAlternatives(llvm::function_ref<bool(const NameRegex &)> matches)
      : matches(matches) {}

  std::vector<std::string> find(llvm::StringRef regex) {
    visit("", regex, "");
    return std::move(dead);
  }

private:
  void visit(const std::string &before, llvm::StringRef text,
             const std::string &behind);

  llvm::function_ref<bool(const NameRegex &)> matches;
  std::vector<std::string> dead;
};

} // namespace

/// Visits the text of a group, or all of the expression. Each alternative is
/// tried alone, between what is around the group.
void DeadAlternatives::visit(const std::string &before, llvm::StringRef text,
                             const std::string &behind) {
  /// The text in a pair of parentheses, by place.
  struct Group {
    size_t begin, end;
  };
  llvm::SmallVector<Group> groups;
  llvm::SmallVector<size_t> open, bars;
  bool isInClass = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\')
      ++at;
    else if (isInClass)
      isInClass = c != ']';
    else if (c == '[')
      isInClass = true;
    else if (c == '|' && open.empty())
      bars.push_back(at);
    else if (c == '(')
      open.push_back(at + (text.substr(at + 1, 2) == "?:" ? 3 : 1));
    else if (c == ')' && !open.empty())
      if (const size_t begin = open.pop_back_val(); open.empty())
        groups.push_back({begin, at});
  }
  bars.push_back(text.size());
  size_t begin = 0;
  for (size_t bar : bars) {
    const llvm::StringRef alternative = text.slice(begin, bar);
    const NameRegex alone(before + alternative.str() + behind);
    if (bars.size() > 1 && alone.isValid() && !matches(alone)) {
      if (!llvm::is_contained(dead, quote(alternative)))
        dead.push_back(quote(alternative));
    } else {
      for (const Group &group : groups)
        if (group.begin >= begin && group.end <= bar)
          visit(before + text.slice(begin, group.begin).str(),
                text.slice(group.begin, group.end),
                text.slice(group.end, bar).str() + behind);
    }
    begin = bar + 1;
  }
}

/// Returns a message about the alternatives of the pattern that match no linear
/// layer. Empty if each one matches a layer.
static std::string
describeDeadAlternatives(const AdapterRules &rules,
                         llvm::ArrayRef<NameRegex> exclude,
                         const std::vector<LinearLayer> &layers) {
  const std::vector<std::string> dead =
      DeadAlternatives([&](const NameRegex &regex) {
        return llvm::any_of(layers, [&](const LinearLayer &layer) {
          return isMatched(rules, layer, regex, exclude);
        });
      }).find(rules.target);
  if (dead.empty())
    return "";
  const std::set<std::string> names = getLinearNames(rules, layers);
  return llvm::join(dead, ", ") + " of 'target_modules' " +
         (dead.size() > 1 ? "match" : "matches") +
         " no linear layer (linear layers are " + llvm::join(names, ", ") + ")";
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Returns whether one of `globs`, in the syntax of Python's fnmatch, matches
/// all of `name`.
static bool matchesGlob(llvm::ArrayRef<llvm::GlobPattern> globs,
                        llvm::StringRef name) {
  return llvm::any_of(
      globs, [&](const llvm::GlobPattern &glob) { return glob.match(name); });
}

static bool compileGlobs(const std::vector<std::string> &texts,
                         std::vector<llvm::GlobPattern> &globs,
                         std::string &error) {
  for (const std::string &text : texts) {
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(text);
    if (!glob) {
      error = quote(text) + " is no glob: " + llvm::toString(glob.takeError());
      return false;
    }
    globs.push_back(std::move(*glob));
  }
  return true;
}

namespace {
/// The freeze lists.
class TrainedNames {
public:
  static std::optional<TrainedNames> create(const AdapterRules &rules,
                                            std::string &error) {
    TrainedNames names;
    if (!compileGlobs(rules.freezeInclude, names.include, error) ||
        !compileGlobs(rules.freezeExclude, names.exclude, error))
      return std::nullopt;
    return names;
  }

  /// Returns whether a parameter is trained. One that both lists match, or
  /// neither, is trained if it was so before.
  bool isTrained(llvm::StringRef name, bool wasTrained) const {
    const bool isIncluded = matchesGlob(include, name);
    return isIncluded == matchesGlob(exclude, name) ? wasTrained : !isIncluded;
  }

private:
  std::vector<llvm::GlobPattern> include, exclude;
};
} // namespace

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

static bool compileRegexes(const AdapterRules &rules,
                           std::vector<NameRegex> &exclude,
                           std::string &error) {
  for (const std::string &text : rules.exclude)
    exclude.emplace_back(text);
  for (auto [regex, text] : llvm::zip_equal(exclude, rules.exclude))
    if (!regex.isValid()) {
      error =
          quote(text) + " is not a regular expression: " + regex.getMessage();
      return false;
    }
  return true;
}

static void addLayer(const AdapterRules &rules, const LinearLayer &layer,
                     bool isAdapted, const TrainedNames &names,
                     AdapterPlan &plan) {
  auto isTrained = [&](const std::string &leaf) {
    return isAdapted &&
           names.isTrained(layer.path + "." + layer.prefix + leaf, true);
  };
  plan.isAdapted.push_back(isAdapted);
  plan.trainsA.push_back(isTrained(rules.nameA));
  plan.trainsB.push_back(isTrained(rules.nameB));
  if (!isAdapted)
    return;
  ++plan.numAdapted;
  for (auto [trains, size] : {std::pair(plan.trainsA.back(), layer.numInputs),
                              {plan.trainsB.back(), layer.numOutputs}})
    (trains ? plan.adapterElements : plan.frozenElements) +=
        rules.rank * size * layer.numExperts;
}

std::optional<AdapterPlan>
planAdapters(const AdapterRules &rules, const std::vector<LinearLayer> &layers,
             const std::vector<WeightToTrain> &parameters, std::string &error) {
  const NameRegex target(rules.target);
  std::vector<NameRegex> exclude;
  if (!target.isValid())
    error = quote(rules.target) +
            " is not a regular expression: " + target.getMessage();
  if (!target.isValid() || !compileRegexes(rules, exclude, error))
    return std::nullopt;
  const std::optional<TrainedNames> names = TrainedNames::create(rules, error);
  if (!names)
    return std::nullopt;

  AdapterPlan plan;
  for (const LinearLayer &layer : layers)
    addLayer(rules, layer, isMatched(rules, layer, target, exclude), *names,
             plan);
  if (plan.numAdapted == 0) {
    error = describeMismatch(rules, target, layers);
    return std::nullopt;
  }
  plan.warning = describeDeadAlternatives(rules, exclude, layers);
  for (const WeightToTrain &parameter : parameters) {
    const bool isTrained = names->isTrained(parameter.name, rules.trainsOthers);
    plan.isTrained.push_back(isTrained);
    (isTrained ? plan.trainedElements : plan.frozenElements) +=
        parameter.numElements;
  }
  if (plan.getTrainedElements() == 0) {
    error = "nothing is trained: 'freeze_include' matches all parameters that "
            "'freeze_exclude' does not; expected 'freeze_exclude' with a "
            "pattern such as '*lora*'";
    return std::nullopt;
  }
  return plan;
}

std::set<std::string>
findAdapterOperators(const std::vector<std::string> &names) {
  std::set<std::string> found;
  for (llvm::StringRef name : names) {
    if (!name.consume_back(".lora_a_matmul"))
      continue;
    for (llvm::StringRef leaf : {"lora_dropout.dropout", "lora_a_matmul",
                                 "lora_b_matmul", "mul", "add"})
      found.insert((name + "." + leaf).str());
  }
  return found;
}

void printAdapters(const AdapterRules &rules,
                   const std::vector<LinearLayer> &layers,
                   const std::vector<WeightToTrain> &parameters,
                   const AdapterPlan &plan, llvm::raw_ostream &os) {
  std::map<std::string, int64_t> counts;
  for (auto [layer, isAdapted] : llvm::zip_equal(layers, plan.isAdapted)) {
    if (!isAdapted)
      continue;
    std::string name = llvm::StringRef(layer.path).rsplit('.').second.str();
    if (!layer.prefix.empty())
      name += "." + llvm::StringRef(layer.prefix).drop_back().str();
    std::string sizes = std::to_string(layer.numInputs) + " to " +
                        std::to_string(layer.numOutputs);
    if (layer.numExperts > 1)
      sizes += " of " + std::to_string(layer.numExperts) + " experts";
    ++counts[name + " [" + sizes + "]"];
  }
  for (const auto &[name, count] : counts)
    os << name << ": " << count << " with adapters of rank " << rules.rank
       << '\n';
  for (auto [parameter, isTrained] :
       llvm::zip_equal(parameters, plan.isTrained))
    if (isTrained)
      os << parameter.name << ": trained too, " << parameter.numElements
         << " elements\n";
  os << "trained elements: " << plan.getTrainedElements() << " of "
     << plan.getTrainedElements() + plan.frozenElements << '\n';
}

} // namespace mf::passes
