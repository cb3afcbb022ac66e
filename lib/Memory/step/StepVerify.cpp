//===- StepVerify.cpp - Legality of a step's memory plan ------------------===//

#include "StepTimeline.h"
#include "lib/Memory/packing/AddressMap.h"
#include "lib/Memory/packing/StableSort.h"
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
  StepMoment begin;
  StepMoment end;
};

/// A block whose inside may be free at times.
struct Region {
  enum class Kind { Frame, Scratch, Buffer };
  Kind kind;
  Block block;
  /// The number of the frame instance or of the task.
  size_t index = 0;
  /// Of the frame.
  size_t part = 0;

  bool mayShareAddress(const Region &other) const {
    return block.offset < other.block.offset + other.block.size &&
           other.block.offset < block.offset + block.size;
  }
};

std::string describe(PhaseMoment moment) {
  return "instruction " + std::to_string(moment.instruction) + " of phase " +
         std::to_string(moment.phase);
}

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
    return verifyRegions();
  }

private:
  Error fail(const Twine &message) { return llvm::createStringError(message); }
  Error verifyShapes();
  Error verifyRoutine(size_t index);
  Error verifyBetweenPhases(size_t frame);
  Error verifyBases();
  Error verifyRegions();
  Error verifyPlace(const Block &block, const Twine &region, int64_t size);
  Error verifyParts(size_t frame);
  Error verifyPart(const Block &block, size_t frame, PhaseMoment first,
                   PhaseMoment last);
  Error findOverlap(const std::vector<Block> &blocks);
  Error findOverlap(const Region &a, const Region &b);
  void addFrameContents(const FrameInstance &instance, size_t part,
                        std::vector<Block> &blocks);
  void addTemporaries(int64_t task, std::optional<size_t> part,
                      std::vector<Block> &blocks);
  std::vector<Block> getContents(const Region &region);
  StepMoment getStart(StepMoment moment) const;
  std::vector<Region> getRegions();

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

/// The parts of a frame make it up, one after the other.
Error StepVerifier::verifyParts(size_t index) {
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
      int64_t numPhases = frame.phases.size();
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

/// In one part of the frame, which is there for as long as the block.
Error StepVerifier::verifyPart(const Block &block, size_t frame,
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
    int64_t phase = timeline.getPhase(index);
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
  const ResidualFrame &frame = problem.frames[index];
  const ResidualFrameLayout &layout = plan.frames[index];
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
    if (Error error = verifyPart(blocks.back(), index,
                                 {residual.birthPhase, residual.birth},
                                 {residual.deathPhase, residual.death}))
      return error;
  }
  return findOverlap(blocks);
}

Error StepVerifier::verifyBases() {
  for (const FrameInstance &instance : timeline.getInstances()) {
    int64_t first = instance.tasks.front();
    const std::vector<int64_t> &born = plan.tasks[first].frameBases;
    size_t numParts = plan.frames[instance.frame].parts.size();
    for (int64_t task : instance.tasks) {
      const std::vector<int64_t> &bases = plan.tasks[task].frameBases;
      if (bases.size() != numParts)
        return fail("task " + Twine(task) + " has " + Twine(bases.size()) +
                    " frame bases, but its frame has " + Twine(numParts) +
                    " parts");
      for (size_t part = 0; part < numParts; ++part)
        if (bases[part] != born[part])
          return fail("task " + Twine(task) + " has the frame base " +
                      Twine(bases[part]) + ", but the frame was born in task " +
                      Twine(first) + " at " + Twine(born[part]));
    }
  }
  return Error::success();
}

/// Behind the last instruction of a task is where the next one starts.
StepMoment StepVerifier::getStart(StepMoment moment) const {
  if (moment.task < static_cast<int64_t>(problem.tasks.size()) &&
      moment.instruction ==
          problem.routines[problem.tasks[moment.task].routine].length)
    return {moment.task + 1, 0};
  return moment;
}

std::vector<Region> StepVerifier::getRegions() {
  using Kind = Region::Kind;
  std::vector<Region> regions;
  int64_t numTasks = problem.tasks.size();
  for (const auto &[buffer, offset] :
       llvm::zip(problem.persistentBuffers, plan.persistentOffsets))
    regions.push_back({Kind::Buffer,
                       {"persistent buffer '" + buffer.name + "'",
                        offset,
                        problem.alignedSize(buffer.size),
                        {-1, 0},
                        {numTasks, 1}}});
  for (const auto &[index, instance] :
       llvm::enumerate(timeline.getInstances())) {
    int64_t first = instance.tasks.front();
    for (const auto &[number, part] :
         llvm::enumerate(plan.frames[instance.frame].parts))
      regions.push_back({Kind::Frame,
                         {"frame '" + problem.frames[instance.frame].name +
                              "' of task " + std::to_string(first),
                          plan.tasks[first].frameBases[number], part.size,
                          getMoment(problem, instance, part.first),
                          getMoment(problem, instance, part.last)},
                         index,
                         number});
  }
  for (const auto &[index, task] : llvm::enumerate(problem.tasks)) {
    int64_t position = index;
    regions.push_back({Kind::Scratch,
                       {"scratch of task " + std::to_string(index),
                        plan.tasks[index].scratchBase,
                        plan.routines[task.routine].scratchSize,
                        {position, 0},
                        {position + 1, 0}},
                       index});
  }
  for (const auto &[buffer, offset] :
       llvm::zip(problem.taskBuffers, plan.taskBufferOffsets))
    regions.push_back({Kind::Buffer,
                       {"task buffer '" + buffer.name + "'", offset,
                        problem.alignedSize(buffer.size),
                        getStart(buffer.begin), getStart(buffer.end)}});
  llvm::erase_if(regions, [](const Region &region) {
    return region.block.size == 0 || region.block.begin == region.block.end;
  });
  return regions;
}

/// What a task has in scratch or in a part of its frame.
void StepVerifier::addTemporaries(int64_t task, std::optional<size_t> part,
                                  std::vector<Block> &blocks) {
  int64_t routine = problem.tasks[task].routine;
  int64_t frame = timeline.getFrame(routine);
  for (const auto &[temporary, place] :
       llvm::zip(problem.routines[routine].temporaries,
                 plan.routines[routine].temporaries)) {
    bool isInFrame = place.region == TemporaryPlace::Region::Frame;
    if (isInFrame != part.has_value() || temporary.begin >= temporary.end ||
        (part && plan.frames[frame].getPart(place.offset) != *part))
      continue;
    blocks.push_back({"temporary '" + temporary.name + "' in ",
                      isInFrame
                          ? plan.getFrameAddress(task, frame, place.offset)
                          : plan.tasks[task].scratchBase + place.offset,
                      problem.alignedSize(temporary.size),
                      {task, temporary.begin},
                      {task, temporary.end}});
  }
}

void StepVerifier::addFrameContents(const FrameInstance &instance, size_t part,
                                    std::vector<Block> &blocks) {
  for (int64_t task : instance.tasks)
    addTemporaries(task, part, blocks);
  const ResidualFrameLayout &layout = plan.frames[instance.frame];
  for (const auto &[residual, offset] : llvm::zip(
           problem.frames[instance.frame].residuals, layout.residualOffsets))
    if (layout.getPart(offset) == part)
      blocks.push_back(
          {"residual '" + residual.name + "' in ",
           plan.getFrameAddress(instance.tasks.front(), instance.frame, offset),
           problem.alignedSize(residual.size),
           {instance.tasks[residual.birthPhase], residual.birth},
           {instance.tasks[residual.deathPhase], residual.death}});
}

std::vector<Block> StepVerifier::getContents(const Region &region) {
  if (region.kind == Region::Kind::Buffer)
    return {region.block};
  std::vector<Block> blocks;
  if (region.kind == Region::Kind::Frame)
    addFrameContents(timeline.getInstances()[region.index], region.part,
                     blocks);
  else
    addTemporaries(region.index, std::nullopt, blocks);
  for (Block &block : blocks)
    block.name += region.block.name;
  return blocks;
}

Error StepVerifier::findOverlap(const Region &a, const Region &b) {
  std::vector<Block> blocks = getContents(a);
  for (Block &block : getContents(b))
    blocks.push_back(std::move(block));
  return findOverlap(blocks);
}

/// Goes through time and looks into the regions that share addresses.
Error StepVerifier::verifyRegions() {
  std::vector<Region> regions = getRegions();
  for (const Region &region : regions)
    if (Error error = verifyPlace(region.block, "the arena", plan.arenaSize))
      return error;
  std::vector<const Region *> alive;
  for (size_t index :
       getSortedIndices<size_t>(regions.size(), [&](size_t a, size_t b) {
         return regions[a].block.begin < regions[b].block.begin;
       })) {
    const Region &region = regions[index];
    llvm::erase_if(alive, [&](const Region *other) {
      return !(region.block.begin < other->block.end);
    });
    for (const Region *other : alive)
      if (region.mayShareAddress(*other))
        if (Error error = findOverlap(*other, region))
          return error;
    alive.push_back(&region);
  }
  return Error::success();
}

} // namespace

Error StepPlan::verify(const StepProblem &problem) const {
  if (Error error = problem.check())
    return error;
  return StepVerifier(problem, *this).verify();
}

} // namespace mf::memory
