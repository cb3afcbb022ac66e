//===- Policy.cpp - How schedules are made --------------------------------===//

#include "mf/Schedule/Policy.h"
#include "policies/Policies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>

namespace mf::schedule {

void Rules::addOrder(llvm::ArrayRef<Task> tasks) {
  for (size_t index = 1; index < tasks.size(); ++index)
    addBefore(tasks[index - 1], tasks[index]);
}

void Rules::addAlternation(llvm::ArrayRef<Task> forwards,
                           llvm::ArrayRef<Task> backwards, int64_t warmUp) {
  addOrder(forwards);
  addOrder(backwards);
  if (forwards.empty())
    return;
  int64_t count = forwards.size();
  warmUp = std::min(warmUp, count - 1);
  for (int64_t index = 0; warmUp + index < count; ++index) {
    addBefore(forwards[warmUp + index], backwards[index]);
    if (warmUp + index + 1 < count)
      addBefore(backwards[index], forwards[warmUp + index + 1]);
  }
}

int64_t Policy::getStage(int64_t chunk, int64_t stages) const {
  return chunk % stages;
}

llvm::Error Policy::check(const Pipeline &pipeline) const {
  return llvm::Error::success();
}

int64_t Policy::getPriority(const Pipeline &pipeline, const Task &task) const {
  if (task.phase == Phase::Forward)
    return 1;
  return task.phase == Phase::WeightGradient ? 2 : 0;
}

Pipeline Policy::place(int64_t stages, int64_t chunksPerStage,
                       int64_t microBatches) const {
  Pipeline pipeline{stages, {}, microBatches};
  for (int64_t chunk = 0; chunk < stages * chunksPerStage; ++chunk)
    pipeline.stageOfChunk.push_back(getStage(chunk, stages));
  return pipeline;
}

llvm::ArrayRef<const Policy *> getPolicies() {
  static const Policy *const policies[] = {getGPipe(),
                                           getOneForwardOneBackward()};
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
