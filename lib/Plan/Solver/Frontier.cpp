//===- Frontier.cpp - Step time over memory limits ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/Solver.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace mf::solver {

Problem shiftLimits(const Problem &problem, double limit) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const StageMemory &stage : problem.stages)
    largest = std::max(largest, stage.limit);
  Problem moved = problem;
  for (StageMemory &stage : moved.stages)
    stage.limit = stage.limit == largest
                      ? limit
                      : std::max(0.0, limit - (largest - stage.limit));
  return moved;
}

static int64_t getTightestStage(const Problem &problem, const Plan &plan) {
  Evaluation evaluation = evaluate(problem, plan);
  int64_t tightest = -1;
  double least = std::numeric_limits<double>::infinity();
  for (auto [index, stage] : llvm::enumerate(problem.stages)) {
    double left = stage.limit - evaluation.peaks[index];
    if (left >= least)
      continue;
    least = left;
    tightest = static_cast<int64_t>(index);
  }
  return tightest;
}

llvm::Expected<std::vector<FrontierPoint>>
solveFrontier(const Problem &problem, llvm::ArrayRef<double> limits,
              const SolveOptions &options) {
  if (llvm::Error error = problem.check())
    return error;
  std::vector<FrontierPoint> points;
  for (double limit : limits)
    points.push_back({limit, std::nullopt, -1});
  std::vector<size_t> order(limits.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](size_t one, size_t other) {
    return limits[one] != limits[other] ? limits[one] < limits[other]
                                        : one < other;
  });
  // A plan for a small memory limit also fits a larger one.
  SolveOptions each = options;
  int64_t left = options.mostCandidates;
  for (auto [done, index] : llvm::enumerate(order)) {
    if (options.mostCandidates > 0)
      each.mostCandidates = std::max<int64_t>(
          1, left / static_cast<int64_t>(order.size() - done));
    Problem moved = shiftLimits(problem, limits[index]);
    llvm::Expected<SolveResult> result = solve(moved, each);
    if (!result) {
      llvm::Error other =
          llvm::handleErrors(result.takeError(), [](const NoPlanError &) {});
      if (other)
        return std::move(other);
      continue;
    }
    left = std::max<int64_t>(0, left - result->candidates);
    if (result->plan) {
      each.incumbents.push_back(*result->plan);
      points[index].tightestStage = getTightestStage(moved, *result->plan);
    }
    points[index].result = std::move(*result);
  }
  return points;
}

} // namespace mf::solver
