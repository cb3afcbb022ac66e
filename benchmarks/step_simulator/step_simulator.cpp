//===- step_simulator.cpp - Benchmark of the engine below simulators ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// How many items (kernels, waits, records, rendezvous) per second one core
// simulates, building the queues included: with all periods simulated, and with
// those that repeat skipped. Fails if the two differ. The best of several runs;
// the memory is the most that the process had so far.
//
//   mf-benchmark-step-simulator
//
//===----------------------------------------------------------------------===//

#include "BenchmarkStep.h"
#include "benchmarks/ProcessorTime.h"
#include "mf/Perf/EventEngine/CriticalPath.h"
#include "mf/Pipeline/Policy.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <limits>
#include <optional>
#include <sys/resource.h>

using namespace mf;
using namespace mf::benchmarks;
using llvm::formatv;
using llvm::outs;

namespace {

double getMegabytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct SpeedResult {
  double building = std::numeric_limits<double>::infinity();
  double simulating = std::numeric_limits<double>::infinity();
  int64_t items = 0, skipped = 0;
  double end = 0;
  size_t pathSteps = 0;

  double getSpeed() const {
    return static_cast<double>(items) / (building + simulating) / 1e6;
  }
};

SpeedResult measure(const schedule::Schedule &schedule, const StepShape &shape,
                    bool hasMarks) {
  llvm::ExitOnError check("error: ");
  SpeedResult result;
  for (int run = 0; run < 3; ++run) {
    std::optional<BenchmarkStep> queues;
    double building =
        getProcessorSeconds([&] { queues.emplace(schedule, shape, hasMarks); });
    events::Timeline timeline;
    double simulating = getProcessorSeconds(
        [&] { timeline = check(events::simulate(queues->get())); });
    result.building = std::min(result.building, building);
    result.simulating = std::min(result.simulating, simulating);
    result.items = queues->getNumItems();
    result.skipped = timeline.getNumSkipped();
    result.end = timeline.getEnd();
    if (run == 0)
      result.pathSteps = findCriticalPath(queues->get(), timeline).size();
  }
  return result;
}

void print(const StepShape &shape) {
  llvm::ExitOnError check("error: ");
  const schedule::Policy &policy = *check(schedule::findPolicy(shape.schedule));
  schedule::Schedule schedule = check(buildSchedule(
      policy, policy.place(shape.stages, shape.chunks, shape.microBatches)));
  SpeedResult all = measure(schedule, shape, false);
  SpeedResult marked = measure(schedule, shape, true);
  if (all.end != marked.end || all.pathSteps != marked.pathSteps)
    check(llvm::createStringError("skipping changed the result"));
  outs() << formatv(
      "{0,-12}{1,7}{2,7}{3,14}{4,8}{5,12}{6,9:f3}{7,9:f3}{8,9:f1}{9,9:f3}"
      "{10,9:f1}{11,9:f1}{12,8:f0}\n",
      shape.schedule, shape.stages, shape.chunks, shape.microBatches,
      shape.kernels, all.items, all.building, all.simulating, all.getSpeed(),
      marked.simulating, 100.0 * marked.skipped / marked.items,
      marked.getSpeed(), getMegabytes());
}

} // namespace

int main() {
  outs() << "                                                                  "
            "   simulate all             skip periods\n"
            "schedule     stages chunks micro-batches kernels       items  "
            "build s    run s     M/s    run s        %      M/s      MB\n";
  for (const StepShape &shape :
       {StepShape{"1f1b", 16, 1, 32, 100}, StepShape{"1f1b", 16, 1, 128, 100},
        StepShape{"1f1b", 16, 1, 512, 100}, StepShape{"1f1b", 16, 1, 2048, 100},
        StepShape{"interleaved", 16, 2, 512, 100},
        StepShape{"1f1b", 16, 1, 512, 10}, StepShape{"1f1b", 16, 1, 8192, 10},
        StepShape{"1f1b", 16, 1, 65536, 10}})
    print(shape);
}
