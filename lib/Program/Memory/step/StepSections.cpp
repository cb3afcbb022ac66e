//===- StepSections.cpp - Sections of a step's time -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepSections.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::memory {

StepSections::StepSections(const StepProblem &problem,
                           const FrameInstances &instances,
                           llvm::ArrayRef<PlannedFrame> frames)
    : begins(problem.tasks.size(), {0}) {
  auto cut = [&](StepMoment moment) {
    if (moment.task < static_cast<int64_t>(begins.size()))
      begins[moment.task].push_back(moment.instruction);
  };
  for (const TaskBuffer &buffer : problem.taskBuffers) {
    cut(buffer.begin);
    cut(buffer.end);
  }
  for (const FrameInstance &instance : instances.getAll()) {
    if (frames.empty())
      break;
    for (const FramePart &part : frames[instance.frame].parts) {
      cut(getMoment(problem, instance, part.first));
      cut(getMoment(problem, instance, part.last));
    }
  }
  int32_t numSections = 0;
  for (std::vector<int64_t> &instructions : begins) {
    llvm::sort(instructions);
    instructions.erase(llvm::unique(instructions), instructions.end());
    firsts.push_back(numSections);
    numSections += static_cast<int32_t>(instructions.size());
  }
  firsts.push_back(numSections);
}

int32_t StepSections::get(StepMoment moment) const {
  int32_t first = firsts[moment.task];
  if (moment.instruction == 0)
    return first;
  const std::vector<int64_t> &instructions = begins[moment.task];
  return first + static_cast<int32_t>(
                     llvm::lower_bound(instructions, moment.instruction) -
                     instructions.begin());
}

} // namespace mf::memory
