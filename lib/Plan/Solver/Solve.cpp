//===- Solve.cpp - The shortest step that fits ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExplainInfeasible.h"
#include "LocalSearch.h"
#include "TreeSearch.h"
#include "WorkBound.h"
#include "mf/Plan/Solver/Solver.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace mf::solver {

namespace {

class Solver {
public:
  Solver(const Problem &problem, const SolveOptions &options)
      : problem(problem), graph(this->problem),
        choices(this->problem, ChunkChoices::Aim::Times,
                [this] { return incumbent.isOver(); }),
        incumbent(this->problem, graph, options) {}

  llvm::Expected<SolveResult> run(llvm::ArrayRef<Plan> incumbents);

private:
  /// The options of all stages whose numbers of layers are in given ranges.
  /// There are no stages if there are too many layouts.
  struct Plans {
    KindLayouts layouts;
    std::vector<StageOptions> stages;
  };
  std::unique_ptr<Plans> makePlans(std::vector<LayerRange> ranges);
  void findFirst();
  void finish(double boundTicks);

  TickProblem problem;
  StepGraph graph;
  ChunkChoices choices;
  Incumbent incumbent;
  SolveResult result;
};

std::unique_ptr<Solver::Plans>
Solver::makePlans(std::vector<LayerRange> ranges) {
  auto plans = std::make_unique<Plans>(
      Plans{KindLayouts(problem, std::move(ranges)), {}});
  if (plans->layouts.areTooMany())
    return plans;
  OptionMaker maker(problem, choices, plans->layouts);
  std::vector<OptionBound> bounds =
      getStageBounds(problem, graph, plans->layouts, incumbent.getLimit());
  for (int64_t stage = 0; stage < problem.getNumStages(); ++stage)
    plans->stages.push_back(maker.make(stage, bounds[stage]));
  return plans;
}

/// Finds a good plan whose numbers of layers are near the mean, of which there
/// are few. It excludes most other plans from the search.
void Solver::findFirst() {
  std::vector<LayerRange> all = getAllRanges(problem);
  for (int64_t width = 1; !incumbent.isOver(); width *= 2) {
    std::vector<LayerRange> ranges = getMeanRanges(problem, width);
    if (ranges == all)
      return;
    std::unique_ptr<Plans> plans = makePlans(std::move(ranges));
    if (choices.isCutShort() || plans->layouts.areTooMany())
      return;
    OptionChain chain(plans->stages, problem, plans->layouts);
    if (chain.isEmpty())
      continue;
    TreeSearch search(std::move(chain), graph, problem, incumbent);
    search.runRoot();
    if (incumbent.hasPlan())
      return;
  }
}

void Solver::finish(double boundTicks) {
  boundTicks = std::max(boundTicks, std::floor(getWorkBound(problem)));
  result.plan = incumbent.getPlan();
  result.seconds = incumbent.getSeconds();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  result.isProven = boundTicks >= incumbent.getLimit();
  double limit = problem.getTime(incumbent.getTicks());
  result.time = result.plan ? limit : infinity;
  result.bound = result.isProven
                     ? limit
                     : problem.getTime(static_cast<int64_t>(boundTicks));
}

llvm::Expected<SolveResult> Solver::run(llvm::ArrayRef<Plan> incumbents) {
  for (const Plan &plan : incumbents) {
    if (llvm::Error error = plan.verify(problem.get()))
      llvm::consumeError(std::move(error));
    else
      incumbent.offer(plan);
  }
  if (!incumbent.hasPlan())
    findFirst();
  std::unique_ptr<Plans> plans = makePlans(getAllRanges(problem));
  const bool areTooMany = plans->layouts.areTooMany();
  if (areTooMany && incumbent.isUnlimited())
    return makeTooManyError(problem);
  // If some plans are not known, only the bound of work holds.
  if (choices.isCutShort() || areTooMany) {
    finish(0);
    return result;
  }
  OptionChain chain(plans->stages, problem, plans->layouts);
  result.options = chain.getNumOptions();
  if (chain.isEmpty() && incumbent.isUnlimited())
    return explainInfeasible(problem);
  TreeSearch search(std::move(chain), graph, problem, incumbent);
  double bound = search.run();
  result.optionsLeft = search.getOptionsLeft();
  result.nodes = search.getNumNodes();
  finish(bound);
  return result;
}

} // namespace

/// Returns whether no plan takes any time.
static bool takesNoTime(const Problem &problem) {
  auto isTimed = [](const auto &part) {
    return part.forward > 0 || part.backward > 0;
  };
  for (const LayerKind &kind : problem.kinds)
    if (kind.updateTime > 0 || llvm::any_of(kind.treatments, isTimed))
      return false;
  return problem.transferTime == 0 &&
         llvm::none_of(problem.extras, [&](const ChunkExtra &extra) {
           return isTimed(extra) || extra.updateTime > 0;
         });
}

/// Solves a problem in which no plan takes any time, so that every plan that
/// fits is optimal. The search compares plans by paths, which need some time,
/// so each layer takes 1; copies still fit nowhere.
static llvm::Expected<SolveResult> solveUntimed(Problem problem,
                                                const SolveOptions &options) {
  const auto tooLong = static_cast<double>(problem.getNumLayers() + 1);
  for (LayerKind &kind : problem.kinds)
    for (Treatment &treatment : kind.treatments) {
      treatment.forward = 1;
      if (treatment.copyOut > 0 || treatment.copyIn > 0)
        treatment.copyOut = tooLong;
    }
  llvm::Expected<SolveResult> result = solve(problem, options);
  if (result && result->plan) {
    result->time = result->bound = 0;
    result->isProven = true;
  }
  return result;
}

double getLeastTime(const Problem &problem) {
  const TickProblem ticks(problem);
  return ticks.getTime(static_cast<int64_t>(getWorkBound(ticks)));
}

llvm::Expected<SolveResult> solve(const Problem &problem,
                                  const SolveOptions &options) {
  if (llvm::Error error = problem.check())
    return error;
  if (takesNoTime(problem))
    return solveUntimed(problem, options);
  return Solver(problem, options).run(options.incumbents);
}

} // namespace mf::solver
