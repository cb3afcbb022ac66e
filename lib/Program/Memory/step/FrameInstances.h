//===- FrameInstances.h - Instances of frames in a step ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Data derived from a well-formed StepProblem that the bound, the planner and
// the verifier share.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_MEMORY_STEP_FRAMEINSTANCES_H
#define MF_LIB_PROGRAM_MEMORY_STEP_FRAMEINSTANCES_H

#include "mf/Program/Memory/StepPlan.h"
#include <optional>

namespace mf::memory {

/// Returns the moment of an instance at which an instruction of a phase runs.
/// After the last instruction, it is the start of the next task.
StepMoment getMoment(const StepProblem &problem, const FrameInstance &instance,
                     PhaseMoment moment);

class FrameInstances {
public:
  explicit FrameInstances(const StepProblem &problem);

  /// Return the frame of which the routine is a phase, or -1, and the index of
  /// that phase.
  int64_t getFrame(int64_t routine) const { return phaseOf[routine].first; }
  int64_t getPhase(int64_t routine) const { return phaseOf[routine].second; }

  /// Returns all instances in the order of their first tasks, without bases.
  const std::vector<FrameInstance> &getAll() const { return instances; }
  /// Returns the instance that the task works on, or -1.
  int64_t getInstance(int64_t task) const { return instanceOfTask[task]; }

private:
  std::vector<std::pair<int64_t, int64_t>> phaseOf;
  std::vector<FrameInstance> instances;
  std::vector<int64_t> instanceOfTask;
};

/// Returns the instructions [begin, end) of phase `phase` at which the residual
/// is live, or nothing if it is not live then.
std::optional<std::pair<int64_t, int64_t>>
getLiveRange(const Residual &residual, int64_t phase, int64_t routineLength);

/// Returns the bytes (rounded up) of the frame's residuals that are live
/// between phase `phase` and the next one.
int64_t getBytesAfterPhase(const StepProblem &problem, const FrameMemory &frame,
                           int64_t phase);

/// Returns the bytes that are live at each instruction of a routine: its
/// temporaries, and the residuals of its own frame's instance.
std::vector<int64_t> getRoutineProfile(const StepProblem &problem,
                                       const FrameInstances &instances,
                                       int64_t routine);

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_STEP_FRAMEINSTANCES_H
