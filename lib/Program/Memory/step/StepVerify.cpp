//===- StepVerify.cpp - Legality of a step's memory plan ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FrameInstances.h"
#include "lib/Program/Memory/packing/AddressMap.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "mf/Program/Memory/StepPlan.h"
#include "mf/Program/Memory/StepProblem.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <map>
#include <tuple>

using llvm::Error;
using llvm::Twine;

namespace mf::memory {

//===----------------------------------------------------------------------===//
// Ranges of addresses with lifetimes
//
// The blocks of memory that the checks of a step's plan compare.
//===----------------------------------------------------------------------===//

namespace {

/// A range of addresses that is occupied from `begin` until before `end`.
struct MemoryBlock {
  std::string name;
  int64_t offset = 0;
  int64_t size = 0;
  StepMoment begin;
  StepMoment end;
};

} // namespace

/// Fails unless the block is aligned and within [0, size) of its region.
static Error verifyPlace(const MemoryBlock &block, int64_t alignment,
                         const Twine &region, int64_t size) {
  if (block.offset < 0 || block.offset % alignment != 0)
    return llvm::createStringError(
        block.name + " is at " + Twine(block.offset) + " of " + region +
        ", expected a multiple of " + Twine(alignment));
  if (block.size > size || block.offset > size - block.size)
    return llvm::createStringError(
        block.name + " of " + Twine(block.size) + " bytes is at " +
        Twine(block.offset) + " of " + region + ", which has " + Twine(size));
  return Error::success();
}

/// Fails if two blocks are occupied at the same time and share an address.
static Error findOverlap(llvm::ArrayRef<MemoryBlock> blocks) {
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
    const MemoryBlock &block = blocks[index];
    for (; !(block.begin < blocks[ends[nextEnd]].end); ++nextEnd)
      alive.erase(blocks[ends[nextEnd]].offset);
    if (std::optional<size_t> other =
            alive.insert(block.offset, block.size, index))
      return llvm::createStringError(
          llvm::formatv(
              "{0} at [{1}, {2}) and {3} at [{4}, {5}) share an address and "
              "are both alive at instruction {6} of task {7}",
              blocks[*other].name, blocks[*other].offset,
              blocks[*other].offset + blocks[*other].size, block.name,
              block.offset, block.offset + block.size, block.begin.instruction,
              block.begin.task)
              .str());
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The check of a step's plan compares regions that share addresses at the same
// time. Both finding such regions and comparing their contents take time in
// proportion to what they share, not to all that is live or that they contain.
//===----------------------------------------------------------------------===//

namespace {

/// A block that may be partly free at times.
struct Region {
  enum class Kind { Frame, Scratch, Buffer };
  Kind kind;
  MemoryBlock block;
  /// The index of the frame instance or of the task.
  size_t index = 0;
  /// The part of the frame.
  size_t part = 0;
};

/// The residuals and temporaries of frames and scratch.
class RegionContents {
public:
  /// Keeps references to all arguments.
  RegionContents(const StepProblem &problem, const StepPlan &plan,
                 const FrameInstances &instances);

  /// Adds the contents of a region in [begin, end). They have names only if
  /// `hasNames` is true.
  void add(const Region &region, int64_t begin, int64_t end, bool hasNames,
           std::vector<MemoryBlock> &blocks) const;

private:
  /// A buffer in a part of a frame or in scratch. `offset` is relative to it,
  /// and moments are relative to the phases of the frame or to the task.
  struct Content {
    int64_t offset = 0;
    int64_t size = 0;
    PhaseMoment first;
    PhaseMoment last;
    const std::string *name = nullptr;
    bool isResidual = false;
  };
  /// Contents in order of offset.
  struct SortedContents {
    std::vector<Content> contents;
    /// For each content, the highest end of it and the preceding ones.
    std::vector<int64_t> reaches;

    void sort();
  };

  void addTemporaries(size_t routine);

  const StepProblem &problem;
  const StepPlan &plan;
  const FrameInstances &instances;
  /// The contents by frame and part, and by routine.
  std::vector<std::vector<SortedContents>> frames;
  std::vector<SortedContents> scratches;
};

} // namespace

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

RegionContents::RegionContents(const StepProblem &problem, const StepPlan &plan,
                               const FrameInstances &instances)
    : problem(problem), plan(plan), instances(instances),
      scratches(problem.routines.size()) {
  for (const auto &[frame, layout] : llvm::zip(problem.frames, plan.frames)) {
    std::vector<SortedContents> &parts =
        frames.emplace_back(layout.parts.size());
    for (const auto &[residual, offset] :
         llvm::zip(frame.residuals, layout.residualOffsets)) {
      if (residual.size == 0)
        continue;
      const size_t part = layout.getPart(offset);
      parts[part].contents.push_back({offset - layout.parts[part].begin,
                                      problem.alignedSize(residual.size),
                                      {residual.birthPhase, residual.birth},
                                      {residual.deathPhase, residual.death},
                                      &residual.name,
                                      true});
    }
  }
  for (size_t routine = 0; routine < problem.routines.size(); ++routine)
    addTemporaries(routine);
  for (std::vector<SortedContents> &parts : frames)
    for (SortedContents &part : parts)
      part.sort();
  for (SortedContents &scratch : scratches)
    scratch.sort();
}

void RegionContents::addTemporaries(size_t routine) {
  const int64_t frame = instances.getFrame(static_cast<int64_t>(routine));
  for (const auto &[temporary, place] :
       llvm::zip(problem.routines[routine].temporaries,
                 plan.routines[routine].temporaries)) {
    if (temporary.begin >= temporary.end || temporary.size == 0)
      continue;
    const bool isInFrame = place.isInFrame;
    const int64_t phase =
        isInFrame ? instances.getPhase(static_cast<int64_t>(routine)) : 0;
    Content content = {place.offset,
                       problem.alignedSize(temporary.size),
                       {phase, temporary.begin},
                       {phase, temporary.end},
                       &temporary.name};
    if (!isInFrame) {
      scratches[routine].contents.push_back(content);
      continue;
    }
    const size_t part = plan.frames[frame].getPart(place.offset);
    content.offset -= plan.frames[frame].parts[part].begin;
    frames[frame][part].contents.push_back(content);
  }
}

void RegionContents::SortedContents::sort() {
  llvm::sort(contents, [](const Content &a, const Content &b) {
    return std::tie(a.offset, a.size, *a.name) <
           std::tie(b.offset, b.size, *b.name);
  });
  for (const Content &content : contents) {
    const int64_t end = content.offset + content.size;
    reaches.push_back(reaches.empty() ? end : std::max(reaches.back(), end));
  }
}

void RegionContents::add(const Region &region, int64_t begin, int64_t end,
                         bool hasNames,
                         std::vector<MemoryBlock> &blocks) const {
  if (region.kind == Region::Kind::Buffer) {
    blocks.push_back(region.block);
    return;
  }
  const bool isFrame = region.kind == Region::Kind::Frame;
  const FrameInstance *instance =
      isFrame ? &instances.getAll()[region.index] : nullptr;
  const SortedContents &sorted =
      isFrame ? frames[instance->frame][region.part]
              : scratches[problem.tasks[region.index].routine];
  auto getMoment = [&](PhaseMoment moment) -> StepMoment {
    return {instance ? instance->tasks[moment.phase]
                     : static_cast<int64_t>(region.index),
            moment.instruction};
  };
  const int64_t base = region.block.offset;
  size_t next = llvm::partition_point(sorted.contents,
                                      [&](const Content &content) {
                                        return base + content.offset < end;
                                      }) -
                sorted.contents.begin();
  for (; next > 0 && base + sorted.reaches[next - 1] > begin; --next) {
    const Content &content = sorted.contents[next - 1];
    if (base + content.offset + content.size <= begin)
      continue;
    std::string name;
    if (hasNames)
      name = std::string(content.isResidual ? "residual '" : "temporary '") +
             *content.name + "' in " + region.block.name;
    blocks.push_back({std::move(name), base + content.offset, content.size,
                      getMoment(content.first), getMoment(content.last)});
  }
}

namespace {

/// Numbered ranges of addresses that may overlap. Ranges of similar size are
/// stored together, by address, so that few of them contain a given address.
class AddressRanges {
public:
  void insert(size_t number, int64_t begin, int64_t end) {
    classes[getClass(end - begin)].insert({{begin, number}, end});
  }

  void erase(size_t number, int64_t begin, int64_t end) {
    classes[getClass(end - begin)].erase({begin, number});
  }

  /// Returns the numbers of the ranges that share an address with [begin, end),
  /// ascending.
  std::vector<size_t> find(int64_t begin, int64_t end) const {
    std::vector<size_t> found;
    for (const auto &[number, ranges] : llvm::enumerate(classes)) {
      if (ranges.empty())
        continue;
      // No range of the class is that large.
      const int64_t bound =
          number < 62 ? int64_t{1} << number : std::max<int64_t>(begin, 0) + 1;
      for (auto range = ranges.lower_bound({begin - bound, 0});
           range != ranges.end() && range->first.first < end; ++range)
        if (range->second > begin)
          found.push_back(range->first.second);
    }
    llvm::sort(found);
    return found;
  }

private:
  static unsigned getClass(int64_t size) {
    return llvm::bit_width(static_cast<uint64_t>(size));
  }

  /// For each power of two, the ranges that are smaller than it but not than
  /// its half, with their ends.
  std::array<std::map<std::pair<int64_t, size_t>, int64_t>, 65> classes;
};

} // namespace

//===----------------------------------------------------------------------===//
// Checks that do not depend on bases.
//===----------------------------------------------------------------------===//

namespace {

std::string describe(PhaseMoment moment) {
  return "instruction " + std::to_string(moment.instruction) + " of phase " +
         std::to_string(moment.phase);
}

class LayoutVerifier {
public:
  LayoutVerifier(const StepProblem &problem, const StepPlan &plan,
                 const FrameInstances &instances)
      : problem(problem), plan(plan), instances(instances) {}

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

  Error verifyShapes() {
    auto count = [&](const char *what, size_t expected, size_t found) {
      return expected == found ? Error::success()
                               : fail(Twine("expected ") + Twine(expected) +
                                      " " + what + ", found " + Twine(found));
    };
    if (Error error =
            count("frames", problem.frames.size(), plan.frames.size()))
      return error;
    if (Error error =
            count("routines", problem.routines.size(), plan.routines.size()))
      return error;
    if (Error error = count("scratch bases", problem.tasks.size(),
                            plan.scratchBases.size()))
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
  Error verifyParts(size_t index) {
    const FrameMemory &frame = problem.frames[index];
    const PlannedFrame &layout = plan.frames[index];
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

  Error verifyRoutine(size_t index) {
    const RoutineMemory &routine = problem.routines[index];
    const RoutineLayout &layout = plan.routines[index];
    int64_t frame = instances.getFrame(static_cast<int64_t>(index));
    // Addresses inside of the routine: the frame first, then scratch.
    int64_t frameSize = frame >= 0 ? plan.frames[frame].size : 0;
    std::vector<MemoryBlock> blocks;
    if (layout.scratchSize < 0 || layout.scratchSize % problem.alignment != 0)
      return fail("routine '" + routine.name + "' has scratch of " +
                  Twine(layout.scratchSize) +
                  " bytes, expected a multiple of " + Twine(problem.alignment));
    for (const auto &[temporary, place] :
         llvm::zip(routine.temporaries, layout.temporaries)) {
      bool inFrame = place.isInFrame;
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
      int64_t phase = instances.getPhase(static_cast<int64_t>(index));
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
                residual, instances.getPhase(static_cast<int64_t>(index)),
                routine.length))
          blocks.push_back({"residual '" + residual.name + "'",
                            offset,
                            problem.alignedSize(residual.size),
                            {0, range->first},
                            {0, range->second}});
    return findOverlap(blocks);
  }

  Error verifyBetweenPhases(size_t index) {
    const FrameMemory &frame = problem.frames[index];
    const PlannedFrame &layout = plan.frames[index];
    std::vector<MemoryBlock> blocks;
    for (const auto &[residual, offset] :
         llvm::zip(frame.residuals, layout.residualOffsets)) {
      // The residual is live from the end of its birth phase to the start of
      // its death phase.
      blocks.push_back(
          {"residual '" + residual.name + "' of frame '" + frame.name + "'",
           offset,
           problem.alignedSize(residual.size),
           {residual.birthPhase, 1},
           {residual.deathPhase, 1}});
      if (Error error = verifyPlace(blocks.back(), problem.alignment,
                                    "the frame", layout.size))
        return error;
      if (Error error = verifyPart(blocks.back(), index,
                                   {residual.birthPhase, residual.birth},
                                   {residual.deathPhase, residual.death}))
        return error;
    }
    return findOverlap(blocks);
  }

  /// Checks that a block is inside of one part of the frame, which is in the
  /// arena for as long as the block is live.
  Error verifyPart(const MemoryBlock &block, size_t frame, PhaseMoment first,
                   PhaseMoment last) {
    if (block.size == 0)
      return Error::success();
    const FramePart &part =
        plan.frames[frame].parts[plan.frames[frame].getPart(block.offset)];
    if (block.offset + block.size > part.begin + part.size)
      return fail(block.name + " at [" + Twine(block.offset) + ", " +
                  Twine(block.offset + block.size) +
                  ") lies in two parts of the frame");
    auto isLater = [](PhaseMoment a, PhaseMoment b) {
      return std::tie(a.phase, a.instruction) >
             std::tie(b.phase, b.instruction);
    };
    if (isLater(part.first, first) || isLater(last, part.last))
      return fail(block.name + " is alive from " + describe(first) + " to " +
                  describe(last) +
                  ", but its part of the frame is there from " +
                  describe(part.first) + " to " + describe(part.last));
    return Error::success();
  }

  const StepProblem &problem;
  const StepPlan &plan;
  const FrameInstances &instances;
};

} // namespace

/// Fails unless the plan has an entry for everything in the problem, and no two
/// buffers of a frame, or of the scratch of a routine, share an address while
/// both are live.
static Error verifyLayouts(const StepProblem &problem, const StepPlan &plan,
                           const FrameInstances &instances) {
  return LayoutVerifier(problem, plan, instances).verify();
}

namespace {

/// Compares the contents of two regions that share addresses.
static Error findSharedAddress(const RegionContents &contents, const Region &a,
                               const Region &b) {
  const int64_t begin = std::max(a.block.offset, b.block.offset);
  const int64_t end =
      std::min(a.block.offset + a.block.size, b.block.offset + b.block.size);
  auto find = [&](bool hasNames) {
    std::vector<MemoryBlock> blocks;
    contents.add(a, begin, end, hasNames, blocks);
    contents.add(b, begin, end, hasNames, blocks);
    return findOverlap(blocks);
  };
  Error error = find(/*hasNames=*/false);
  if (!error)
    return error;
  llvm::consumeError(std::move(error));
  return find(/*hasNames=*/true);
}

class StepVerifier {
public:
  StepVerifier(const StepProblem &problem, const StepPlan &plan)
      : problem(problem), plan(plan), instances(problem) {}

  Error verify() {
    if (Error error = verifyLayouts(problem, plan, instances))
      return error;
    if (Error error = verifyInstances())
      return error;
    return verifyRegions();
  }

private:
  Error fail(const Twine &message) { return llvm::createStringError(message); }

  /// Checks that the plan has the frame instances of the problem, with a base
  /// for each part.
  Error verifyInstances() {
    if (plan.instances.size() != instances.getAll().size())
      return fail("expected " + Twine(instances.getAll().size()) +
                  " frame instances, found " + Twine(plan.instances.size()));
    for (const auto &[expected, found] :
         llvm::zip(instances.getAll(), plan.instances)) {
      const std::string name =
          "the frame of task " + std::to_string(expected.tasks.front());
      if (found.frame != expected.frame || found.tasks != expected.tasks)
        return fail(name + " is planned for other tasks than use it");
      const size_t numParts = plan.frames[expected.frame].parts.size();
      if (found.bases.size() != numParts)
        return fail(name + " has " + Twine(found.bases.size()) +
                    " bases, but " + Twine(numParts) + " parts");
    }
    return Error::success();
  }

  /// Visits regions in order of time and compares those that share addresses.
  Error verifyRegions() {
    std::vector<Region> regions = getRegions();
    for (const Region &region : regions)
      if (Error error = verifyPlace(region.block, problem.alignment,
                                    "the arena", plan.arenaSize))
        return error;
    const RegionContents contents(problem, plan, instances);
    auto begins =
        getSortedIndices<size_t>(regions.size(), [&](size_t a, size_t b) {
          return regions[a].block.begin < regions[b].block.begin;
        });
    auto ends =
        getSortedIndices<size_t>(regions.size(), [&](size_t a, size_t b) {
          return regions[a].block.end < regions[b].block.end;
        });
    AddressRanges alive;
    // For each region, its index in the order of begins.
    std::vector<size_t> places(regions.size());
    size_t nextEnd = 0;
    for (const auto &[number, index] : llvm::enumerate(begins)) {
      const Region &region = regions[index];
      for (; !(region.block.begin < regions[ends[nextEnd]].block.end);
           ++nextEnd) {
        const MemoryBlock &block = regions[ends[nextEnd]].block;
        alive.erase(places[ends[nextEnd]], block.offset,
                    block.offset + block.size);
      }
      const int64_t end = region.block.offset + region.block.size;
      for (size_t other : alive.find(region.block.offset, end))
        if (Error error =
                findSharedAddress(contents, regions[begins[other]], region))
          return error;
      places[index] = number;
      alive.insert(number, region.block.offset, end);
    }
    return Error::success();
  }

  /// The moment after the last instruction of a task is the start of the next
  /// one.
  StepMoment getStart(StepMoment moment) const {
    if (moment.task < static_cast<int64_t>(problem.tasks.size()) &&
        moment.instruction ==
            problem.routines[problem.tasks[moment.task].routine].length)
      return {moment.task + 1, 0};
    return moment;
  }

  std::vector<Region> getRegions() {
    using Kind = Region::Kind;
    std::vector<Region> regions;
    auto numTasks = static_cast<int64_t>(problem.tasks.size());
    for (const auto &[buffer, offset] :
         llvm::zip(problem.persistentBuffers, plan.persistentOffsets))
      regions.push_back({Kind::Buffer,
                         {"persistent buffer '" + buffer.name + "'",
                          offset,
                          problem.alignedSize(buffer.size),
                          {-1, 0},
                          {numTasks, 1}}});
    for (const auto &[index, instance] : llvm::enumerate(plan.instances)) {
      int64_t first = instance.tasks.front();
      for (const auto &[number, part] :
           llvm::enumerate(plan.frames[instance.frame].parts))
        regions.push_back({Kind::Frame,
                           {"frame '" + problem.frames[instance.frame].name +
                                "' of task " + std::to_string(first),
                            instance.bases[number], part.size,
                            getMoment(problem, instance, part.first),
                            getMoment(problem, instance, part.last)},
                           index,
                           number});
    }
    for (const auto &[index, task] : llvm::enumerate(problem.tasks)) {
      auto position = static_cast<int64_t>(index);
      regions.push_back({Kind::Scratch,
                         {"scratch of task " + std::to_string(index),
                          plan.scratchBases[index],
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

  const StepProblem &problem;
  const StepPlan &plan;
  FrameInstances instances;
};

} // namespace

Error StepPlan::verify(const StepProblem &problem) const {
  if (Error error = problem.check())
    return error;
  return StepVerifier(problem, *this).verify();
}

} // namespace mf::memory
