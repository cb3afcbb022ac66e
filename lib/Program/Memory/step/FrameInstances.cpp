//===- FrameInstances.cpp - Instances of frames in a step -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FrameInstances.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>
#include <numeric>

namespace mf::memory {

FrameInstances::FrameInstances(const StepProblem &problem)
    : phaseOf(problem.routines.size(), {-1, -1}) {
  for (const auto &[index, frame] : llvm::enumerate(problem.frames))
    for (const auto &[phase, routine] : llvm::enumerate(frame.phases))
      phaseOf[routine] = {index, phase};
  std::map<std::pair<int64_t, int64_t>, int64_t> indexOf;
  for (const auto &[index, task] : llvm::enumerate(problem.tasks)) {
    int64_t frame = getFrame(task.routine);
    if (frame < 0) {
      instanceOfTask.push_back(-1);
      continue;
    }
    auto [it, isNew] =
        indexOf.try_emplace({frame, task.instance}, instances.size());
    if (isNew)
      instances.push_back({frame, {}, {}});
    instances[it->second].tasks.push_back(static_cast<int64_t>(index));
    instanceOfTask.push_back(it->second);
  }
}

StepMoment getMoment(const StepProblem &problem, const FrameInstance &instance,
                     PhaseMoment moment) {
  int64_t task = instance.tasks[moment.phase];
  if (moment.instruction < problem.routines[problem.tasks[task].routine].length)
    return {task, moment.instruction};
  return {task + 1, 0};
}

std::optional<std::pair<int64_t, int64_t>>
getLiveRange(const Residual &residual, int64_t phase, int64_t routineLength) {
  int64_t begin = phase < residual.birthPhase    ? routineLength
                  : phase == residual.birthPhase ? residual.birth
                                                 : 0;
  int64_t end = phase > residual.deathPhase    ? 0
                : phase == residual.deathPhase ? residual.death
                                               : routineLength;
  if (begin >= end)
    return std::nullopt;
  return std::make_pair(begin, end);
}

int64_t getBytesAfterPhase(const StepProblem &problem, const FrameMemory &frame,
                           int64_t phase) {
  int64_t bytes = 0;
  for (const Residual &residual : frame.residuals)
    if (residual.birthPhase <= phase && phase < residual.deathPhase)
      bytes += problem.alignedSize(residual.size);
  return bytes;
}

std::vector<int64_t> getRoutineProfile(const StepProblem &problem,
                                       const FrameInstances &instances,
                                       int64_t routineIndex) {
  const RoutineMemory &routine = problem.routines[routineIndex];
  std::vector<int64_t> profile(routine.length + 1, 0);
  auto add = [&](int64_t begin, int64_t end, int64_t size) {
    profile[begin] += problem.alignedSize(size);
    profile[end] -= problem.alignedSize(size);
  };
  for (const Temporary &temporary : routine.temporaries)
    add(temporary.begin, temporary.end, temporary.size);
  if (int64_t frame = instances.getFrame(routineIndex); frame >= 0)
    for (const Residual &residual : problem.frames[frame].residuals)
      if (auto range = getLiveRange(residual, instances.getPhase(routineIndex),
                                    routine.length))
        add(range->first, range->second, residual.size);
  std::partial_sum(profile.begin(), profile.end(), profile.begin());
  profile.pop_back();
  return profile;
}

} // namespace mf::memory
