//===- AdapterPlan.cpp - Choice of adapted layers and trained parameters --===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/adapters/AdapterPlan.h"
#include "mf/Frontend/Config/Diagnostic.h"
#include "mf/Frontend/Config/NameRegex.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"
#include <map>
#include <set>

namespace mf::passes {

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Returns whether this is a part of the network whose layers may get adapters.
/// The head never does.
static bool isAdaptedPart(llvm::StringRef name) {
  return llvm::is_contained(
      {"backbone", "model", "transformer", "llm_model", "language_model"},
      name);
}

/// Visits the Cells of `path` from the outermost one. The search ends at an
/// excluded Cell, and at a matching Cell that is not a linear layer.
static bool isMatched(llvm::StringRef path, const NameRegex &target,
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

/// Returns the names of linear layers that may get adapters, without
/// duplicates.
static std::set<std::string>
getLinearNames(const std::vector<LinearLayer> &layers) {
  std::set<std::string> names;
  for (const LinearLayer &layer : layers) {
    llvm::StringRef path = layer.path;
    if (isAdaptedPart(path.split('.').first))
      names.insert(path.rsplit('.').second.str());
  }
  return names;
}

/// Returns what the pattern matches instead of a linear layer's name: a Cell
/// around one, or a path. Empty if neither.
static std::string describeOtherMatch(const NameRegex &target,
                                      const std::vector<LinearLayer> &layers) {
  for (const LinearLayer &layer : layers) {
    llvm::StringRef path = layer.path;
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
  std::set<std::string> names = getLinearNames(layers);
  llvm::SmallVector<llvm::StringRef> known(names.begin(), names.end());
  llvm::SmallVector<llvm::StringRef> alternatives;
  llvm::StringRef(rules.target).split(alternatives, '|');
  std::string message = "no linear layer of the model has a name that " +
                        quote(rules.target) + " matches";
  if (!rules.exclude.empty())
    message += " and 'exclude_layers' leaves";
  const std::string other = describeOtherMatch(target, layers);
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

/// Returns whether a parameter of the model stays trained. A parameter that
/// both lists match, or neither, keeps the state that the adapters give it: it
/// is not trained.
static bool isStillTrained(llvm::StringRef name,
                           llvm::ArrayRef<llvm::GlobPattern> include,
                           llvm::ArrayRef<llvm::GlobPattern> exclude) {
  return matchesGlob(exclude, name) && !matchesGlob(include, name);
}

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

std::optional<AdapterPlan>
planAdapters(const AdapterRules &rules, const std::vector<LinearLayer> &layers,
             const std::vector<WeightToTrain> &parameters, std::string &error) {
  const NameRegex target(rules.target);
  std::vector<NameRegex> exclude;
  std::vector<llvm::GlobPattern> freezeInclude, freezeExclude;
  if (!target.isValid())
    error = quote(rules.target) +
            " is not a regular expression: " + target.getMessage();
  if (!target.isValid() || !compileRegexes(rules, exclude, error) ||
      !compileGlobs(rules.freezeInclude, freezeInclude, error) ||
      !compileGlobs(rules.freezeExclude, freezeExclude, error))
    return std::nullopt;

  AdapterPlan plan;
  for (const LinearLayer &layer : layers) {
    const bool isAdapted = isMatched(layer.path, target, exclude);
    plan.isAdapted.push_back(isAdapted);
    if (!isAdapted)
      continue;
    ++plan.numAdapted;
    plan.adapterElements += rules.rank * (layer.numInputs + layer.numOutputs);
  }
  if (plan.numAdapted == 0) {
    error = describeMismatch(rules, target, layers);
    return std::nullopt;
  }
  for (const WeightToTrain &parameter : parameters) {
    const bool isTrained =
        isStillTrained(parameter.name, freezeInclude, freezeExclude);
    plan.isTrained.push_back(isTrained);
    (isTrained ? plan.trainedElements : plan.frozenElements) +=
        parameter.numElements;
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
  for (auto [layer, isAdapted] : llvm::zip_equal(layers, plan.isAdapted))
    if (isAdapted)
      ++counts[(llvm::StringRef(layer.path).rsplit('.').second + " [" +
                llvm::Twine(layer.numInputs) + " to " +
                llvm::Twine(layer.numOutputs) + "]")
                   .str()];
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
