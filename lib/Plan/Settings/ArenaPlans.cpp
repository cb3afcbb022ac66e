//===- ArenaPlans.cpp - Arenas as mf-opt plans them -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/ArenaPlans.h"

using namespace mf;
using namespace mf::planner;
using llvm::Error;
using llvm::Expected;

static Expected<int64_t> planArena(const CompilerInput &input,
                                   const memory::StepProblem &problem) {
  memory::StepPlanOptions options;
  options.memo = input.memo;
  Expected<memory::StepPlan> plan = memory::planStep(problem, options);
  if (!plan)
    return plan.takeError();
  if (Error error = plan->verify(problem))
    return std::move(error);
  return plan->arenaSize;
}

Error planner::refineArenas(const CompilerInput &input,
                            llvm::ArrayRef<memory::StepProblem> problems,
                            llvm::ArrayRef<size_t> stages, StepMeasure &measure,
                            size_t numThreads) {
  const std::vector<std::string> errors = runInParallel(
      stages.size(),
      [&](size_t index) -> Error {
        StageMeasure &stage = measure.stages[stages[index]];
        // The bytes of the trainer do not depend on a plan.
        if (stage.isExact)
          return Error::success();
        Expected<int64_t> bytes = planArena(input, problems[stages[index]]);
        if (!bytes)
          return bytes.takeError();
        stage.peakBytes = *bytes;
        stage.isExact = true;
        return Error::success();
      },
      numThreads);
  for (const auto &[index, error] : llvm::enumerate(errors))
    if (!error.empty())
      return llvm::createStringError(
          "stage " + llvm::Twine(stages[index]) +
          " cannot be planned in device memory: " + error);
  return Error::success();
}

Error planner::refineArenas(const CompilerInput &input,
                            llvm::ArrayRef<memory::StepProblem> problems,
                            StepMeasure &measure, size_t numThreads) {
  std::vector<size_t> stages;
  for (const auto &[index, stage] : llvm::enumerate(measure.stages))
    if (!stage.isExact)
      stages.push_back(index);
  return refineArenas(input, problems, stages, measure, numThreads);
}
