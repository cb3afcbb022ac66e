//===- StepVerify.cpp - Legality of a step's memory plan ------------------===//

#include "AddressMap.h"
#include "StableSort.h"
#include "StepTimeline.h"
#include "mf/Memory/StepPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <numeric>

using llvm::Error;
using llvm::Twine;

namespace mf::memory {

namespace {

/// A range of addresses that is taken from `begin` to before `end`.
struct Block {
  std::string name;
  int64_t offset = 0;
  int64_t size = 0;
  Moment begin;
  Moment end;
};

class StepVerifier {
public:
  StepVerifier(const StepProblem &problem, const StepPlan &plan)
      : problem(problem), plan(plan), timeline(problem) {}

  Error verify() {
    if (Error error = verifyShapes())
      return error;
    for (size_t i = 0; i < problem.routines.size(); ++i)
      if (Error error = verifyRoutine(i))
        return error;
    for (size_t i = 0; i < problem.frames.size(); ++i)
      if (Error error = verifyBetweenPhases(i))
        return error;
    if (Error error = verifyBases())
      return error;
    return verifyBlocks();
  }

private:
  Error fail(const Twine &message) { return llvm::createStringError(message); }
  Error verifyShapes();
  Error verifyRoutine(size_t index);
  Error verifyBetweenPhases(size_t frame);
  Error verifyBases();
  Error verifyBlocks();
  Error verifyPlace(const Block &block, const Twine &region, int64_t size);
  Error findOverlap(const std::vector<Block> &blocks);
  std::vector<Block> getTaskBlocks();

  const StepProblem &problem;
  const StepPlan &plan;
  StepTimeline timeline;
};

Error StepVerifier::verifyShapes() {
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

/// Aligned, and within [0, size) of its region.
Error StepVerifier::verifyPlace(const Block &block, const Twine &region,
                                int64_t size) {
  if (block.offset < 0 || block.offset % problem.alignment != 0)
    return fail(block.name + " is at " + Twine(block.offset) + " of " + region +
                ", expected a multiple of " + Twine(problem.alignment));
  if (block.size > size || block.offset > size - block.size)
    return fail(block.name + " of " + Twine(block.size) + " bytes is at " +
                Twine(block.offset) + " of " + region + ", which has " +
                Twine(size));
  return Error::success();
}

/// Looks for two blocks that are taken at the same time and share an address.
Error StepVerifier::findOverlap(const std::vector<Block> &blocks) {
  std::vector<size_t> begins;
  for (size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].size > 0)
      begins.push_back(i);
  std::vector<size_t> ends = begins;
  sortIndices(begins, [&](size_t a, size_t b) {
    return blocks[a].begin < blocks[b].begin;
  });
  sortIndices(
      ends, [&](size_t a, size_t b) { return blocks[a].end < blocks[b].end; });
  AddressMap<size_t> alive;
  size_t nextEnd = 0;
  for (size_t index : begins) {
    const Block &block = blocks[index];
    for (; !(block.begin < blocks[ends[nextEnd]].end); ++nextEnd)
      alive.erase(blocks[ends[nextEnd]].offset);
    if (std::optional<size_t> other =
            alive.insert(block.offset, block.size, index))
      return fail(llvm::formatv("{0} at [{1}, {2}) and {3} at [{4}, {5}) share "
                                "an address and are "
                                "both alive at instruction {6} of task {7}",
                                blocks[*other].name, blocks[*other].offset,
                                blocks[*other].offset + blocks[*other].size,
                                block.name, block.offset,
                                block.offset + block.size,
                                block.begin.instruction, block.begin.task)
                      .str());
  }
  return Error::success();
}

Error StepVerifier::verifyRoutine(size_t index) {
  const Routine &routine = problem.routines[index];
  const RoutineLayout &layout = plan.routines[index];
  int64_t frame = timeline.getFrame(index);
  // Addresses inside the routine: the frame first, then scratch.
  int64_t frameSize = frame >= 0 ? plan.frames[frame].size : 0;
  std::vector<Block> blocks;
  if (layout.scratchSize < 0 || layout.scratchSize % problem.alignment != 0)
    return fail("routine '" + routine.name + "' has scratch of " +
                Twine(layout.scratchSize) + " bytes, expected a multiple of " +
                Twine(problem.alignment));
  for (const auto &[temporary, place] :
       llvm::zip(routine.temporaries, layout.temporaries)) {
    bool inFrame = place.region == TemporaryPlace::Region::Frame;
    Block block = {"temporary '" + temporary.name + "' of routine '" +
                       routine.name + "'",
                   place.offset,
                   problem.alignedSize(temporary.size),
                   {0, temporary.begin},
                   {0, temporary.end}};
    if (Error error = verifyPlace(block, inFrame ? "the frame" : "the scratch",
                                  inFrame ? frameSize : layout.scratchSize))
      return error;
    block.offset += inFrame ? 0 : frameSize;
    blocks.push_back(std::move(block));
  }
  if (frame >= 0)
    for (const auto &[residual, offset] :
         llvm::zip(problem.frames[frame].residuals,
                   plan.frames[frame].residualOffsets))
      if (auto range =
              getLiveRange(residual, timeline.getPhase(index), routine.length))
        blocks.push_back({"residual '" + residual.name + "'",
                          offset,
                          problem.alignedSize(residual.size),
                          {0, range->first},
                          {0, range->second}});
  return findOverlap(blocks);
}

Error StepVerifier::verifyBetweenPhases(size_t index) {
  const Frame &frame = problem.frames[index];
  const FrameLayout &layout = plan.frames[index];
  if (layout.size < 0 || layout.size % problem.alignment != 0)
    return fail("frame '" + frame.name + "' has " + Twine(layout.size) +
                " bytes, expected a multiple of " + Twine(problem.alignment));
  std::vector<Block> blocks;
  for (const auto &[residual, offset] :
       llvm::zip(frame.residuals, layout.residualOffsets)) {
    // Alive from the end of its birth phase to the start of its death phase.
    blocks.push_back(
        {"residual '" + residual.name + "' of frame '" + frame.name + "'",
         offset,
         problem.alignedSize(residual.size),
         {residual.birthPhase, 1},
         {residual.deathPhase, 1}});
    if (Error error = verifyPlace(blocks.back(), "the frame", layout.size))
      return error;
  }
  return findOverlap(blocks);
}

Error StepVerifier::verifyBases() {
  for (const FrameInstance &instance : timeline.getInstances())
    for (int64_t task : instance.tasks)
      if (plan.tasks[task].frameBase !=
          plan.tasks[instance.tasks.front()].frameBase)
        return fail("task " + Twine(task) + " has the frame base " +
                    Twine(plan.tasks[task].frameBase) +
                    ", but the frame was born in task " +
                    Twine(instance.tasks.front()) + " at " +
                    Twine(plan.tasks[instance.tasks.front()].frameBase));
  return Error::success();
}

std::vector<Block> StepVerifier::getTaskBlocks() {
  std::vector<Block> blocks;
  int64_t numTasks = problem.tasks.size();
  for (const FrameInstance &instance : timeline.getInstances()) {
    int64_t first = instance.tasks.front();
    blocks.push_back({"frame '" + problem.frames[instance.frame].name +
                          "' of task " + std::to_string(first),
                      plan.tasks[first].frameBase,
                      plan.frames[instance.frame].size,
                      {first, 0},
                      {instance.tasks.back() + 1, 0}});
  }
  for (const auto &[index, task] : llvm::enumerate(problem.tasks)) {
    int64_t position = index;
    blocks.push_back({"scratch of task " + std::to_string(index),
                      plan.tasks[index].scratchBase,
                      plan.routines[task.routine].scratchSize,
                      {position, 0},
                      {position + 1, 0}});
  }
  for (const auto &[buffer, offset] :
       llvm::zip(problem.taskBuffers, plan.taskBufferOffsets))
    blocks.push_back({"task buffer '" + buffer.name + "'", offset,
                      problem.alignedSize(buffer.size), buffer.begin,
                      buffer.end});
  for (const auto &[buffer, offset] :
       llvm::zip(problem.persistentBuffers, plan.persistentOffsets))
    blocks.push_back({"persistent buffer '" + buffer.name + "'",
                      offset,
                      problem.alignedSize(buffer.size),
                      {-1, 0},
                      {numTasks, 1}});
  return blocks;
}

Error StepVerifier::verifyBlocks() {
  std::vector<Block> blocks = getTaskBlocks();
  for (const Block &block : blocks)
    if (block.size > 0)
      if (Error error = verifyPlace(block, "the arena", plan.arenaSize))
        return error;
  return findOverlap(blocks);
}

} // namespace

Error StepPlan::verify(const StepProblem &problem) const {
  if (Error error = problem.check())
    return error;
  return StepVerifier(problem, *this).verify();
}

} // namespace mf::memory
