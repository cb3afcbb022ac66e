//===- AdviceSearch.cpp - Settings with which a step fits -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "AdviceSearch.h"
#include "mf/Frontend/Config/SettingEdit.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "mf/Plan/Solver/NoPlanError.h"
#include <chrono>

using namespace mf::planner;
using llvm::Error;
using llvm::Expected;

namespace mf::tools {

/// Swap is written as layer indices. A YAML with only some sections may not
/// contain the number of layers.
static bool canSwap(const PlanRequest &request) {
  DiagnosticList diagnostics;
  const TrainingConfig config =
      parseTrainingConfig(request.yaml, request.input.fileName, diagnostics);
  if (diagnostics.hasErrors())
    return false;
  Expected<MemorySettings> settings = readSettings(config);
  if (settings)
    return true;
  llvm::consumeError(settings.takeError());
  return false;
}

/// Searches for the smallest change first: layers stay on their stages, and
/// swap settings are kept.
static Expected<PlanAnswer> search(PlanRequest request, double seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  request.timeLimit = seconds;
  request.keep = KeptSettings();
  request.keep.offset = request.keep.swap = true;
  Expected<PlanAnswer> found = planStep(request);
  if (found)
    return found;
  Error error = found.takeError();
  request.timeLimit -=
      std::chrono::duration<double>(Clock::now() - begin).count();
  if (!error.isA<solver::NoPlanError>() || request.timeLimit <= 0 ||
      *request.stop)
    return error;
  consumeError(std::move(error));
  request.keep.offset = false;
  request.keep.swap = !canSwap(request);
  return planStep(request);
}

AdviceSearch::AdviceSearch(PlanRequest request, double seconds,
                           const std::atomic<bool> &stop) {
  // The remaining time is for the compile that runs when the share has passed.
  constexpr double searchedShare = 0.75;
  request.stop = &stop;
  std::packaged_task<Result()> task(
      [request = std::move(request), seconds]() mutable {
        return std::make_shared<Expected<PlanAnswer>>(
            search(std::move(request), searchedShare * seconds));
      });
  result = task.get_future();
  thread = std::thread(std::move(task));
}

bool AdviceSearch::wait(int milliseconds) const {
  return result.wait_for(std::chrono::milliseconds(milliseconds)) ==
         std::future_status::ready;
}

Expected<PlanAnswer> AdviceSearch::take() { return std::move(*result.get()); }

} // namespace mf::tools
