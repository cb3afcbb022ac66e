//===- OptionChain.h - All plans as paths from stage to stage -*- C++ -*-===//
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
#include <limits>

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
              int64_t mostTries = std::numeric_limits<int64_t>::max());

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
  int64_t getNumOptions() const;
  int64_t getNumArcs() const;

  /// Keeps the options of a stage that `keep` is true for.
  void filter(size_t stage, llvm::function_ref<bool(int32_t)> keep);
  /// Leaves a stage one option.
  void keepOnly(size_t stage, int32_t option) { active[stage] = {option}; }
  /// Removes arcs without options and options without arcs.
  void clean();

  /// Returns the least value of a cut over all plans, which is infinite if
  /// there are none. Stores the best plan in `best`, if it is given.
  double getLeast(const PathCut &cut, OptionList *best = nullptr);

  /// Returns the plan with the least sum of a cut and an attraction. There must
  /// be a plan.
  OptionList getNearest(const PathCut &cut, const Attraction &attraction);

  /// Removes arcs and options with which a cut is at least `limit`. Returns the
  /// least value of the cut.
  double eliminate(const PathCut &cut, double limit);

  ChainPrices getPrices(const PathCut &cut);
  /// Returns the number of nodes before the first stage.
  int32_t getNumStarts() const {
    return isEmpty() ? 0 : static_cast<int32_t>(numNodes.front());
  }
  /// Visits all options of a stage after a node, with their indices in
  /// getOptions() and the nodes after them.
  void forEachOption(
      size_t stage, int32_t node,
      llvm::function_ref<void(int32_t option, size_t position, int32_t to)>
          visit) const;

private:
  void addNodes(const TickProblem &problem, const KindLayouts &layouts);
  void price(const PathCut &cut, const Attraction &attraction);
  double findLeast(OptionList *best);
  void runForward();
  void runBackward();

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
