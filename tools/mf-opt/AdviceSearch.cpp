//===- AdviceSearch.cpp - Settings with which a step fits -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "AdviceSearch.h"

using namespace mf::planner;
using llvm::Expected;

namespace mf::tools {

AdviceSearch::AdviceSearch(PlanRequest request, double seconds,
                           const std::atomic<bool> &stop) {
  // The remaining time is for the compile that runs when the share has passed.
  constexpr double searchedShare = 0.75;
  request.stop = &stop;
  request.timeLimit = searchedShare * seconds;
  std::packaged_task<Result()> task([request = std::move(request)] {
    return std::make_shared<Expected<WaySearchResult>>(searchWays(request));
  });
  result = task.get_future();
  thread = std::thread(std::move(task));
}

bool AdviceSearch::wait(int milliseconds) const {
  return result.wait_for(std::chrono::milliseconds(milliseconds)) ==
         std::future_status::ready;
}

Expected<WaySearchResult> AdviceSearch::take() {
  return std::move(*result.get());
}

} // namespace mf::tools
