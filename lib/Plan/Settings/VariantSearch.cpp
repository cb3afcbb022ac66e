//===- VariantSearch.cpp - Alternates solving and compiling ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/VariantSearch.h"
#include "mf/Plan/Solver/Solver.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <array>

using namespace mf;
using namespace mf::planner;
using llvm::Error;
using llvm::Expected;

/// The largest number of plans that are compiled to correct errors of the
/// costs.
static constexpr int mostRounds = 8;
/// The fraction of the limit that is left free for each additional plan that
/// did not fit.
static constexpr double roomOfMisfits = 0.002;
/// The largest number of plans that are compiled in addition to the model's
/// best one.
static constexpr int mostExplored = 4;
/// The shares of the memory limit for which further plans are made. Plans for
/// less memory distribute layers differently.
static constexpr std::array<double, mostExplored + 1> exploredLimits = {
    1, 1, 0.85, 0.75, 0.65};
/// The relative error that costs have anyway.
static constexpr double smallGap = 0.0005;
/// With more layers than this, no further plans are tried if the best one is
/// this near to the bound. Plans of few layers differ more, and compile faster.
static constexpr size_t fewLayers = 32;
static constexpr double exploredGap = 0.002;

bool VariantSearch::mayFit(const StepMeasure &measure) const {
  return llvm::all_of(measure.stages, [&](const StageMeasure &stage) {
    return stage.mayFit(getLimit());
  });
}

void VariantSearch::forbidStage(const solver::Plan &plan, size_t stage) {
  const schedule::Pipeline &pipeline = costs.getContext().schedule.pipeline;
  solver::ForbiddenStage entry;
  entry.stage = static_cast<int64_t>(stage);
  for (size_t chunk = 0; chunk < plan.chunks.size(); ++chunk)
    if (pipeline.stageOfChunk[chunk] == entry.stage)
      entry.chunks.push_back(plan.chunks[chunk]);
  forbidden.push_back(std::move(entry));
}

/// Excludes a plan that did not fit.
void VariantSearch::forbid(const solver::Plan &plan,
                           const StepMeasure &measure) {
  for (size_t stage = 0; stage < measure.stages.size(); ++stage)
    if (measure.stages[stage].getMissingBytes(getLimit()) > 0)
      forbidStage(plan, stage);
  ++misfits;
}

Error VariantSearch::compilePlan(const solver::Plan &plan,
                                 const Assignment &assignment) {
  Expected<CompiledAssignment> compiled = costs.compile(assignment);
  if (!compiled)
    return compiled.takeError();
  Expected<StepMeasure> measure = measureStep(compiled->step, request.target);
  if (!measure)
    return measure.takeError();
  tried.push_back(assignment);
  currentArenas = std::move(compiled->step.arenas);
  current = CompiledPlan{std::move(compiled->settings),
                         std::move(compiled->yaml), std::move(*measure), plan};
  return Error::success();
}

/// Plans the arenas of the last step with full effort if they do not fit but
/// might. A quick arena that does not fit is not conclusive, unless its live
/// bytes do not fit either.
Error VariantSearch::refineMisfits() {
  if (!mayFit(current.measure))
    return Error::success();
  std::vector<size_t> misfits;
  for (const auto &[index, stage] : llvm::enumerate(current.measure.stages))
    if (stage.getMissingBytes(getLimit()) > 0)
      misfits.push_back(index);
  return refineArenas(costs.getInput(), currentArenas, misfits,
                      current.measure);
}

void VariantSearch::takeCurrent(double expectedSeconds) {
  modelSeconds = expectedSeconds;
  best = std::move(current);
  bestArenas = std::move(currentArenas);
}

Error VariantSearch::tryPlan(const solver::Plan &plan,
                             const Assignment &assignment) {
  if (Error error = compilePlan(plan, assignment))
    return error;
  if (Error error = refineMisfits())
    return error;
  costs.observe(assignment, current.measure);
  const bool doesFit = fits(current.measure);
  request.report(llvm::formatv("compiled a plan of {0:f3} s{1}",
                               current.measure.seconds,
                               doesFit ? "" : ", which does not fit")
                     .str());
  if (!doesFit)
    forbid(plan, current.measure);
  else if (!best || current.measure.seconds < best->measure.seconds)
    takeCurrent(result.time);
  return Error::success();
}

/// Plans the memory of the best plan as mf-opt does. Returns false if it does
/// not fit then.
Expected<bool> VariantSearch::confirmBest() {
  if (!best || best->measure.isExact())
    return true;
  if (Error error = refineArenas(costs.getInput(), bestArenas, best->measure))
    return std::move(error);
  costs.observe(toAssignment(best->plan), best->measure);
  if (fits(best->measure))
    return true;
  forbid(best->plan, best->measure);
  best.reset();
  return false;
}

/// Returns the time of the problem from which on plans are no better than the
/// known one. The simulated time beyond the problem's differs between
/// pipelines. Until a plan of this one was compiled, it is taken to be equal.
double VariantSearch::getOwnCutoff(const KnownTime &cutoff) const {
  if (cutoff.seconds == 0 || !costs.hasObservedPlan())
    return cutoff.model;
  return std::max(smallGap * cutoff.seconds, cutoff.seconds - restSeconds);
}

/// Makes the problem by the costs known so far, without the plans that are
/// forbidden.
void VariantSearch::makeProblem() {
  CostedProblem made = costs.makeProblem();
  problem = std::move(made.problem);
  restSeconds = made.restSeconds;
  problem.forbidden = forbidden;
  // Errors in peaks differ between plans. If corrections do not help, a margin
  // is left for them.
  for (solver::StageMemory &stage : problem.stages)
    stage.limit *= (1 - roomOfMisfits * getUselessCorrections()) *
                   exploredLimits[static_cast<size_t>(explored)];
}

/// Solves with the costs known so far. The result stays as it is if there is
/// an error.
Error VariantSearch::solveProblem(const KnownTime &cutoff) {
  makeProblem();
  solver::SolveOptions options;
  // The search stops when the remaining gap is less than the error of the
  // costs.
  options.gap = smallGap;
  options.mostCandidates = request.mostCandidates;
  options.stop = request.stop;
  options.cutoff = getOwnCutoff(cutoff);
  request.report("solving");
  Expected<solver::SolveResult> solved = solver::solve(problem, options);
  if (!solved)
    return solved.takeError();
  result = std::move(*solved);
  return Error::success();
}

Expected<double> VariantSearch::estimate() {
  if (Error error = solveProblem({}))
    return std::move(error);
  return result.time + restSeconds;
}

/// Solves with the costs known so far. Returns whether there is a plan that was
/// not compiled yet.
Expected<bool> VariantSearch::solveNext(const KnownTime &cutoff) {
  // A problem without a plan ends the search, and is no error.
  bool isSolved = true;
  if (Error error = llvm::handleErrors(
          solveProblem(cutoff),
          [&](const solver::NoPlanError &) { isSolved = false; }))
    return std::move(error);
  if (!isSolved)
    return false;
  // A round that leaves room free only has a bound of plans for less memory.
  // One that finds no plan below the cutoff makes an earlier bound better, and
  // one that was cut short before it searched must not make it worse.
  const double bound = result.bound + restSeconds;
  const bool isSearched = result.isProven || result.nodes > 0;
  if ((result.plan || boundSeconds > 0) && explored == 0 &&
      getUselessCorrections() == 0 && (isSearched || bound > boundSeconds))
    boundSeconds = bound;
  return result.plan && !llvm::is_contained(tried, toAssignment(*result.plan));
}

/// Takes the shortest step that fits among those that were compiled to learn
/// costs, because costs may be too high for good plans.
Error VariantSearch::takeObserved() {
  std::vector<std::pair<double, size_t>> fitting;
  for (const auto &[index, observation] :
       llvm::enumerate(costs.getObservations()))
    if (mayFit(observation.measure))
      fitting.emplace_back(observation.measure.seconds, index);
  llvm::sort(fitting);
  for (const auto &[seconds, index] : fitting) {
    if (best || request.isStopped())
      break;
    const Assignment assignment = costs.getObservations()[index].assignment;
    if (Error error =
            compilePlan(toPlan(costs.getContext(), assignment), assignment))
      return error;
    if (Error error =
            refineArenas(costs.getInput(), currentArenas, current.measure))
      return error;
    costs.observe(assignment, current.measure);
    if (fits(current.measure))
      takeCurrent(current.measure.seconds);
  }
  return Error::success();
}

/// Forbids the last plan's options on the stage that works longest. Returns
/// false if the limit on plans is reached, the search was stopped, or little is
/// left to the bound.
bool VariantSearch::leaveLast() {
  if (!result.plan || explored == mostExplored || request.isStopped() ||
      (costs.getContext().layers.size() > fewLayers &&
       best->measure.seconds <= (1 + exploredGap) * boundSeconds))
    return false;
  if (explored == 0) {
    settledProblem = problem;
    settledResult = result;
  }
  ++explored;
  const solver::Evaluation evaluation = solver::evaluate(problem, *result.plan);
  forbidStage(*result.plan,
              static_cast<size_t>(std::max_element(evaluation.busy.begin(),
                                                   evaluation.busy.end()) -
                                  evaluation.busy.begin()));
  return true;
}

/// Solves and compiles until the plan does not change any more. Then tries some
/// plans whose expected time is nearly as short, because the model's times are
/// not exact.
Error VariantSearch::searchRounds(const KnownTime &cutoff) {
  for (int round = 0; round < mostRounds + explored && !request.isStopped();
       ++round) {
    Expected<bool> isNew = solveNext(cutoff);
    if (!isNew)
      return isNew.takeError();
    if (*isNew) {
      if (Error error = tryPlan(*result.plan, toAssignment(*result.plan)))
        return error;
      continue;
    }
    Expected<bool> isConfirmed = confirmBest();
    if (!isConfirmed)
      return isConfirmed.takeError();
    if (!*isConfirmed)
      continue;
    if (best && !leaveLast())
      return Error::success();
    if (best)
      continue;
    if (Error error = takeObserved())
      return error;
    // Its memory corrects the costs, so that there may be a better plan.
    if (!best)
      return Error::success();
  }
  return Error::success();
}

Error VariantSearch::run(const KnownTime &cutoff) {
  if (Error error = searchRounds(cutoff))
    return error;
  if (explored > 0) {
    problem = std::move(settledProblem);
    result = std::move(settledResult);
  }
  // The search was stopped before the first round.
  if (problem.kinds.empty())
    makeProblem();
  // Without a plan below the cutoff a variant needs no bound.
  if (boundSeconds == 0 && (cutoff.seconds == 0 || request.isStopped()))
    boundSeconds = solver::getLeastTime(problem) + restSeconds;
  if (Error error = confirmBest().takeError())
    return error;
  return best ? Error::success() : takeObserved();
}
