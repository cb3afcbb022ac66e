//===- SchedulePlan.cpp - Order of forward and backward runs --------------===//

#include "passes/schedule/SchedulePlan.h"
#include <algorithm>

namespace mf::passes {

using Phase = ScheduledRun::Phase;

SchedulePlan planOneForwardOneBackward(int64_t stage, int64_t stages,
                                       int64_t microBatches) {
  SchedulePlan plan;
  plan.stage = stage;
  int64_t warmUp = std::min(stages - stage - 1, microBatches);
  int64_t forward = 0, backward = 0;
  while (forward < warmUp)
    plan.runs.push_back({Phase::Forward, forward++});
  while (forward < microBatches) {
    plan.runs.push_back({Phase::Forward, forward++});
    plan.runs.push_back({Phase::Backward, backward++});
  }
  while (backward < microBatches)
    plan.runs.push_back({Phase::Backward, backward++});
  return plan;
}

int64_t SchedulePlan::getMaxInFlight() const {
  int64_t inFlight = 0, most = 0;
  for (const ScheduledRun &run : runs) {
    inFlight += run.phase == Phase::Forward ? 1 : -1;
    most = std::max(most, inFlight);
  }
  return most;
}

llvm::Error SchedulePlan::verify(int64_t microBatches) const {
  auto fail = [&](const char *text, int64_t microBatch) {
    return llvm::createStringError(std::string("stage ") +
                                   std::to_string(stage) + ": micro-batch " +
                                   std::to_string(microBatch) + " " + text);
  };
  std::vector<int> state(microBatches, 0);
  for (const ScheduledRun &run : runs) {
    if (run.microBatch < 0 || run.microBatch >= microBatches)
      return fail("does not exist", run.microBatch);
    int expected = run.phase == Phase::Forward ? 0 : 1;
    if (state[run.microBatch]++ != expected)
      return fail("does not run forward and then backward, once each",
                  run.microBatch);
  }
  for (int64_t index = 0; index < microBatches; ++index)
    if (state[index] != 2)
      return fail("does not run backward", index);
  return llvm::Error::success();
}

void SchedulePlan::print(llvm::raw_ostream &os) const {
  os << "stage " << stage << ":";
  for (const ScheduledRun &run : runs)
    os << (run.phase == Phase::Forward ? " F" : " B") << run.microBatch;
  os << "\n";
}

} // namespace mf::passes
