//===- ExpandedStep.cpp - A step as plain buffers -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpandedStep.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

namespace mf::memory {

namespace {

class Expander {
public:
  Expander(const StepProblem &step, const StepPlan *plan)
      : step(step), plan(plan), starts(1, 0) {
    for (const TaskMemory &task : step.tasks)
      starts.push_back(starts.back() + step.routines[task.routine].length);
    if (plan)
      expanded.problem.capacity = plan->arenaSize;
  }

  ExpandedStep run() {
    int64_t end = std::max<int64_t>(1, starts.back());
    for (size_t i = 0; i < step.persistentBuffers.size(); ++i)
      add(step.persistentBuffers[i].size, 0, end,
          plan ? plan->persistentOffsets[i] : 0);
    for (size_t i = 0; i < step.taskBuffers.size(); ++i)
      add(step.taskBuffers[i].size, timeOf(step.taskBuffers[i].begin),
          timeOf(step.taskBuffers[i].end),
          plan ? plan->taskBufferOffsets[i] : 0);
    for (size_t task = 0; task < step.tasks.size(); ++task)
      addTemporaries(task);
    addFrames();
    return std::move(expanded);
  }

private:
  int64_t timeOf(StepMoment moment) const {
    return starts[moment.task] + moment.instruction;
  }

  void add(int64_t size, int64_t lower, int64_t upper, int64_t offset) {
    if (lower == upper)
      return;
    AllocationBuffer buffer;
    buffer.id = std::to_string(expanded.problem.buffers.size());
    buffer.lower = lower;
    buffer.upper = upper;
    buffer.size = step.alignedSize(size);
    buffer.alignment = step.alignment;
    expanded.problem.buffers.push_back(buffer);
    if (plan)
      expanded.offsets.push_back(offset);
  }

  /// Where an offset of the task's frame is.
  int64_t getFrameAddress(size_t task, int64_t offset) const {
    for (const FrameInstance &instance : plan->instances)
      if (llvm::is_contained(instance.tasks, static_cast<int64_t>(task)))
        for (size_t i = instance.bases.size(); i-- > 0;)
          if (const FramePart &part = plan->frames[instance.frame].parts[i];
              part.begin <= offset)
            return instance.bases[i] + offset - part.begin;
    return 0;
  }

  void addTemporaries(size_t task) {
    int64_t routine = step.tasks[task].routine;
    for (size_t i = 0; i < step.routines[routine].temporaries.size(); ++i) {
      const Temporary &temporary = step.routines[routine].temporaries[i];
      int64_t offset = 0;
      if (plan) {
        const TemporaryPlace &place = plan->routines[routine].temporaries[i];
        offset = place.isInFrame ? getFrameAddress(task, place.offset)
                                 : plan->scratchBases[task] + place.offset;
      }
      add(temporary.size, starts[task] + temporary.begin,
          starts[task] + temporary.end, offset);
    }
  }

  void addFrames() {
    for (size_t f = 0; f < step.frames.size(); ++f) {
      std::map<int64_t, std::vector<int64_t>> tasksOf;
      for (size_t t = 0; t < step.tasks.size(); ++t)
        for (int64_t phase : step.frames[f].phases)
          if (phase == step.tasks[t].routine)
            tasksOf[step.tasks[t].instance].push_back(t);
      for (const auto &[instance, tasks] : tasksOf)
        for (size_t r = 0; r < step.frames[f].residuals.size(); ++r) {
          const Residual &residual = step.frames[f].residuals[r];
          add(residual.size,
              starts[tasks[residual.birthPhase]] + residual.birth,
              starts[tasks[residual.deathPhase]] + residual.death,
              plan ? getFrameAddress(tasks[0],
                                     plan->frames[f].residualOffsets[r])
                   : 0);
        }
    }
  }

  const StepProblem &step;
  const StepPlan *plan;
  /// By task: the time at which it starts.
  std::vector<int64_t> starts;
  ExpandedStep expanded;
};

} // namespace

ExpandedStep expandStep(const StepProblem &step, const StepPlan *plan) {
  return Expander(step, plan).run();
}

} // namespace mf::memory
