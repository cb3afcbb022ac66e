//===- StepPlaces.h - Places of buffers in a training step ------*- C++ -*-===//
//
// Facts about a well-formed StepProblem that bound, planner and verifier share.
//
//===----------------------------------------------------------------------===//

#ifndef MF_MEMORY_STEPPLACES_H
#define MF_MEMORY_STEPPLACES_H

#include "mf/Program/Memory/StepPlan.h"
#include <optional>

namespace mf::memory {

/// One instance of a frame: the tasks that run its phases, in order.
struct FrameInstance {
  int64_t frame = 0;
  std::vector<int64_t> tasks;
};

/// The moment of an instance at which an instruction of a phase is next; behind
/// the last one, it is the start of the next task.
StepMoment getMoment(const StepProblem &problem, const FrameInstance &instance,
                     PhaseMoment moment);

class StepPlaces {
public:
  explicit StepPlaces(const StepProblem &problem);

  /// The frame whose phase the routine is, or -1; and which phase.
  int64_t getFrame(int64_t routine) const { return phaseOf[routine].first; }
  int64_t getPhase(int64_t routine) const { return phaseOf[routine].second; }

  /// All instances, in the order of their first tasks.
  const std::vector<FrameInstance> &getInstances() const { return instances; }
  /// The instance that the task works on, or -1.
  int64_t getInstance(int64_t task) const { return instanceOfTask[task]; }

private:
  std::vector<std::pair<int64_t, int64_t>> phaseOf;
  std::vector<FrameInstance> instances;
  std::vector<int64_t> instanceOfTask;
};

/// The instructions [begin, end) of phase `phase` at which the residual is
/// alive; nothing if it is not.
std::optional<std::pair<int64_t, int64_t>>
getLiveRange(const Residual &residual, int64_t phase, int64_t routineLength);

/// Bytes (rounded up) of the frame's residuals that are alive between phase
/// `phase` and the next one.
int64_t getBytesAfterPhase(const StepProblem &problem,
                           const ResidualFrame &frame, int64_t phase);

/// Bytes alive at each instruction of a routine: its temporaries, and the
/// residuals of its own frame's instance.
std::vector<int64_t> getRoutineProfile(const StepProblem &problem,
                                       const StepPlaces &timeline,
                                       int64_t routine);

} // namespace mf::memory

#endif // MF_MEMORY_STEPPLACES_H
