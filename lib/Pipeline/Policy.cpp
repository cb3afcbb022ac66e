//===- Policy.cpp - Policies that make schedules --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Pipeline/Policy.h"
#include "policies/Policies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

namespace mf::schedule {

void Rules::addBefore(const Task &first, const Task &second) {
  if (isThere(first) && isThere(second))
    sink(first, second);
}

void Rules::addOrder(llvm::ArrayRef<Task> tasks) {
  const Task *last = nullptr;
  for (const Task &task : tasks) {
    if (!isThere(task))
      continue;
    if (last)
      sink(*last, task);
    last = &task;
  }
}

void Rules::addSlot(llvm::ArrayRef<Task> tasks) {
  std::vector<Task> there;
  for (const Task &task : tasks)
    if (isThere(task))
      there.push_back(task);
  if (there.size() > 1)
    slotSink(there);
}

std::vector<Task> Rules::getAlternation(llvm::ArrayRef<Task> forwards,
                                        llvm::ArrayRef<Task> backwards,
                                        int64_t warmUp) {
  size_t first = std::min<size_t>(warmUp, forwards.size());
  std::vector<Task> tasks(forwards.begin(), forwards.begin() + first);
  forwards = forwards.drop_front(first);
  for (size_t turn = 0; turn < std::max(forwards.size(), backwards.size());
       ++turn) {
    if (turn < forwards.size())
      tasks.push_back(forwards[turn]);
    if (turn < backwards.size())
      tasks.push_back(backwards[turn]);
  }
  return tasks;
}

void Rules::addAlternation(llvm::ArrayRef<Task> forwards,
                           llvm::ArrayRef<Task> backwards, int64_t warmUp) {
  addOrder(getAlternation(forwards, backwards, warmUp));
}

void Rules::addLimit(llvm::ArrayRef<Task> forwards, llvm::ArrayRef<Task> ends,
                     int64_t count) {
  for (size_t index = 0; index + count < forwards.size() && index < ends.size();
       ++index)
    addBefore(ends[index], forwards[index + count]);
}

int64_t Policy::getStage(int64_t chunk, int64_t stages) const {
  return chunk % stages;
}

llvm::Error Policy::check(const Pipeline &pipeline) const {
  return llvm::Error::success();
}

void Policy::chooseRecompute(Pipeline &pipeline) const {
  for (int64_t chunk = 0; chunk < pipeline.getNumChunks(); ++chunk)
    if (mayRecompute(pipeline, chunk))
      pipeline.addRecompute(chunk);
}

int64_t Policy::getPriority(const Pipeline &pipeline, const Task &task) const {
  if (task.phase == Phase::Forward)
    return 1;
  return task.phase == Phase::WeightGradient ? 2 : 0;
}

Pipeline Policy::place(int64_t stages, int64_t chunksPerStage,
                       int64_t microBatches, int64_t pieces) const {
  Pipeline pipeline{stages, {}, microBatches, pieces};
  for (int64_t chunk = 0; chunk < stages * chunksPerStage; ++chunk)
    pipeline.stageOfChunk.push_back(getStage(chunk, stages));
  return pipeline;
}

llvm::ArrayRef<const Policy *> getPolicies() {
  static const Policy *const policies[] = {getGPipe(),
                                           getOneForwardOneBackward(),
                                           getInterleaved(),
                                           getInterleavedLowMemory(),
                                           getPairedOneForwardOneBackward(),
                                           getPairedSplitBackward(),
                                           getRecomputeInAdvance(),
                                           getRecomputeInBubble(),
                                           getZeroBubbleH1(),
                                           getZeroBubbleH2(),
                                           getZeroBubbleV(),
                                           getHalfMemoryV(),
                                           getLeastMemoryV(),
                                           getDualPipeV(),
                                           getPairedDualPipeV(),
                                           getSequenceOneForwardOneBackward(),
                                           getSequenceInterleaved(),
                                           getSequenceInterleavedLowMemory()};
  return policies;
}

llvm::Expected<const Policy *> findPolicy(llvm::StringRef name) {
  for (const Policy *policy : getPolicies())
    if (policy->getName() == name)
      return policy;
  auto names = llvm::map_range(
      getPolicies(), [](const Policy *policy) { return policy->getName(); });
  return llvm::createStringError("no schedule is called '" + name +
                                 "', expected one of " +
                                 llvm::join(names, ", "));
}

} // namespace mf::schedule
