//===- OptionChain.h - All plans as paths from stage to stage ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A plan has an option for every stage, such that all layers are distributed.
// If stages are chosen one by one, they depend on each other only through the
// number of remaining layers of each kind (and the chunks in which the kinds
// end), so plans are paths through a small graph. A path cut is a sum over
// stages, and its least value over all plans is a shortest path.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SOLVER_OPTIONCHAIN_H
#define MF_LIB_PLAN_SOLVER_OPTIONCHAIN_H

#include "StageOptions.h"
#include "StepGraph.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace mf::solver {

/// An arc from the layers that remain before a stage to those that remain after
/// it.
struct ChainArc {
  int32_t from = 0, to = 0, composition = 0;
};

/// Penalizes plans by their distance from given durations: the square of the
/// difference in each duration, times the weight.
struct Attraction {
  llvm::ArrayRef<double> center;
  double weight = 0;
};

/// An option for each stage.
using OptionList = std::vector<int32_t>;

/// The values of a cut.
struct ChainPrices {
  /// For each stage, its values by index of the option among those that are
  /// considered.
  std::vector<std::vector<double>> options;
  /// For each stage and node before it, the least value of the stages from
  /// there on.
  std::vector<std::vector<double>> rest;
};

/// The plans that are still considered: some of the options of each stage, and
/// how these can be combined. Keeps a reference to the options.
class OptionChain {
public:
  /// Makes the chain of all plans. It is empty if finding the combinations
  /// takes more tries than `mostTries`.
  OptionChain(llvm::ArrayRef<StageOptions> stages, const TickProblem &problem,
              const KindLayouts &layouts,
              int64_t mostTries = std::numeric_limits<int64_t>::max())
      : stages(stages), arcs(stages.size()), triesLeft(mostTries) {
    for (const StageOptions &stage : stages) {
      active.emplace_back(stage.size());
      std::iota(active.back().begin(), active.back().end(), 0);
    }
    addNodes(problem, layouts);
    if (isCutShort())
      arcs.front().clear();
    clean();
  }

  /// Returns whether the tries were not enough.
  bool isCutShort() const { return triesLeft < 0; }
  int64_t getTriesLeft() const { return triesLeft; }

  bool isEmpty() const { return numNodes.empty(); }
  llvm::ArrayRef<StageOptions> getStages() const { return stages; }
  /// Returns the options of a stage that are still considered, ascending, so
  /// that options of one composition are together.
  llvm::ArrayRef<int32_t> getOptions(size_t stage) const {
    return active[stage];
  }
  int64_t getNumOptions() const {
    int64_t total = 0;
    for (llvm::ArrayRef<int32_t> options : active)
      total += static_cast<int64_t>(options.size());
    return total;
  }
  int64_t getNumArcs() const {
    int64_t total = 0;
    for (llvm::ArrayRef<ChainArc> ofStage : arcs)
      total += static_cast<int64_t>(ofStage.size());
    return total;
  }

  /// Keeps the options of a stage that `keep` is true for.
  void filter(size_t stage, llvm::function_ref<bool(int32_t)> keep) {
    llvm::erase_if(active[stage],
                   [&](int32_t option) { return !keep(option); });
  }

  /// Leaves a stage one option.
  void keepOnly(size_t stage, int32_t option) { active[stage] = {option}; }
  /// Removes arcs without options and options without arcs.
  void clean() {
    if (numNodes.empty())
      return;
    std::vector<std::vector<bool>> hasOption, hasArc(stages.size());
    for (auto [stage, options] : llvm::zip_equal(stages, active)) {
      hasOption.emplace_back(stage.compositions.size(), false);
      for (int32_t option : options)
        hasOption.back()[stage.compositionOf[option]] = true;
    }
    std::vector<bool> isReached(numNodes.front(), true);
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      std::vector<bool> next(numNodes[stage + 1], false);
      llvm::erase_if(arcs[stage], [&](const ChainArc &arc) {
        return !isReached[arc.from] || !hasOption[stage][arc.composition];
      });
      for (const ChainArc &arc : arcs[stage])
        next[arc.to] = true;
      isReached = std::move(next);
    }
    for (size_t stage = stages.size(); stage-- > 0;) {
      std::vector<bool> before(numNodes[stage], false);
      hasArc[stage].assign(stages[stage].compositions.size(), false);
      llvm::erase_if(arcs[stage],
                     [&](const ChainArc &arc) { return !isReached[arc.to]; });
      for (const ChainArc &arc : arcs[stage]) {
        before[arc.from] = true;
        hasArc[stage][arc.composition] = true;
      }
      isReached = std::move(before);
      llvm::erase_if(active[stage], [&](int32_t option) {
        return !hasArc[stage][stages[stage].compositionOf[option]];
      });
    }
    if (arcs.front().empty()) {
      numNodes.clear();
      for (auto [options, ofStage] : llvm::zip_equal(active, arcs)) {
        options.clear();
        ofStage.clear();
      }
    }
  }

  /// Returns the least value of a cut over all plans, which is infinite if
  /// there are none. Stores the best plan in `best`, if it is given.
  double getLeast(const PathCut &cut, OptionList *best = nullptr) {
    if (isEmpty())
      return infinity;
    price(cut, {});
    return findLeast(best) + cut.transfers;
  }

  /// Returns the plan with the least sum of a cut and an attraction. There must
  /// be a plan.
  OptionList getNearest(const PathCut &cut, const Attraction &attraction) {
    OptionList best;
    price(cut, attraction);
    findLeast(&best);
    return best;
  }

  /// Removes arcs and options with which a cut is at least `limit`. Returns the
  /// least value of the cut.
  double eliminate(const PathCut &cut, double limit) {
    double least = getLeast(cut);
    if (isEmpty())
      return least;
    runBackward();
    limit -= cut.transfers;
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      // For each composition, the least value of all other stages.
      std::vector<double> others(stages[stage].compositions.size(), infinity);
      llvm::erase_if(arcs[stage], [&](const ChainArc &arc) {
        double rest = forward[stage][arc.from] + backward[stage + 1][arc.to];
        others[arc.composition] = std::min(others[arc.composition], rest);
        return rest + compositionCosts[stage][arc.composition] >= limit;
      });
      size_t position = 0;
      llvm::erase_if(active[stage], [&](int32_t option) {
        double cost = optionCosts[stage][position++];
        return others[stages[stage].compositionOf[option]] + cost >= limit;
      });
    }
    clean();
    return least;
  }

  ChainPrices getPrices(const PathCut &cut) {
    price(cut, {});
    runBackward();
    return {optionCosts, backward};
  }
  /// Returns the number of nodes before the first stage.
  int32_t getNumStarts() const {
    return isEmpty() ? 0 : static_cast<int32_t>(numNodes.front());
  }

  /// Visits all options of a stage after a node, with their indices in
  /// getOptions() and the nodes after them.
  void forEachOption(
      size_t stage, int32_t node,
      llvm::function_ref<void(int32_t option, size_t position, int32_t to)>
          visit) const {
    llvm::ArrayRef<int32_t> options = active[stage];
    const std::vector<int32_t> &compositionOf = stages[stage].compositionOf;
    auto first = llvm::partition_point(
        arcs[stage], [&](const ChainArc &arc) { return arc.from < node; });
    for (; first != arcs[stage].end() && first->from == node; ++first) {
      auto option = llvm::partition_point(options, [&](int32_t other) {
        return compositionOf[other] < first->composition;
      });
      for (; option != options.end() &&
             compositionOf[*option] == first->composition;
           ++option)
        visit(*option, option - options.begin(), first->to);
    }
  }

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  /// Nodes are found forwards, from the start of every layout.
  void addNodes(const TickProblem &problem, const KindLayouts &layouts) {
    using Left = std::vector<int64_t>;
    std::vector<std::pair<size_t, Left>> nodes;
    Left all;
    for (const LayerKind &kind : problem.get().kinds)
      all.push_back(kind.count);
    for (size_t layout = 0; layout < layouts.size(); ++layout)
      nodes.emplace_back(layout, all);
    numNodes.push_back(nodes.size());
    for (const StageOptions &stage : stages) {
      llvm::ArrayRef<int32_t> chunks = problem.getChunks(stage.stage);
      // For each layout, the compositions that it allows.
      std::vector<std::vector<int32_t>> allowed(layouts.size());
      for (size_t layout = 0; layout < layouts.size(); ++layout)
        for (auto [index, composition] : llvm::enumerate(stage.compositions)) {
          bool isAllowed = true;
          for (auto [chunk, layers] :
               llvm::zip_equal(chunks, composition.layers))
            isAllowed &= layouts.allows(layout, chunk, layers);
          if (isAllowed)
            allowed[layout].push_back(static_cast<int32_t>(index));
        }
      std::map<std::pair<size_t, Left>, int32_t> numbers;
      std::vector<std::pair<size_t, Left>> next;
      for (auto [from, node] : llvm::enumerate(nodes)) {
        const auto &[layout, left] = node;
        triesLeft -= static_cast<int64_t>(allowed[layout].size());
        if (isCutShort())
          break;
        for (int32_t index : allowed[layout]) {
          Left rest = left;
          bool isEnough = true;
          for (auto [kind, count] :
               llvm::enumerate(stage.compositions[index].totals)) {
            rest[kind] -= count;
            isEnough &= rest[kind] >= 0;
          }
          // No layers remain after the last stage.
          bool isLast = stage.stage + 1 == problem.getNumStages();
          if (!isEnough || (isLast && llvm::any_of(rest, [](int64_t one) {
                              return one > 0;
                            })))
            continue;
          auto [number, isNew] =
              numbers.try_emplace({layout, rest}, next.size());
          if (isNew)
            next.emplace_back(layout, rest);
          arcs[stage.stage].push_back(
              {static_cast<int32_t>(from), number->second, index});
        }
      }
      nodes = std::move(next);
      numNodes.push_back(nodes.size());
    }
  }

  void price(const PathCut &cut, const Attraction &attraction) {
    optionCosts.resize(stages.size());
    compositionCosts.resize(stages.size());
    bestOptions.resize(stages.size());
    std::vector<double> counts;
    for (auto [index, stage] : llvm::enumerate(stages)) {
      counts.clear();
      for (int32_t number : stage.durationNumbers)
        counts.push_back(cut.counts[number]);
      std::vector<double> &ofOptions = optionCosts[index];
      std::vector<double> &ofCompositions = compositionCosts[index];
      ofOptions.resize(active[index].size());
      ofCompositions.assign(stage.compositions.size(), infinity);
      bestOptions[index].assign(stage.compositions.size(), -1);
      for (auto [position, option] : llvm::enumerate(active[index])) {
        const double *durations =
            stage.durations.data() + option * stage.numDurations;
        double cost = 0;
        for (size_t number = 0; number < counts.size(); ++number)
          cost += counts[number] * durations[number];
        if (attraction.weight > 0)
          for (size_t number = 0; number < counts.size(); ++number) {
            double distance = durations[number] -
                              attraction.center[stage.durationNumbers[number]];
            cost += attraction.weight * distance * distance;
          }
        ofOptions[position] = cost;
        int32_t composition = stage.compositionOf[option];
        if (cost < ofCompositions[composition]) {
          ofCompositions[composition] = cost;
          bestOptions[index][composition] = option;
        }
      }
    }
  }

  double findLeast(OptionList *best) {
    runForward();
    auto end = llvm::min_element(forward.back());
    if (best != nullptr) {
      best->assign(stages.size(), -1);
      auto node = static_cast<int32_t>(end - forward.back().begin());
      for (size_t stage = stages.size(); stage-- > 0;) {
        const ChainArc &arc = arcs[stage][bestArcs[stage + 1][node]];
        (*best)[stage] = bestOptions[stage][arc.composition];
        node = arc.from;
      }
    }
    return *end;
  }

  void runForward() {
    forward.resize(numNodes.size());
    bestArcs.resize(numNodes.size());
    forward[0].assign(numNodes[0], 0);
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      forward[stage + 1].assign(numNodes[stage + 1], infinity);
      bestArcs[stage + 1].assign(numNodes[stage + 1], -1);
      const std::vector<double> &before = forward[stage];
      std::vector<double> &behind = forward[stage + 1];
      for (auto [index, arc] : llvm::enumerate(arcs[stage])) {
        double value =
            before[arc.from] + compositionCosts[stage][arc.composition];
        if (value < behind[arc.to]) {
          behind[arc.to] = value;
          bestArcs[stage + 1][arc.to] = static_cast<int32_t>(index);
        }
      }
    }
  }

  void runBackward() {
    backward.resize(numNodes.size());
    backward.back().assign(numNodes.back(), 0);
    for (size_t stage = stages.size(); stage-- > 0;) {
      backward[stage].assign(numNodes[stage], infinity);
      for (const ChainArc &arc : arcs[stage])
        backward[stage][arc.from] =
            std::min(backward[stage][arc.from],
                     compositionCosts[stage][arc.composition] +
                         backward[stage + 1][arc.to]);
    }
  }

  llvm::ArrayRef<StageOptions> stages;
  std::vector<std::vector<int32_t>> active;
  /// Arcs by stage, in the order of `from`.
  std::vector<std::vector<ChainArc>> arcs;
  int64_t triesLeft;
  /// The number of nodes before each stage, and after the last one.
  std::vector<size_t> numNodes;

  /// Costs under the last cut: by stage and active option, by stage and
  /// composition.
  std::vector<std::vector<double>> optionCosts, compositionCosts;
  std::vector<std::vector<int32_t>> bestOptions;
  /// For each stage and node: the least value up to it and from it on, and the
  /// best arc to it.
  std::vector<std::vector<double>> forward, backward;
  std::vector<std::vector<int32_t>> bestArcs;
};

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_OPTIONCHAIN_H
