//===- StepLiveBound.cpp - Bytes alive in a training step -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FrameInstances.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include <algorithm>

namespace mf::memory {

namespace {

/// The bytes live at each instruction of a routine, and the first instruction
/// with the most.
struct RoutineProfile {
  std::vector<int64_t> bytes;
  int64_t largest = 0;
};

/// The begin (bytes > 0) or end (bytes < 0) of a task buffer.
struct BufferEvent {
  StepMoment moment;
  int64_t bytes;
};

std::vector<BufferEvent> getBufferEvents(const StepProblem &problem) {
  std::vector<BufferEvent> events;
  for (const TaskBuffer &buffer : problem.taskBuffers) {
    int64_t size = problem.alignedSize(buffer.size);
    events.push_back({buffer.begin, size});
    events.push_back({buffer.end, -size});
  }
  std::sort(events.begin(), events.end(),
            [](const BufferEvent &a, const BufferEvent &b) {
              return a.moment < b.moment;
            });
  return events;
}

/// Visits the tasks in order and tracks the sum of the buffers that are live
/// outside of the current one.
class BoundFinder {
public:
  explicit BoundFinder(const StepProblem &problem)
      : problem(problem), instances(problem), events(getBufferEvents(problem)) {
    for (size_t i = 0; i < problem.routines.size(); ++i) {
      RoutineProfile profile;
      profile.bytes =
          getRoutineProfile(problem, instances, static_cast<int64_t>(i));
      profile.largest =
          std::max_element(profile.bytes.begin(), profile.bytes.end()) -
          profile.bytes.begin();
      profiles.push_back(std::move(profile));
    }
    for (const FrameMemory &frame : problem.frames) {
      std::vector<int64_t> after;
      for (size_t phase = 0; phase < frame.phases.size(); ++phase)
        after.push_back(
            getBytesAfterPhase(problem, frame, static_cast<int64_t>(phase)));
      bytesAfter.push_back(std::move(after));
    }
  }

  StepLiveBound find() {
    for (const PersistentBuffer &buffer : problem.persistentBuffers)
      outside += problem.alignedSize(buffer.size);
    bound.bytes = outside;
    for (size_t task = 0; task < problem.tasks.size(); ++task)
      visitTask(static_cast<int64_t>(task));
    return bound;
  }

private:
  void visitTask(int64_t task) {
    int64_t routine = problem.tasks[task].routine;
    int64_t frame = instances.getFrame(routine);
    int64_t phase = instances.getPhase(routine);
    if (frame >= 0 && phase > 0)
      outside -= bytesAfter[frame][phase - 1];
    visitInstructions(task, profiles[routine]);
    if (frame >= 0)
      outside += bytesAfter[frame][phase];
  }

  void visitInstructions(int64_t task, const RoutineProfile &profile) {
    StepMoment start = {task, 0}, next = {task + 1, 0};
    for (; nextEvent < events.size() && !(start < events[nextEvent].moment);
         ++nextEvent)
      outside += events[nextEvent].bytes;
    if (nextEvent == events.size() || !(events[nextEvent].moment < next)) {
      update(task, profile.largest, profile.bytes[profile.largest]);
      return;
    }
    for (int64_t i = 0, e = static_cast<int64_t>(profile.bytes.size()); i < e;
         ++i) {
      for (; nextEvent < events.size() &&
             !(StepMoment{task, i} < events[nextEvent].moment);
           ++nextEvent)
        outside += events[nextEvent].bytes;
      update(task, i, profile.bytes[i]);
    }
    // A buffer that begins or ends after the last instruction is handled at the
    // next task.
  }

  void update(int64_t task, int64_t instruction, int64_t inside) {
    if (outside + inside > bound.bytes)
      bound = {outside + inside, {task, instruction}};
  }

  const StepProblem &problem;
  FrameInstances instances;
  std::vector<BufferEvent> events;
  std::vector<RoutineProfile> profiles;
  /// For each frame and phase, the bytes that are live from that phase to the
  /// next one.
  std::vector<std::vector<int64_t>> bytesAfter;
  size_t nextEvent = 0;
  int64_t outside = 0;
  StepLiveBound bound;
};

} // namespace

StepLiveBound StepProblem::maxLive() const { return BoundFinder(*this).find(); }

std::vector<LiveBuffer> StepProblem::liveAt(StepMoment moment) const {
  using Kind = LiveBuffer::Kind;
  std::vector<LiveBuffer> live;
  for (const PersistentBuffer &buffer : persistentBuffers)
    live.push_back({Kind::Persistent,
                    {},
                    buffer.name,
                    -1,
                    alignedSize(buffer.size),
                    buffer.id});
  for (const TaskBuffer &buffer : taskBuffers)
    if (!(moment < buffer.begin) && moment < buffer.end)
      live.push_back({Kind::TaskLevel,
                      {},
                      buffer.name,
                      -1,
                      alignedSize(buffer.size),
                      buffer.id});
  if (moment.task < 0 || moment.task >= static_cast<int64_t>(tasks.size()))
    return live;

  FrameInstances instances(*this);
  const TaskMemory &task = tasks[moment.task];
  const RoutineMemory &routine = routines[task.routine];
  int64_t owner = instances.getFrame(task.routine) >= 0 ? task.instance : -1;
  for (const Temporary &temporary : routine.temporaries)
    if (temporary.begin <= moment.instruction &&
        moment.instruction < temporary.end)
      live.push_back({Kind::Temporary, routine.name, temporary.name, owner,
                      alignedSize(temporary.size), temporary.id});
  for (const FrameInstance &instance : instances.getAll()) {
    const FrameMemory &frame = frames[instance.frame];
    // The phase that runs in this task, or the last one that ran before it.
    int64_t phase = std::upper_bound(instance.tasks.begin(),
                                     instance.tasks.end(), moment.task) -
                    instance.tasks.begin() - 1;
    if (phase < 0)
      continue;
    bool runs = instance.tasks[phase] == moment.task;
    for (const Residual &residual : frame.residuals) {
      bool isLive = residual.birthPhase <= phase && phase < residual.deathPhase;
      if (runs) {
        auto range = getLiveRange(residual, phase, routine.length);
        isLive = range && range->first <= moment.instruction &&
                 moment.instruction < range->second;
      }
      if (isLive)
        live.push_back({Kind::Residual, frame.name, residual.name,
                        tasks[instance.tasks.front()].instance,
                        alignedSize(residual.size), residual.id});
    }
  }
  std::vector<LiveBuffer> sorted;
  for (size_t index :
       getSortedIndices<size_t>(live.size(), [&](size_t a, size_t b) {
         return live[a].size > live[b].size;
       }))
    sorted.push_back(live[index]);
  return sorted;
}

} // namespace mf::memory
