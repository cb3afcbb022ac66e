//===- MeasuredRates.cpp - Measured rates of a rank's threads -------------===//

#include "MeasuredRates.h"
#include "mf/Exec/Kernels/InstructionSet.h"
#include "mf/Exec/Kernels/MachineRates.h"
#include "mf/Perf/Timeline/KernelTable.h"
#include <chrono>
#include <set>

namespace mf::runner {

static std::set<DType> getProductTypes(const timeline::StepTimeline &timeline) {
  std::set<DType> types;
  for (const timeline::Activity &activity : timeline.activities)
    if (activity.category == timeline::Category::Kernel &&
        activity.engine == Engine::Cube)
      types.insert(timeline::getWorkType(activity));
  return types;
}

timeline::BoundRates measureRates(const timeline::StepTimeline &timeline,
                                  ThreadPool &pool) {
  auto clock = [] {
    return std::chrono::duration<double>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  timeline::BoundRates rates;
  for (const DType type : getProductTypes(timeline))
    rates.flopsPerSecond[type] = measureProductRate(type, pool, clock);
  rates.bytesPerSecond = measureStreamingRate(pool, clock);
  const int threads = pool.getNumThreads();
  rates.source = "measured on " + std::to_string(threads) + " thread" +
                 (threads == 1 ? "" : "s") + " with " +
                 getInstructionSetName().str();
  return rates;
}

} // namespace mf::runner
