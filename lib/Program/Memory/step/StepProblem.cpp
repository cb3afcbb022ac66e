//===- StepProblem.cpp - Well-formed training steps -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Memory/StepProblem.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using llvm::Error;
using llvm::Twine;

namespace mf::memory {

namespace {

/// Checks a problem part by part, in an order in which each part may rely on
/// the previous ones.
class Checker {
public:
  explicit Checker(const StepProblem &problem) : problem(problem) {}

  Error check() {
    if (problem.alignment <= 0)
      return fail("the alignment is " + Twine(problem.alignment) +
                  ", expected a positive number");
    if (Error error = checkRoutines())
      return error;
    if (Error error = checkFrames())
      return error;
    if (Error error = checkTasks())
      return error;
    if (Error error = checkTaskBuffers())
      return error;
    return checkTotal();
  }

private:
  Error fail(const Twine &message) { return llvm::createStringError(message); }

  Error checkRoutines() {
    for (const RoutineMemory &routine : problem.routines) {
      if (routine.length <= 0)
        return fail("routine '" + routine.name + "' has " +
                    Twine(routine.length) +
                    " instructions, expected at least 1");
      for (const Temporary &temporary : routine.temporaries) {
        std::string owner = "temporary '" + temporary.name + "' of routine '" +
                            routine.name + "'";
        if (temporary.begin < 0 || temporary.begin >= temporary.end ||
            temporary.end > routine.length)
          return fail(owner + " is alive at [" + Twine(temporary.begin) + ", " +
                      Twine(temporary.end) +
                      "), expected a part of the routine's [0, " +
                      Twine(routine.length) + ")");
        if (temporary.size < 0)
          return fail(owner + " has the negative size " +
                      Twine(temporary.size));
      }
    }
    return Error::success();
  }

  Error checkFrames() {
    phaseOf.assign(problem.routines.size(), {-1, -1});
    for (const auto &[index, frame] : llvm::enumerate(problem.frames)) {
      for (const auto &[phase, routine] : llvm::enumerate(frame.phases)) {
        if (routine < 0 ||
            routine >= static_cast<int64_t>(problem.routines.size()))
          return fail("phase " + Twine(phase) + " of frame '" + frame.name +
                      "' is routine " + Twine(routine) + ", but there are " +
                      Twine(problem.routines.size()));
        if (phaseOf[routine].first >= 0)
          return fail("routine '" + problem.routines[routine].name +
                      "' is a phase of frame '" +
                      problem.frames[phaseOf[routine].first].name +
                      "' and again of frame '" + frame.name + "'");
        phaseOf[routine] = {index, phase};
      }
      for (const Residual &residual : frame.residuals)
        if (Error error = checkResidual(frame, residual))
          return error;
    }
    return Error::success();
  }

  Error checkResidual(const FrameMemory &frame, const Residual &residual) {
    std::string owner =
        "residual '" + residual.name + "' of frame '" + frame.name + "'";
    auto numPhases = static_cast<int64_t>(frame.phases.size());
    if (residual.birthPhase < 0 || residual.birthPhase >= residual.deathPhase ||
        residual.deathPhase >= numPhases)
      return fail(owner + " is born in phase " + Twine(residual.birthPhase) +
                  " and dies in phase " + Twine(residual.deathPhase) +
                  ", expected a later one of the frame's " + Twine(numPhases));
    const RoutineMemory &birth =
        problem.routines[frame.phases[residual.birthPhase]];
    const RoutineMemory &death =
        problem.routines[frame.phases[residual.deathPhase]];
    if (residual.birth < 0 || residual.birth >= birth.length)
      return fail(owner + " is born at instruction " + Twine(residual.birth) +
                  " of '" + birth.name + "', which has " + Twine(birth.length));
    if (residual.death < 0 || residual.death > death.length)
      return fail(owner + " dies at instruction " + Twine(residual.death) +
                  " of '" + death.name + "', which has " + Twine(death.length));
    if (residual.size < 0)
      return fail(owner + " has the negative size " + Twine(residual.size));
    return Error::success();
  }

  Error checkTasks() {
    instancesOf.assign(problem.frames.size(), 0);
    runsOf.assign(problem.routines.size(), 0);
    /// The number of phases done, by (frame, instance).
    std::map<std::pair<int64_t, int64_t>, int64_t> done;
    for (const auto &[index, task] : llvm::enumerate(problem.tasks)) {
      if (task.routine < 0 ||
          task.routine >= static_cast<int64_t>(problem.routines.size()))
        return fail("task " + Twine(index) + " runs routine " +
                    Twine(task.routine) + ", but there are " +
                    Twine(problem.routines.size()));
      ++runsOf[task.routine];
      auto [frame, phase] = phaseOf[task.routine];
      if (frame < 0)
        continue;
      int64_t &next = done[{frame, task.instance}];
      if (phase != next)
        return fail("task " + Twine(index) + " runs phase " + Twine(phase) +
                    " of frame '" + problem.frames[frame].name +
                    "' for instance " + Twine(task.instance) +
                    ", expected phase " + Twine(next));
      if (next++ == 0)
        ++instancesOf[frame];
    }
    for (const auto &[key, phases] : done) {
      const FrameMemory &frame = problem.frames[key.first];
      if (phases != static_cast<int64_t>(frame.phases.size()))
        return fail("instance " + Twine(key.second) + " of frame '" +
                    frame.name + "' runs " + Twine(phases) + " of its " +
                    Twine(frame.phases.size()) + " phases");
    }
    return Error::success();
  }

  Error checkTaskBuffers() {
    for (const TaskBuffer &buffer : problem.taskBuffers) {
      if (Error error = checkMoment(buffer, "begins", buffer.begin))
        return error;
      if (Error error = checkMoment(buffer, "ends", buffer.end))
        return error;
      if (!(buffer.begin < buffer.end))
        return fail("task buffer '" + buffer.name + "' begins at (" +
                    Twine(buffer.begin.task) + ", " +
                    Twine(buffer.begin.instruction) +
                    ") and ends no later, at (" + Twine(buffer.end.task) +
                    ", " + Twine(buffer.end.instruction) + ")");
    }
    return Error::success();
  }

  Error checkMoment(const TaskBuffer &buffer, const char *what,
                    StepMoment moment) {
    auto numTasks = static_cast<int64_t>(problem.tasks.size());
    bool isPastLast = moment.task == numTasks && moment.instruction == 0;
    if (isPastLast)
      return Error::success();
    if (moment.task < 0 || moment.task >= numTasks)
      return fail("task buffer '" + Twine(buffer.name) + "' " + what +
                  " in task " + Twine(moment.task) + ", but there are " +
                  Twine(numTasks));
    const RoutineMemory &routine =
        problem.routines[problem.tasks[moment.task].routine];
    if (moment.instruction < 0 || moment.instruction > routine.length)
      return fail("task buffer '" + Twine(buffer.name) + "' " + what +
                  " at instruction " + Twine(moment.instruction) + " of task " +
                  Twine(moment.task) + ", whose routine '" + routine.name +
                  "' has " + Twine(routine.length));
    return Error::success();
  }

  Error checkTotal() {
    for (const auto &[index, routine] : llvm::enumerate(problem.routines))
      for (const Temporary &temporary : routine.temporaries)
        if (Error error = addBytes("temporary '" + temporary.name +
                                       "' of routine '" + routine.name + "'",
                                   temporary.size, 1 + runsOf[index]))
          return error;
    for (const auto &[index, frame] : llvm::enumerate(problem.frames))
      for (const Residual &residual : frame.residuals)
        if (Error error = addBytes("residual '" + residual.name +
                                       "' of frame '" + frame.name + "'",
                                   residual.size, 1 + instancesOf[index]))
          return error;
    for (const TaskBuffer &buffer : problem.taskBuffers)
      if (Error error =
              addBytes("task buffer '" + buffer.name + "'", buffer.size, 1))
        return error;
    for (const PersistentBuffer &buffer : problem.persistentBuffers)
      if (Error error = addBytes("persistent buffer '" + buffer.name + "'",
                                 buffer.size, 1))
        return error;
    return Error::success();
  }

  Error addBytes(const Twine &owner, int64_t size, int64_t count) {
    constexpr int64_t limit = std::numeric_limits<int64_t>::max() / 4;
    if (size < 0)
      return fail(owner + " has the negative size " + Twine(size));
    int64_t bytes = 0;
    if (size > limit || problem.alignment > limit ||
        llvm::MulOverflow(size + problem.alignment, count, bytes) ||
        llvm::AddOverflow(totalBytes, bytes, totalBytes) || totalBytes > limit)
      return fail("sizes up to " + owner + " exceed 2^61 bytes");
    return Error::success();
  }

  const StepProblem &problem;
  /// For each routine, the frame and the phase that it is, or -1.
  std::vector<std::pair<int64_t, int64_t>> phaseOf;
  /// For each frame and each routine, how often the tasks use it.
  std::vector<int64_t> instancesOf;
  std::vector<int64_t> runsOf;
  int64_t totalBytes = 0;
};

} // namespace

Error StepProblem::check() const { return Checker(*this).check(); }

} // namespace mf::memory
