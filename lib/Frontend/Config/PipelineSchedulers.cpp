//===- PipelineSchedulers.cpp - The values of pipeline_scheduler ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/PipelineSchedulers.h"
#include "mf/Pipeline/Policy.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

static constexpr PipelineScheduler schedulers[] = {
    {"1f1b", "1f1b", false, false},
    {"gpipe", "gpipe", false, false},
    {"seqpipe", "seq1f1b", true, true},
    {"seqvpp", "seq1f1b-interleaved", true, true},
    {"seqsmartvpp", "seq1f1b-interleaved-low-memory", true, true},
    {"zero_bubble_v", "dualpipe-v", true, false},
};

const PipelineScheduler &getScheduler(const ParallelConfig &config) {
  const PipelineScheduler *found =
      llvm::find_if(schedulers, [&](const PipelineScheduler &scheduler) {
        return scheduler.name == config.pipelineScheduler;
      });
  return found == std::end(schedulers) ? schedulers[0] : *found;
}

const PipelineScheduler &getDefaultScheduler() { return schedulers[0]; }

llvm::ArrayRef<llvm::StringRef> getPipelineSchedulers() {
  static const std::vector<llvm::StringRef> names = [] {
    std::vector<llvm::StringRef> names;
    for (const PipelineScheduler &scheduler : schedulers)
      names.push_back(scheduler.name);
    return names;
  }();
  return names;
}

bool needsInterleave(llvm::StringRef scheduler) {
  return llvm::any_of(schedulers, [&](const PipelineScheduler &known) {
    return known.name == scheduler && known.needsInterleave;
  });
}

llvm::StringRef getScheduleName(const ParallelConfig &config) {
  // A single stage accumulates gradients over its micro-batches in sequence.
  if (config.pipelineStage == 1)
    return config.seqSplitNum > 1 ? "seq1f1b" : schedulers[0].schedule;
  if (config.overlapsBackward)
    return config.detachesWeights ? "1f1b-paired-split" : "1f1b-paired";
  if (config.pairsV && getScheduler(config).name == "zero_bubble_v")
    return "dualpipe-v-paired";
  return getScheduler(config).schedule;
}

llvm::StringRef getScheduleName(llvm::StringRef schedule, int64_t interleave) {
  const bool isInterleaved = interleave > 1;
  if (schedule == "1f1b" && isInterleaved)
    return "interleaved";
  // With one chunk per stage, all policies for sequence pieces produce the same
  // order.
  if (schedule == "seq1f1b" && isInterleaved)
    return "seq1f1b-interleaved";
  if (schedule.starts_with("seq1f1b-") && !isInterleaved)
    return "seq1f1b";
  return schedule;
}

/// True if the second chunks visit the stages in reverse order.
static bool isV(llvm::StringRef schedule) {
  llvm::Expected<const schedule::Policy *> policy =
      schedule::findPolicy(schedule);
  if (policy)
    return (*policy)->getStage(2, 2) == 1 && (*policy)->getStage(3, 2) == 0;
  llvm::consumeError(policy.takeError());
  return false;
}

llvm::StringRef getSchedulerOf(llvm::StringRef schedule) {
  for (const PipelineScheduler &scheduler : schedulers)
    if (scheduler.schedule == schedule)
      return scheduler.name;
  // Its rules are about the V, not about the order of tasks.
  if (isV(schedule))
    return "zero_bubble_v";
  return schedulers[0].name;
}

} // namespace mf
