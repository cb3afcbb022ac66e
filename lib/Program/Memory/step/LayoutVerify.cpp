//===- LayoutVerify.cpp - Legality of the layouts of a step ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayoutVerify.h"
#include "StepBlocks.h"
#include "llvm/ADT/STLExtras.h"
#include <tuple>

using llvm::Error;
using llvm::Twine;

namespace mf::memory {

namespace {

std::string describe(PhaseMoment moment) {
  return "instruction " + std::to_string(moment.instruction) + " of phase " +
         std::to_string(moment.phase);
}

class LayoutVerifier {
public:
  LayoutVerifier(const StepProblem &problem, const StepPlan &plan,
                 const StepPlaces &timeline)
      : problem(problem), plan(plan), timeline(timeline) {}

  Error verify() {
    if (Error error = verifyShapes())
      return error;
    for (size_t i = 0; i < problem.routines.size(); ++i)
      if (Error error = verifyRoutine(i))
        return error;
    for (size_t i = 0; i < problem.frames.size(); ++i)
      if (Error error = verifyBetweenPhases(i))
        return error;
    return Error::success();
  }

private:
  Error fail(const Twine &message) { return llvm::createStringError(message); }
  Error verifyShapes();
  Error verifyParts(size_t frame);
  Error verifyRoutine(size_t index);
  Error verifyBetweenPhases(size_t frame);
  Error verifyPart(const MemoryBlock &block, size_t frame, PhaseMoment first,
                   PhaseMoment last);

  const StepProblem &problem;
  const StepPlan &plan;
  const StepPlaces &timeline;
};

Error LayoutVerifier::verifyShapes() {
  auto count = [&](const char *what, size_t expected, size_t found) {
    return expected == found ? Error::success()
                             : fail(Twine("expected ") + Twine(expected) + " " +
                                    what + ", found " + Twine(found));
  };
  if (Error error = count("frames", problem.frames.size(), plan.frames.size()))
    return error;
  if (Error error =
          count("routines", problem.routines.size(), plan.routines.size()))
    return error;
  if (Error error = count("tasks", problem.tasks.size(), plan.tasks.size()))
    return error;
  if (Error error = count("task buffer offsets", problem.taskBuffers.size(),
                          plan.taskBufferOffsets.size()))
    return error;
  if (Error error =
          count("persistent offsets", problem.persistentBuffers.size(),
                plan.persistentOffsets.size()))
    return error;
  for (size_t i = 0; i < problem.frames.size(); ++i)
    if (Error error = verifyParts(i))
      return error;
  for (const auto &[layout, frame] : llvm::zip(plan.frames, problem.frames))
    if (Error error = count("residual offsets", frame.residuals.size(),
                            layout.residualOffsets.size()))
      return error;
  for (const auto &[layout, routine] :
       llvm::zip(plan.routines, problem.routines))
    if (Error error = count("temporary places", routine.temporaries.size(),
                            layout.temporaries.size()))
      return error;
  return Error::success();
}

/// Checks that the parts of a frame cover it, one after another.
Error LayoutVerifier::verifyParts(size_t index) {
  const ResidualFrame &frame = problem.frames[index];
  const ResidualFrameLayout &layout = plan.frames[index];
  int64_t end = 0;
  for (const auto &[number, part] : llvm::enumerate(layout.parts)) {
    std::string owner =
        ("part " + Twine(number) + " of frame '" + frame.name + "'").str();
    if (part.begin != end || part.begin % problem.alignment != 0 ||
        part.size < 0 || part.size % problem.alignment != 0)
      return fail(owner + " is at " + Twine(part.begin) + " and has " +
                  Twine(part.size) + " bytes, expected it at " + Twine(end) +
                  ", and multiples of " + Twine(problem.alignment));
    auto isValid = [&](PhaseMoment moment) {
      auto numPhases = static_cast<int64_t>(frame.phases.size());
      return moment.phase >= 0 && moment.phase < numPhases &&
             moment.instruction >= 0 &&
             moment.instruction <=
                 problem.routines[frame.phases[moment.phase]].length;
    };
    if (!isValid(part.first) || !isValid(part.last))
      return fail(owner + " is there from " + describe(part.first) + " to " +
                  describe(part.last) + ", which the frame does not have");
    end += part.size;
  }
  if (layout.parts.empty() || layout.size != end)
    return fail("frame '" + frame.name + "' has " + Twine(layout.size) +
                " bytes, but its parts have " + Twine(end));
  return Error::success();
}

/// Checks that a block is inside of one part of the frame, which is in the
/// arena for as long as the block is live.
Error LayoutVerifier::verifyPart(const MemoryBlock &block, size_t frame,
                                 PhaseMoment first, PhaseMoment last) {
  if (block.size == 0)
    return Error::success();
  const FramePart &part =
      plan.frames[frame].parts[plan.frames[frame].getPart(block.offset)];
  if (block.offset + block.size > part.begin + part.size)
    return fail(block.name + " at [" + Twine(block.offset) + ", " +
                Twine(block.offset + block.size) +
                ") lies in two parts of the frame");
  auto isLater = [](PhaseMoment a, PhaseMoment b) {
    return std::tie(a.phase, a.instruction) > std::tie(b.phase, b.instruction);
  };
  if (isLater(part.first, first) || isLater(last, part.last))
    return fail(block.name + " is alive from " + describe(first) + " to " +
                describe(last) + ", but its part of the frame is there from " +
                describe(part.first) + " to " + describe(part.last));
  return Error::success();
}

Error LayoutVerifier::verifyRoutine(size_t index) {
  const RoutineMemory &routine = problem.routines[index];
  const RoutineLayout &layout = plan.routines[index];
  int64_t frame = timeline.getFrame(static_cast<int64_t>(index));
  // Addresses inside of the routine: the frame first, then scratch.
  int64_t frameSize = frame >= 0 ? plan.frames[frame].size : 0;
  std::vector<MemoryBlock> blocks;
  if (layout.scratchSize < 0 || layout.scratchSize % problem.alignment != 0)
    return fail("routine '" + routine.name + "' has scratch of " +
                Twine(layout.scratchSize) + " bytes, expected a multiple of " +
                Twine(problem.alignment));
  for (const auto &[temporary, place] :
       llvm::zip(routine.temporaries, layout.temporaries)) {
    bool inFrame = place.region == TemporaryPlace::Region::Frame;
    MemoryBlock block = {"temporary '" + temporary.name + "' of routine '" +
                             routine.name + "'",
                         place.offset,
                         problem.alignedSize(temporary.size),
                         {0, temporary.begin},
                         {0, temporary.end}};
    if (Error error = verifyPlace(block, problem.alignment,
                                  inFrame ? "the frame" : "the scratch",
                                  inFrame ? frameSize : layout.scratchSize))
      return error;
    int64_t phase = timeline.getPhase(static_cast<int64_t>(index));
    if (inFrame)
      if (Error error = verifyPart(block, frame, {phase, temporary.begin},
                                   {phase, temporary.end}))
        return error;
    block.offset += inFrame ? 0 : frameSize;
    blocks.push_back(std::move(block));
  }
  if (frame >= 0)
    for (const auto &[residual, offset] :
         llvm::zip(problem.frames[frame].residuals,
                   plan.frames[frame].residualOffsets))
      if (auto range = getLiveRange(
              residual, timeline.getPhase(static_cast<int64_t>(index)),
              routine.length))
        blocks.push_back({"residual '" + residual.name + "'",
                          offset,
                          problem.alignedSize(residual.size),
                          {0, range->first},
                          {0, range->second}});
  return findOverlap(blocks);
}

Error LayoutVerifier::verifyBetweenPhases(size_t index) {
  const ResidualFrame &frame = problem.frames[index];
  const ResidualFrameLayout &layout = plan.frames[index];
  std::vector<MemoryBlock> blocks;
  for (const auto &[residual, offset] :
       llvm::zip(frame.residuals, layout.residualOffsets)) {
    // The residual is live from the end of its birth phase to the start of its
    // death phase.
    blocks.push_back(
        {"residual '" + residual.name + "' of frame '" + frame.name + "'",
         offset,
         problem.alignedSize(residual.size),
         {residual.birthPhase, 1},
         {residual.deathPhase, 1}});
    if (Error error = verifyPlace(blocks.back(), problem.alignment, "the frame",
                                  layout.size))
      return error;
    if (Error error = verifyPart(blocks.back(), index,
                                 {residual.birthPhase, residual.birth},
                                 {residual.deathPhase, residual.death}))
      return error;
  }
  return findOverlap(blocks);
}

} // namespace

Error verifyLayouts(const StepProblem &problem, const StepPlan &plan,
                    const StepPlaces &timeline) {
  return LayoutVerifier(problem, plan, timeline).verify();
}

} // namespace mf::memory
