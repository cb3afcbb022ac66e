//===- StepVerify.cpp - Legality of a step's memory plan ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayoutVerify.h"
#include "StepRegions.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "mf/Program/Memory/StepPlan.h"
#include "llvm/ADT/STLExtras.h"

using llvm::Error;
using llvm::Twine;

namespace mf::memory {

namespace {

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

/// The moment after the last instruction of a task is the start of the next
/// one.
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
  auto numTasks = static_cast<int64_t>(problem.tasks.size());
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
    auto position = static_cast<int64_t>(index);
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

/// Visits regions in order of time and compares those that share addresses.
Error StepVerifier::verifyRegions() {
  std::vector<Region> regions = getRegions();
  for (const Region &region : regions)
    if (Error error = verifyPlace(region.block, problem.alignment, "the arena",
                                  plan.arenaSize))
      return error;
  const RegionContents contents(problem, plan, timeline);
  auto begins =
      getSortedIndices<size_t>(regions.size(), [&](size_t a, size_t b) {
        return regions[a].block.begin < regions[b].block.begin;
      });
  auto ends = getSortedIndices<size_t>(regions.size(), [&](size_t a, size_t b) {
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

} // namespace

Error StepPlan::verify(const StepProblem &problem) const {
  if (Error error = problem.check())
    return error;
  return StepVerifier(problem, *this).verify();
}

} // namespace mf::memory
