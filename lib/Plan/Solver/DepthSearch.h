//===- DepthSearch.h - Depth first, stage by stage --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Chooses an option for one stage after another. Bounds the remaining stages by
// cuts and by the step with their least durations, whose longest path gives
// another cut.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SOLVER_DEPTHSEARCH_H
#define MF_LIB_PLAN_SOLVER_DEPTHSEARCH_H

#include "Incumbent.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

namespace mf::solver {

class DepthSearch {
public:
  /// Searches the plans of `chain`, which must not be empty.
  DepthSearch(OptionChain &chain, StepGraph &graph, const TickProblem &problem,
              Incumbent &incumbent, llvm::ArrayRef<PathCut> cuts)
      : chain(chain), graph(graph), incumbent(incumbent),
        durations(problem.getNumDurations(), 0) {
    for (auto [index, stage] : llvm::enumerate(chain.getStages())) {
      std::vector<double> &ofStage = least.emplace_back(
          stage.numDurations, std::numeric_limits<double>::infinity());
      for (int32_t option : chain.getOptions(index))
        for (auto [duration, known] :
             llvm::zip_equal(stage.getDurations(option), ofStage))
          known = std::min(known, duration);
      setDurations(index, ofStage);
    }
    for (const PathCut &cut : cuts)
      addCut(cut, 0);
  }

  /// Searches all plans. Returns false if that takes more choices than
  /// `mostChoices` or the search is over.
  bool run(int64_t most) {
    limit = incumbent.getLimit();
    searchAll(most);
    return !isBroken;
  }

  /// Returns the best plan of fewer than `ticks` ticks that is found with at
  /// most the given number of choices.
  std::optional<LocalPlan> findBetter(int64_t ticks, int64_t most) {
    limit = static_cast<double>(ticks) - 0.5;
    searchAll(most);
    return std::move(found);
  }

  int64_t getNumChoices() const { return numChoices; }
  /// Returns the cuts that have excluded choices.
  std::vector<PathCut> takeCuts() {
    std::vector<PathCut> taken;
    for (PricedCut &cut : cuts)
      if (cut.uses > 0)
        taken.push_back(std::move(cut.cut));
    return taken;
  }

private:
  struct PricedCut {
    PathCut cut;
    ChainPrices prices;
    int64_t uses = 0;
    /// Costs of the options chosen so far, by stage.
    std::vector<double> spent;
  };
  /// An option of the next stage.
  struct Choice {
    double bound = 0;
    int32_t option = 0, to = 0;
  };
  void searchAll(int64_t most) {
    mostChoices = most;
    for (int32_t node = 0; node < chain.getNumStarts() && !isBroken; ++node)
      search(0, node);
  }

  /// Replaces the cut that was least useful so far.
  void addCut(PathCut cut, size_t depth) {
    constexpr size_t most = 16;
    PricedCut priced;
    priced.prices = chain.getPrices(cut);
    priced.spent.assign(chain.getStages().size() + 1, 0);
    priced.spent[0] = cut.transfers;
    for (size_t stage = 0; stage < depth; ++stage)
      priced.spent[stage + 1] = priced.spent[stage] + getSpent(cut, stage);
    priced.cut = std::move(cut);
    if (cuts.size() < most) {
      cuts.push_back(std::move(priced));
      return;
    }
    auto worst = std::min_element(cuts.begin(), cuts.end(),
                                  [](const PricedCut &one, const auto &other) {
                                    return one.uses < other.uses;
                                  });
    *worst = std::move(priced);
  }

  double getSpent(const PathCut &cut, size_t depth) const {
    double spent = 0;
    for (int32_t number : chain.getStages()[depth].durationNumbers)
      spent += cut.counts[number] * static_cast<double>(durations[number]);
    return spent;
  }

  void search(size_t depth, int32_t node) {
    if (depth == chain.getStages().size()) {
      int64_t ticks = incumbent.offer(chain.getStages(), chosen);
      if (static_cast<double>(ticks) < limit) {
        found = LocalPlan{chosen, ticks};
        limit = static_cast<double>(ticks) - 0.5;
      }
      return;
    }
    for (const Choice &choice : getChoices(depth, node)) {
      if (choice.bound >= limit)
        break;
      if (++numChoices > mostChoices || incumbent.isOver())
        isBroken = true;
      if (isBroken)
        break;
      setDurations(depth, chain.getStages()[depth].getDurations(choice.option));
      chosen.push_back(choice.option);
      bool isIn = true;
      for (PricedCut &cut : cuts) {
        cut.spent[depth + 1] = cut.spent[depth] + getSpent(cut.cut, depth);
        if (isIn &&
            cut.spent[depth + 1] + cut.prices.rest[depth + 1][choice.to] >=
                limit) {
          isIn = false;
          ++cut.uses;
        }
      }
      if (isIn && !isRefused(depth + 1, choice.to))
        search(depth + 1, choice.to);
      chosen.pop_back();
    }
    setDurations(depth, least[depth]);
  }

  std::vector<Choice> getChoices(size_t depth, int32_t node) {
    std::vector<Choice> choices;
    chain.forEachOption(
        depth, node, [&](int32_t option, size_t position, int32_t to) {
          Choice choice{0, option, to};
          for (PricedCut &cut : cuts) {
            choice.bound =
                std::max(choice.bound, cut.spent[depth] +
                                           cut.prices.options[depth][position] +
                                           cut.prices.rest[depth + 1][to]);
            if (choice.bound < limit)
              continue;
            ++cut.uses;
            return;
          }
          choices.push_back(choice);
        });
    llvm::sort(choices, [](const Choice &one, const Choice &other) {
      return one.bound != other.bound ? one.bound < other.bound
                                      : one.option < other.option;
    });
    return choices;
  }

  /// Returns whether no plan with the choices so far is good enough. The step
  /// is bounded with the least durations of the remaining stages, and by the
  /// least value that these can have together on its longest path.
  bool isRefused(size_t depth, int32_t node) {
    if (static_cast<double>(graph.getMakespan(durations)) >= limit)
      return true;
    PathCut cut = graph.getCriticalCut(durations);
    addCut(std::move(cut), depth);
    return false;
  }

  void setDurations(size_t depth, llvm::ArrayRef<double> ofStage) {
    for (auto [number, duration] :
         llvm::zip_equal(chain.getStages()[depth].durationNumbers, ofStage))
      durations[number] = static_cast<int64_t>(duration);
  }

  OptionChain &chain;
  StepGraph &graph;
  Incumbent &incumbent;
  std::vector<PricedCut> cuts;
  /// For each stage, the least value of each of its durations.
  std::vector<std::vector<double>> least;
  /// The durations of the chosen options, and the least ones of the remaining
  /// stages.
  std::vector<int64_t> durations;
  OptionList chosen;
  /// Only plans of fewer ticks than this are searched for.
  double limit = 0;
  std::optional<LocalPlan> found;
  int64_t numChoices = 0, mostChoices = 0;
  bool isBroken = false;
};

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_DEPTHSEARCH_H
