//===- TreeSearch.cpp - Branch and bound over sets of plans ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TreeSearch.h"
#include "DepthSearch.h"
#include "LocalSearch.h"
#include "PathMixture.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace mf::solver {

namespace {

/// Returns a feature of an option. Features are the layers of the stage, those
/// of its chunks, those of its chunks by kind, its durations, and the index of
/// the option.
double getFeature(const StageOptions &options, int32_t option, size_t feature) {
  const OptionComposition &composition =
      options.compositions[options.compositionOf[option]];
  if (feature == 0)
    return static_cast<double>(composition.getNumLayers());
  --feature;
  size_t chunks = composition.layers.size();
  if (feature < chunks)
    return static_cast<double>(
        std::accumulate(composition.layers[feature].begin(),
                        composition.layers[feature].end(), int64_t(0)));
  feature -= chunks;
  size_t kinds = composition.totals.size();
  if (feature < chunks * kinds)
    return static_cast<double>(
        composition.layers[feature / kinds][feature % kinds]);
  feature -= chunks * kinds;
  if (feature < options.numDurations)
    return options.getDurations(option)[feature];
  return option;
}

/// A decision that divides the options of a stage into two halves, by a number
/// that each option has.
struct Decision {
  size_t stage = 0;
  /// The number of the feature, as for getFeature.
  size_t feature = 0;
  double threshold = 0;
  bool isAtMost = true;

  bool allows(const StageOptions &options, int32_t option) const {
    return (getFeature(options, option, feature) <= threshold) == isAtMost;
  }
};

/// The gains of bounds after decisions of each sort.
class DecisionHistory {
public:
  /// Starts a history for chunks with this mean number of layers.
  explicit DecisionHistory(double meanLayers) : meanLayers(meanLayers) {}

  /// Adds a gain, as a fraction of the desired bound.
  void add(const Decision &decision, bool isLayers, double gain) {
    Gains &known = gains[getSort(decision, isLayers)];
    known.sum += gain;
    ++known.count;
  }

  /// Returns the mean gain. Without data, chunks with more layers than most are
  /// expected to gain most.
  double getGain(const Decision &decision, bool isLayers) const {
    constexpr double hopeOfMany = 0.03, hopeOfOthers = 0.002, least = 1e-4;
    auto known = gains.find(getSort(decision, isLayers));
    if (known == gains.end()) {
      bool isMany = isLayers && decision.feature > 0 && !decision.isAtMost &&
                    decision.threshold >= meanLayers;
      return isMany ? hopeOfMany : hopeOfOthers;
    }
    return least + known->second.sum / static_cast<double>(known->second.count);
  }

private:
  struct Gains {
    double sum = 0;
    int64_t count = 0;
  };
  /// Stages are similar, so decisions are distinguished by feature, threshold
  /// and half only.
  using Sort = std::tuple<size_t, int64_t, bool>;
  static Sort getSort(const Decision &decision, bool isLayers) {
    return {decision.feature,
            isLayers ? static_cast<int64_t>(decision.threshold) : -1,
            decision.isAtMost};
  }
  double meanLayers;
  std::map<Sort, Gains> gains;
};

size_t getNumLayerFeatures(const StageOptions &options) {
  const OptionComposition &first = options.compositions.front();
  return 1 + first.layers.size() + first.layers.size() * first.totals.size();
}

/// Returns whether a feature is a number of layers.
bool isLayerFeature(const StageOptions &options, size_t feature) {
  return feature < getNumLayerFeatures(options);
}

size_t getNumFeatures(const StageOptions &options) {
  return getNumLayerFeatures(options) + options.numDurations + 1;
}

/// A stage's options in a mixture of plans, with their shares.
struct StageMixture {
  std::vector<std::pair<int32_t, double>> shares;

  StageMixture(const MixtureResult &game, size_t stage) {
    std::map<int32_t, double> sums;
    double total = 0;
    for (const PlanSample &sample : game.samples) {
      sums[sample.options[stage]] += sample.share;
      total += sample.share;
    }
    for (auto [option, share] : sums)
      shares.emplace_back(option, share / total);
  }
};

/// Returns the distance between both halves, multiplied by the weight of the
/// smaller one.
double getDistance(const StageOptions &options, const StageMixture &mixture,
                   const MixtureResult &game, const Decision &decision) {
  std::vector<double> low(options.numDurations, 0), high = low;
  double lowShare = 0;
  for (auto [option, share] : mixture.shares) {
    bool isLow = decision.allows(options, option);
    lowShare += isLow ? share : 0;
    for (auto [number, duration] :
         llvm::enumerate(options.getDurations(option)))
      (isLow ? low : high)[number] += share * duration;
  }
  double highShare = 1 - lowShare;
  constexpr double least = 1e-6;
  if (lowShare < least || highShare < least)
    return 0;
  double distance = 0;
  for (size_t number = 0; number < low.size(); ++number)
    distance += game.cut.counts[options.durationNumbers[number]] *
                std::abs(low[number] / lowShare - high[number] / highShare);
  return distance * std::min(lowShare, highShare);
}

/// Chooses a decision if the mixture defines none: a stage with several
/// options, split by the first feature in which they differ.
std::optional<Decision> chooseAny(const OptionChain &chain) {
  for (auto [index, options] : llvm::enumerate(chain.getStages())) {
    llvm::ArrayRef<int32_t> active = chain.getOptions(index);
    if (active.size() < 2)
      continue;
    for (size_t feature = 0; feature < getNumFeatures(options); ++feature) {
      double least = getFeature(options, active.front(), feature), most = least;
      for (int32_t option : active) {
        least = std::min(least, getFeature(options, option, feature));
        most = std::max(most, getFeature(options, option, feature));
      }
      if (least < most)
        return Decision{index, feature, std::floor((least + most) / 2)};
    }
  }
  return std::nullopt;
}

/// Returns the thresholds that may split the mixture: all numbers of layers, or
/// the mean.
std::vector<double> getThresholds(const StageOptions &options,
                                  const StageMixture &mixture, size_t feature) {
  double mean = 0, least = std::numeric_limits<double>::infinity(), most = 0;
  for (auto [option, share] : mixture.shares) {
    double value = getFeature(options, option, feature);
    mean += share * value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (!isLayerFeature(options, feature))
    return {std::floor(mean)};
  std::vector<double> thresholds;
  for (auto layers = static_cast<int64_t>(least);
       layers < static_cast<int64_t>(most); ++layers)
    thresholds.push_back(static_cast<double>(layers));
  return thresholds;
}

/// Returns the decision in which the plans of a mixture differ most, measured
/// along its cut, and with which bounds have risen most. Returns nothing if
/// each stage has one option.
std::optional<Decision> chooseDecision(const OptionChain &chain,
                                       const MixtureResult &game,
                                       const DecisionHistory &history) {
  std::optional<Decision> best;
  double bestScore = 0;
  for (auto [index, options] : llvm::enumerate(chain.getStages())) {
    StageMixture mixture(game, index);
    if (mixture.shares.size() < 2)
      continue;
    for (size_t feature = 0; feature + 1 < getNumFeatures(options); ++feature) {
      bool isLayers = isLayerFeature(options, feature);
      // With a single kind of layers, the numbers of this kind equal those of
      // the chunk, which come first.
      size_t chunks = options.compositions.front().layers.size();
      if (isLayers && feature > chunks &&
          options.compositions.front().totals.size() == 1)
        continue;
      for (double threshold : getThresholds(options, mixture, feature)) {
        Decision low{index, feature, threshold, true}, high = low;
        high.isAtMost = false;
        double score = getDistance(options, mixture, game, low) *
                       history.getGain(low, isLayers) *
                       history.getGain(high, isLayers);
        if (score <= bestScore)
          continue;
        bestScore = score;
        best = low;
      }
    }
  }
  return best ? best : chooseAny(chain);
}

/// Divides the plans of a chain again and again, always the set with the lowest
/// bound, until no set can have a better plan than the incumbent.
class TreeSearch {
public:
  TreeSearch(OptionChain root, StepGraph &graph, const TickProblem &problem,
             Incumbent &incumbent)
      : root(std::move(root)), graph(graph), problem(problem),
        incumbent(incumbent),
        history(static_cast<double>(problem.get().getNumLayers()) /
                static_cast<double>(problem.getNumChunks())) {}

  TreeResult run() {
    if (!root.isEmpty())
      search();
    return {open.empty() ? incumbent.getLimit() : open.begin()->bound, numNodes,
            optionsLeft};
  }

  void runRoot() {
    isSketch = true;
    if (!root.isEmpty())
      expand({});
  }

private:
  void search() {
    open.insert(Node());
    while (!open.empty()) {
      double bound = open.begin()->bound;
      if (bound >= incumbent.getLimit() || incumbent.isNear(bound) ||
          incumbent.isOver())
        break;
      incumbent.report(bound);
      Node node = std::move(open.extract(open.begin()).value());
      Node again;
      again.bound = node.bound;
      again.number = node.number;
      again.decisions = node.decisions;
      expand(std::move(node));
      // A set whose search was interrupted counts as not searched.
      if (incumbent.isOver())
        open.insert(std::move(again));
    }
  }

  /// A set of plans.
  struct Node {
    double bound = 0;
    int64_t number = 0;
    std::vector<Decision> decisions;
    /// Samples of the mixture of the set from which this one was divided.
    std::vector<PlanSample> samples;
    PathCut cut;

    bool isRoot() const { return decisions.empty(); }
    bool operator<(const Node &other) const {
      return bound != other.bound ? bound < other.bound : number < other.number;
    }
  };
  OptionChain makeChain(const Node &node) const {
    OptionChain chain = root;
    if (node.decisions.empty())
      return chain;
    for (const Decision &decision : node.decisions) {
      const StageOptions &options = chain.getStages()[decision.stage];
      chain.filter(decision.stage, [&](int32_t option) {
        return decision.allows(options, option);
      });
    }
    chain.clean();
    return chain;
  }

  void expand(Node node) {
    constexpr int64_t rootChoices = 2000, choices = 50, fewOptions = 4000;
    ++numNodes;
    double boundBefore = node.bound;
    OptionChain chain = makeChain(node);
    MixtureResult game = tighten(chain, node);
    if (chain.isEmpty())
      node.bound = incumbent.getLimit();
    learn(node, boundBefore);
    if (isDone(chain, node))
      return;
    if ((node.isRoot() || chain.getNumOptions() < fewOptions) &&
        searchDeep(chain, node, node.isRoot() ? rootChoices : choices))
      return;
    if (node.isRoot() && incumbent.hasPlan() && !isSketch) {
      tightenRoot(chain, game, node);
      if (isDone(chain, node))
        return;
    }
    if (node.isRoot()) {
      root = chain;
      optionsLeft = chain.getNumOptions();
    }
    branch(chain, std::move(game), node);
  }

  bool isDone(const OptionChain &chain, const Node &node) const {
    return chain.isEmpty() || node.bound >= incumbent.getLimit();
  }

  /// Applies the cuts that bound other sets to the set's own plans.
  void applyCuts(OptionChain &chain, Node &node) {
    double limit = incumbent.getLimit();
    if (!node.cut.counts.empty())
      node.bound = std::max(node.bound, chain.eliminate(node.cut, limit));
    // With more options each cut takes longer, so fewer are applied.
    constexpr int64_t mostPrices = 100000, leastCuts = 4;
    int64_t left =
        std::max(leastCuts, mostPrices / (chain.getNumOptions() + 1));
    for (const std::vector<PathCut> *list : {&cuts, &stageCuts})
      for (const PathCut &cut : llvm::reverse(*list)) {
        if (isDone(chain, node) || left-- == 0)
          return;
        node.bound = std::max(node.bound, chain.eliminate(cut, limit));
      }
  }

  /// For each stage, adds a path that stays on it as long as possible: the
  /// longest path of a good plan if that stage were slower.
  void addStageCuts(OptionChain &chain, llvm::ArrayRef<int64_t> durations) {
    constexpr std::array<double, 2> factors = {1.03, 1.3};
    stageCuts.clear();
    for (double factor : factors)
      for (const StageOptions &stage : chain.getStages()) {
        std::vector<int64_t> slower(durations.begin(), durations.end());
        for (int32_t number : stage.durationNumbers)
          slower[number] = static_cast<int64_t>(
              factor * static_cast<double>(durations[number]));
        stageCuts.push_back(graph.getCriticalCut(slower));
      }
    int64_t known = -1;
    while (known != chain.getNumArcs() + chain.getNumOptions()) {
      known = chain.getNumArcs() + chain.getNumOptions();
      for (const PathCut &cut : stageCuts)
        chain.eliminate(cut, incumbent.getLimit());
    }
  }

  /// Adds the longest paths of the last plans, whose bounds are exact for these
  /// plans.
  void addCriticalCuts(OptionChain &chain, const MixtureResult &game,
                       Node &node) {
    constexpr size_t most = 3;
    for (const PlanSample &sample :
         llvm::ArrayRef(game.samples).take_back(most)) {
      if (isDone(chain, node))
        return;
      PathCut cut = graph.getCriticalCut(
          getDurations(chain.getStages(), sample.options, problem));
      OptionList answer;
      double bound = chain.getLeast(cut, &answer);
      incumbent.offer(chain.getStages(), answer);
      node.bound = std::max(node.bound, bound);
      chain.eliminate(cut, incumbent.getLimit());
      addCut(std::move(cut));
    }
  }

  /// Moves the samples that are not in the set to the nearest plans that are.
  void repair(OptionChain &chain, Node &node) {
    if (node.decisions.empty())
      return;
    const Decision &last = node.decisions.back();
    const StageOptions &options = chain.getStages()[last.stage];
    PathCut nothing;
    nothing.counts.assign(problem.getNumDurations(), 0);
    for (PlanSample &sample : node.samples) {
      if (last.allows(options, sample.options[last.stage]))
        continue;
      std::vector<int64_t> whole =
          getDurations(chain.getStages(), sample.options, problem);
      std::vector<double> center(whole.begin(), whole.end());
      sample.options = chain.getNearest(nothing, {center, 1});
    }
  }

  /// Learns the gain of the decision that led to a set.
  void learn(const Node &node, double boundBefore) {
    if (node.decisions.empty())
      return;
    const Decision &last = node.decisions.back();
    double gain = std::min(node.bound, incumbent.getLimit()) - boundBefore;
    history.add(last,
                isLayerFeature(root.getStages()[last.stage], last.feature),
                std::max(0.0, gain) / incumbent.getLimit());
  }

  /// Searches for good plans.
  void searchLocally(OptionChain &chain, bool isRoot) {
    const int64_t rounds = isRoot ? 200 : 60, roundOffs = isRoot ? 20 : 5;
    constexpr double near = 1.02;
    MixtureResult game = mixPaths(chain, graph, problem, incumbent,
                                  MixtureStart(), rounds, ShareRule::Shrinking);
    LocalSearch local(chain, graph, problem, incumbent);
    local.roundOff(game.average, roundOffs);
    if (static_cast<double>(local.getBest().ticks) <
        near * static_cast<double>(incumbent.getTicks()))
      local.changeParts();
    if (!isRoot || chain.isEmpty() || local.getBest().options.empty())
      return;
    rootPlan = local.getBest().options;
    addStageCuts(chain, getDurations(chain.getStages(), rootPlan, problem));
  }

  /// Searches the plans of a set one by one. Returns true if none is left.
  bool searchDeep(OptionChain &chain, const Node &node, int64_t mostChoices) {
    constexpr size_t recent = 4;
    std::vector<PathCut> all =
        llvm::ArrayRef(cuts).take_back(std::min(cuts.size(), recent)).vec();
    llvm::append_range(all, stageCuts);
    if (!node.cut.counts.empty())
      all.push_back(node.cut);
    DepthSearch search(chain, graph, problem, incumbent, all);
    bool isComplete = search.run(mostChoices);
    for (PathCut &cut : search.takeCuts())
      addCut(std::move(cut));
    return isComplete;
  }

  /// Returns the best bound of games on a set.
  MixtureResult play(OptionChain &chain, Node &node) {
    constexpr int64_t rootRounds = 100, rounds = 40;
    MixtureResult game = mixPaths(chain, graph, problem, incumbent,
                                  {std::move(node.samples), node.cut},
                                  node.isRoot() ? rootRounds : rounds);
    if (node.isRoot() && !rootPlan.empty() && !chain.isEmpty()) {
      // All sets inherit the bound of the root, so a second game improves it.
      MixtureResult again = mixPaths(chain, graph, problem, incumbent,
                                     {{{rootPlan, 1}}, game.cut}, rootRounds);
      if (again.bound > game.bound)
        game = std::move(again);
    }
    if (game.bound > node.bound)
      node.cut = game.cut;
    node.bound = std::max(node.bound, game.bound);
    return game;
  }

  /// Returns whether a half of a set has no better plan.
  bool isRefused(const OptionChain &chain, const Node &node,
                 const Decision &decision) {
    constexpr int64_t rounds = 25;
    OptionChain half = chain;
    const StageOptions &options = chain.getStages()[decision.stage];
    half.filter(decision.stage, [&](int32_t option) {
      return decision.allows(options, option);
    });
    half.clean();
    Node child;
    child.decisions = {decision};
    child.cut = node.cut;
    child.samples = node.samples;
    applyCuts(half, child);
    if (isDone(half, child))
      return true;
    repair(half, child);
    MixtureResult game =
        mixPaths(half, graph, problem, incumbent,
                 {std::move(child.samples), child.cut}, rounds);
    return half.isEmpty() || game.bound >= incumbent.getLimit();
  }

  /// Removes the largest and the least numbers of layers of stages and chunks
  /// that no better plan can have.
  bool probe(OptionChain &chain, const Node &node) {
    bool isChanged = false;
    for (size_t index = 0; index < chain.getStages().size(); ++index) {
      const StageOptions &options = chain.getStages()[index];
      size_t chunks = options.compositions.front().layers.size();
      for (size_t feature = 0; feature <= chunks; ++feature)
        for (bool isAtMost : {false, true})
          while (!chain.isEmpty() && !incumbent.isOver()) {
            double least = std::numeric_limits<double>::infinity(), most = 0;
            for (int32_t option : chain.getOptions(index)) {
              double value = getFeature(options, option, feature);
              least = std::min(least, value);
              most = std::max(most, value);
            }
            Decision decision{index, feature, isAtMost ? least : most - 1,
                              isAtMost};
            if (least == most || !isRefused(chain, node, decision))
              break;
            decision.isAtMost = !isAtMost;
            chain.filter(index, [&](int32_t option) {
              return decision.allows(options, option);
            });
            chain.clean();
            isChanged = true;
          }
    }
    return isChanged;
  }

  /// Bounds of the root hold for all sets, so they are worth more work.
  void tightenRoot(OptionChain &chain, MixtureResult &game, Node &node) {
    constexpr int64_t mostPasses = 3;
    for (int64_t pass = 0; pass < mostPasses; ++pass) {
      node.samples = game.samples;
      bool isChanged = probe(chain, node);
      if (!isChanged || isDone(chain, node) || incumbent.isOver())
        return;
      game = play(chain, node);
      if (isDone(chain, node))
        return;
    }
  }

  /// Raises the bound of a set and removes options from it.
  MixtureResult tighten(OptionChain &chain, Node &node) {
    // Searches for good plans become less and less frequent.
    constexpr int64_t firstSearch = 64;
    applyCuts(chain, node);
    if (isDone(chain, node))
      return {};
    repair(chain, node);
    if (node.isRoot() ||
        (numNodes >= firstSearch && (numNodes & (numNodes - 1)) == 0))
      searchLocally(chain, node.isRoot());
    if (isDone(chain, node))
      return {};
    MixtureResult game = play(chain, node);
    if (!isDone(chain, node))
      addCriticalCuts(chain, game, node);
    return game;
  }

  void branch(OptionChain &chain, MixtureResult game, const Node &node) {
    if (game.cut.counts.empty())
      game.cut = node.cut;
    // The search ended before it considered any path, so run() keeps the set.
    if (game.cut.counts.empty())
      return;
    std::optional<Decision> decision = chooseDecision(chain, game, history);
    if (!decision) {
      // A single plan is left.
      OptionList answer;
      chain.getLeast(game.cut, &answer);
      incumbent.offer(chain.getStages(), answer);
      return;
    }
    for (bool isAtMost : {true, false}) {
      decision->isAtMost = isAtMost;
      Node child;
      child.bound = node.bound;
      child.number = 2 * numNodes + (isAtMost ? 0 : 1);
      child.decisions = node.decisions;
      child.decisions.push_back(*decision);
      child.cut = node.cut;
      child.samples = game.samples;
      open.insert(std::move(child));
    }
  }

  void addCut(PathCut cut) {
    constexpr size_t most = 24;
    if (llvm::any_of(cuts, [&](const PathCut &other) {
          return other.counts == cut.counts;
        }))
      return;
    cuts.push_back(std::move(cut));
    if (cuts.size() > most)
      cuts.erase(cuts.begin());
  }

  OptionChain root;
  StepGraph &graph;
  const TickProblem &problem;
  Incumbent &incumbent;
  std::set<Node> open;
  /// Critical paths of good plans.
  std::vector<PathCut> cuts, stageCuts;
  /// A good plan of the root, if one was found.
  OptionList rootPlan;
  DecisionHistory history;
  /// True during a search that is for good plans only, and not for a proof.
  bool isSketch = false;
  int64_t numNodes = 0, optionsLeft = 0;
};

} // namespace

TreeResult searchTree(OptionChain root, StepGraph &graph,
                      const TickProblem &problem, Incumbent &incumbent) {
  return TreeSearch(std::move(root), graph, problem, incumbent).run();
}

void searchRoot(OptionChain root, StepGraph &graph, const TickProblem &problem,
                Incumbent &incumbent) {
  TreeSearch(std::move(root), graph, problem, incumbent).runRoot();
}

} // namespace mf::solver
