//===- OptionChain.h - All plans as paths from stage to stage -*- C++ -*-===//
//
// A plan is an option for every stage such that all layers are dealt. Taken
// stage by stage, all that stages need to know of one another is how many
// layers of each kind are left (and in which chunks the kinds end), so plans
// are paths through a small graph. A path cut is a sum over stages, and its
// least value over all plans a shortest path.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_OPTIONCHAIN_H
#define MF_LIB_PLAN_OPTIONCHAIN_H

#include "StageOptions.h"
#include "StepGraph.h"
#include <limits>

namespace mf::plan {

/// An arc from the layers left before a stage to those left behind it.
struct ChainArc {
  int32_t from = 0, to = 0, composition = 0;
};

/// Makes plans dearer the farther they are from given durations: by the square
/// of the distance in each, times the weight.
struct Attraction {
  llvm::ArrayRef<double> center;
  double weight = 0;
};

/// An option for each stage.
using OptionList = std::vector<int32_t>;

/// The values of a cut.
struct ChainPrices {
  /// By stage and position among the options that are looked at.
  std::vector<std::vector<double>> options;
  /// By stage and node before it: the least of the stages from there on.
  std::vector<std::vector<double>> rest;
};

/// The plans that are still looked at: some of the options of each stage, and
/// how these fit together. Refers to the options.
class OptionChain {
public:
  /// All plans of the options; none if it takes more tries to find how they
  /// fit together.
  OptionChain(llvm::ArrayRef<StageOptions> stages, const TickProblem &problem,
              const KindLayouts &layouts,
              int64_t mostTries = std::numeric_limits<int64_t>::max());

  /// Whether there were not enough tries.
  bool isCutShort() const { return triesLeft < 0; }
  int64_t getTriesLeft() const { return triesLeft; }

  bool isEmpty() const { return numNodes.empty(); }
  llvm::ArrayRef<StageOptions> getStages() const { return stages; }
  /// Ascending, so that options of a composition are together.
  llvm::ArrayRef<int32_t> getOptions(size_t stage) const {
    return active[stage];
  }
  int64_t getNumOptions() const;
  int64_t getNumArcs() const;

  /// Keeps the options of a stage that `keep` is true for.
  void filter(size_t stage, llvm::function_ref<bool(int32_t)> keep);
  /// Leaves a stage one option.
  void keepOnly(size_t stage, int32_t option) { active[stage] = {option}; }
  /// Removes what leads nowhere: arcs without options, options without arcs.
  void clean();

  /// The least value of a cut over all plans; infinite if there are none. The
  /// best plan, if wanted.
  double getLeast(const PathCut &cut, OptionList *best = nullptr);

  /// The plan with the least sum of a cut and an attraction; there must be
  /// plans.
  OptionList getNearest(const PathCut &cut, const Attraction &attraction);

  /// Removes arcs and options with which a cut is at least `limit`. Returns the
  /// least value of the cut.
  double eliminate(const PathCut &cut, double limit);

  ChainPrices getPrices(const PathCut &cut);
  /// The nodes before the first stage.
  int32_t getNumStarts() const { return isEmpty() ? 0 : numNodes.front(); }
  /// All options of a stage behind a node, with their positions among
  /// getOptions() and the nodes behind them.
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
  /// By stage: before it; one more behind the last.
  std::vector<size_t> numNodes;

  /// Costs under the last cut: by stage and active option, by stage and
  /// composition.
  std::vector<std::vector<double>> optionCosts, compositionCosts;
  std::vector<std::vector<int32_t>> bestOptions;
  /// By stage and node: the least up to it, from it on, and the best arc to it.
  std::vector<std::vector<double>> forward, backward;
  std::vector<std::vector<int32_t>> bestArcs;
};

} // namespace mf::plan

#endif // MF_LIB_PLAN_OPTIONCHAIN_H
