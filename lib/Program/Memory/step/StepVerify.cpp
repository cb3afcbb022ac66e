//===- StepVerify.cpp - Legality of a step's memory plan ------------------===//

#include "LayoutVerify.h"
#include "StepBlocks.h"
#include "StepPlaces.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "mf/Program/Memory/StepPlan.h"
#include "llvm/ADT/STLExtras.h"

using llvm::Error;
using llvm::Twine;

namespace mf::memory {

namespace {

/// A block whose inside may be free at times.
struct Region {
  enum class Kind { Frame, Scratch, Buffer };
  Kind kind;
  MemoryBlock block;
  /// The number of the frame instance or of the task.
  size_t index = 0;
  /// The part of the frame.
  size_t part = 0;

  bool mayShareAddress(const Region &other) const {
    return block.offset < other.block.offset + other.block.size &&
           other.block.offset < block.offset + block.size;
  }
};

class StepVerifier {
public:
  StepVerifier(const StepProblem &problem, const StepPlan &plan)
      : problem(problem), plan(plan), timeline(problem) {}

  Error verify() {
    if (Error error = verifyLayouts(problem, plan, timeline))
      return error;
    if (Error error = verifyBases())
      return error;
    return verifyRegions();
  }

private:
  Error fail(const Twine &message) { return llvm::createStringError(message); }
  Error verifyBases();
  Error verifyRegions();
  Error findSharedAddress(const Region &a, const Region &b);
  void addFrameContents(const FrameInstance &instance, size_t part,
                        std::vector<MemoryBlock> &blocks);
  void addTemporaries(int64_t task, std::optional<size_t> part,
                      std::vector<MemoryBlock> &blocks);
  std::vector<MemoryBlock> getContents(const Region &region);
  StepMoment getStart(StepMoment moment) const;
  std::vector<Region> getRegions();

  const StepProblem &problem;
  const StepPlan &plan;
  StepPlaces timeline;
};

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

/// Adds the temporaries that a task has in scratch or in a part of its frame.
void StepVerifier::addTemporaries(int64_t task, std::optional<size_t> part,
                                  std::vector<MemoryBlock> &blocks) {
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
                                    std::vector<MemoryBlock> &blocks) {
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

std::vector<MemoryBlock> StepVerifier::getContents(const Region &region) {
  if (region.kind == Region::Kind::Buffer)
    return {region.block};
  std::vector<MemoryBlock> blocks;
  if (region.kind == Region::Kind::Frame)
    addFrameContents(timeline.getInstances()[region.index], region.part,
                     blocks);
  else
    addTemporaries(region.index, std::nullopt, blocks);
  for (MemoryBlock &block : blocks)
    block.name += region.block.name;
  return blocks;
}

Error StepVerifier::findSharedAddress(const Region &a, const Region &b) {
  std::vector<MemoryBlock> blocks = getContents(a);
  for (MemoryBlock &block : getContents(b))
    blocks.push_back(std::move(block));
  return findOverlap(blocks);
}

/// Goes through time and looks into the regions that share addresses.
Error StepVerifier::verifyRegions() {
  std::vector<Region> regions = getRegions();
  for (const Region &region : regions)
    if (Error error = verifyPlace(region.block, problem.alignment, "the arena",
                                  plan.arenaSize))
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
        if (Error error = findSharedAddress(*other, region))
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
