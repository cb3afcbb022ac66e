//===- pipeline_simulator.cpp - Benchmark of the pipeline model -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// How many tasks per second one core simulates: from a schedule and its costs
// to the times of all tasks, bubbles and peaks. Making the schedule is timed
// beside it. Then what the simulator of SAPP pipeline balance takes for the
// same, with blocking transfers and without. The best of several runs.
//
//   mf-benchmark-pipeline-simulator
//
//===----------------------------------------------------------------------===//

#include "benchmarks/ProcessorTime.h"
#include "mf/Perf/EventEngine/PipelineModel.h"
#include "mf/Pipeline/Policy.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <limits>

using namespace mf;
using llvm::formatv;
using llvm::outs;

namespace {

struct Shape {
  const char *schedule;
  int64_t stages, chunks, microBatches;
};

events::PipelineCosts makeCosts(const schedule::Schedule &schedule) {
  events::PipelineCosts costs;
  for (int64_t chunk = 0; chunk < schedule.pipeline.getNumChunks(); ++chunk)
    costs.forward.push_back(1 + 0.01 * (chunk % 7));
  costs.activationMemory = costs.forward;
  return costs;
}

void print(const Shape &shape) {
  llvm::ExitOnError check("error: ");
  const schedule::Policy &policy = *check(schedule::findPolicy(shape.schedule));
  schedule::Schedule schedule;
  double building = benchmarks::getProcessorSeconds([&] {
    schedule = check(buildSchedule(
        policy, policy.place(shape.stages, shape.chunks, shape.microBatches)));
  });
  size_t tasks = 0;
  for (llvm::ArrayRef<schedule::Task> stage : schedule.stages)
    tasks += stage.size();
  outs() << formatv("{0,-23}{1,7}{2,7}{3,14}{4,10}{5,11:f3}", shape.schedule,
                    shape.stages, shape.chunks, shape.microBatches, tasks,
                    building);
  for (events::TransferMode mode :
       {events::TransferMode::Free, events::TransferMode::Overlapped,
        events::TransferMode::Blocking}) {
    events::PipelineCosts costs = makeCosts(schedule);
    costs.transfers = mode;
    costs.transferTime = 0.01;
    double best = std::numeric_limits<double>::infinity();
    bool deadlocks = false;
    for (int run = 0; run < 7 && !deadlocks; ++run)
      best = std::min(best, benchmarks::getProcessorSeconds([&] {
                        auto timeline = simulatePipeline(schedule, costs);
                        deadlocks = !timeline;
                        llvm::consumeError(timeline.takeError());
                      }));
    if (deadlocks)
      outs() << formatv("{0,12}", "deadlock");
    else
      outs() << formatv("{0,12:f1}", tasks / best / 1e6);
  }
  outs() << "\n";
}

//===----------------------------------------------------------------------===//
// Beside SAPP
//===----------------------------------------------------------------------===//

/// Seconds that SAPP's simulator (Python) took on a machine of two cores.
struct SappSimulator {
  Shape shape;
  bool blocks;
  double seconds;
};

void printBesidePeer(const SappSimulator &peer) {
  llvm::ExitOnError check("error: ");
  const Shape &shape = peer.shape;
  const schedule::Policy &policy = *check(schedule::findPolicy(shape.schedule));
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 7; ++run)
    best = std::min(best, benchmarks::getProcessorSeconds([&] {
                      schedule::Schedule schedule = check(buildSchedule(
                          policy, policy.place(shape.stages, shape.chunks,
                                               shape.microBatches)));
                      events::PipelineCosts costs = makeCosts(schedule);
                      if (peer.blocks)
                        costs.transfers = events::TransferMode::Blocking;
                      costs.transferTime = 0.01;
                      check(simulatePipeline(schedule, costs));
                    }));
  outs() << formatv(
      "{0,-23}{1,7}{2,7}{3,14}{4,10}{5,11:f2}{6,12:f5}{7,10:f0}x\n",
      shape.schedule, shape.stages, shape.chunks, shape.microBatches,
      peer.blocks ? "blocking" : "free", peer.seconds, best,
      peer.seconds / best);
}

} // namespace

int main() {
  outs()
      << "                                                             making"
         "    million tasks per second\n";
  outs()
      << "schedule                stages chunks micro-batches     tasks      "
         "    s        free  overlapped    blocking\n";
  for (const Shape &shape :
       {Shape{"1f1b", 16, 1, 1024}, Shape{"interleaved", 16, 2, 64},
        Shape{"interleaved", 16, 2, 1024}, Shape{"interleaved", 16, 2, 4096},
        Shape{"interleaved", 8, 4, 1024}, Shape{"zero-bubble-v", 16, 2, 1024}})
    print(shape);
  outs()
      << "\nschedule                stages chunks micro-batches transfers     "
         "SAPP s      ours s     ratio\n";
  for (const SappSimulator &peer :
       {SappSimulator{{"1f1b", 16, 1, 512}, true, 15.9},
        SappSimulator{{"interleaved", 64, 4, 128}, true, 116},
        SappSimulator{{"1f1b", 16, 1, 512}, false, 0.11},
        SappSimulator{{"interleaved", 64, 4, 512}, false, 4.3}})
    printBesidePeer(peer);
}
