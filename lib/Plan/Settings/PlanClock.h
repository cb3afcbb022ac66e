//===- PlanClock.h - Time limit and progress of planning --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SETTINGS_PLANCLOCK_H
#define MF_LIB_PLAN_SETTINGS_PLANCLOCK_H

#include "mf/Plan/Settings/StepPlanner.h"
#include <chrono>

namespace mf::planner {

/// The time limit of planning, and the function that reports progress.
class PlanClock {
public:
  explicit PlanClock(const PlanRequest &request) : request(request) {}

  double getSecondsLeft() const {
    return request.timeLimit -
           std::chrono::duration<double>(Clock::now() - begin).count();
  }
  /// Restarts the time.
  void restart() { begin = Clock::now(); }
  bool isOver() const {
    return (request.stop && *request.stop) || getSecondsLeft() <= 0;
  }
  void report(const llvm::Twine &text) const {
    if (request.progress)
      request.progress(text.str());
  }

private:
  using Clock = std::chrono::steady_clock;
  const PlanRequest &request;
  Clock::time_point begin = Clock::now();
};

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_PLANCLOCK_H
