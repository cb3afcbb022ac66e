//===- FramePacking.cpp - Layout of frames and scratch --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FramePacking.h"
#include "ResidualStack.h"
#include "lib/Program/Memory/search/PackSearch.h"
#include "lib/Program/Memory/step/Packings.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

namespace mf::memory {

namespace {

/// Packing problems whose sections are instructions.
PackItem makeItem(const StepProblem &problem, int64_t begin, int64_t end,
                  int64_t size) {
  PackItem item;
  item.begin = static_cast<int32_t>(begin);
  item.end = static_cast<int32_t>(end);
  item.size = problem.alignedSize(size);
  item.alignment = problem.alignment;
  return item;
}

PackResult pack(const PackProblem &problem, int64_t goodPeak,
                const PackEffort &effort) {
  if (effort.memo)
    return effort.memo->get().pack(problem, goodPeak,
                                   goodPeak + effort.acceptableExcess,
                                   effort.heuristicWork, effort.searchWork);
  WorkBudget heuristics(effort.heuristicWork), search(effort.searchWork);
  return packThenSearch(problem, goodPeak, goodPeak + effort.acceptableExcess,
                        heuristics, search);
}

PackProblem getTemporaries(const StepProblem &problem,
                           const RoutineMemory &routine) {
  PackProblem items;
  items.numSections = static_cast<int32_t>(routine.length);
  for (const Temporary &temporary : routine.temporaries)
    items.items.push_back(
        makeItem(problem, temporary.begin, temporary.end, temporary.size));
  return items;
}

/// Appends the residuals that are live in the phase, fixed at their offsets.
/// Instruction 0 of the phase is section `start`.
void addResiduals(const StepProblem &problem, const FrameMemory &frame,
                  const FrameLayout &layout, int64_t phase, int64_t length,
                  int64_t start, PackProblem &items) {
  for (const auto &[index, residual] : llvm::enumerate(frame.residuals)) {
    auto range = getLiveRange(residual, phase, length);
    if (!range)
      continue;
    PackItem item = makeItem(problem, start + range->first,
                             start + range->second, residual.size);
    item.fixedOffset = layout.residualOffsets[index];
    items.items.push_back(item);
  }
}

/// Returns the temporaries of a phase, followed by fixed items: the residuals
/// of `layout`, and its parts while they are not in the arena.
PackProblem getPhaseItems(const StepProblem &problem, const FrameMemory &frame,
                          const FrameLayout &layout, int64_t phase) {
  const RoutineMemory &routine = problem.routines[frame.phases[phase]];
  PackProblem items = getTemporaries(problem, routine);
  addResiduals(problem, frame, layout, phase, routine.length, 0, items);
  for (const FramePart &part : layout.parts) {
    if (part.size == 0)
      continue;
    items.walls.push_back(part.begin + part.size);
    auto block = [&](int64_t begin, int64_t end) {
      PackItem elsewhere = makeItem(problem, begin, end, part.size);
      elsewhere.fixedOffset = part.begin;
      if (begin < end)
        items.items.push_back(elsewhere);
    };
    auto [begin, end] = part.getRange(phase, routine.length);
    block(0, begin);
    block(end, routine.length);
  }
  return items;
}

/// Temporaries above the frame are in scratch.
RoutineLayout getPlaces(const PackProblem &items, const PackResult &result,
                        size_t numTemporaries, int64_t frameSize) {
  RoutineLayout places;
  places.packer = result.packer;
  for (size_t i = 0; i < numTemporaries; ++i) {
    int64_t offset = result.offsets[i];
    if (offset + items.items[i].size <= frameSize) {
      places.temporaries.push_back({true, offset});
      continue;
    }
    places.temporaries.push_back({false, offset - frameSize});
    places.scratchSize =
        std::max(places.scratchSize, offset - frameSize + items.items[i].size);
  }
  return places;
}

/// Packs the temporaries of a phase around the residuals of `layout`.
RoutineLayout packPhase(const StepProblem &problem, const FrameMemory &frame,
                        const FrameLayout &layout, int64_t phase,
                        const PackEffort &effort) {
  PackProblem items = getPhaseItems(problem, frame, layout, phase);
  int64_t goodPeak = std::max(layout.size, getLargest(getLiveProfile(items)));
  PackResult result = pack(items, goodPeak, effort);
  return getPlaces(items, result,
                   problem.routines[frame.phases[phase]].temporaries.size(),
                   layout.size);
}

llvm::StringRef getName(StackOrder order) {
  switch (order) {
  case StackOrder::Birth:
    return "birth";
  case StackOrder::Death:
    return "death";
  }
  llvm_unreachable("no such order");
}

/// Returns the cost to minimize: the largest scratch, then the sum of all.
std::pair<int64_t, int64_t> getCost(const ChunkLayout &layout) {
  std::pair<int64_t, int64_t> cost = {0, 0};
  for (const RoutineLayout &phase : layout.phases) {
    cost.first = std::max(cost.first, phase.scratchSize);
    cost.second += phase.scratchSize;
  }
  return cost;
}

/// Returns the scratch size that no layout can avoid if the frame has the size
/// of its residuals.
int64_t getScratchBound(const StepProblem &problem, const FrameMemory &frame,
                        const FrameLayout &layout) {
  int64_t bound = 0;
  for (size_t phase = 0; phase < frame.phases.size(); ++phase) {
    PackProblem items =
        getPhaseItems(problem, frame, layout, static_cast<int64_t>(phase));
    bound = std::max(bound, getLargest(getLiveProfile(items)) - layout.size);
  }
  return bound;
}

} // namespace

ChunkLayout packSeparately(const StepProblem &problem, const FrameMemory &frame,
                           int64_t numGroups, const PackEffort &effort) {
  std::optional<ChunkLayout> best;
  for (StackOrder order : {StackOrder::Birth, StackOrder::Death}) {
    ChunkLayout layout;
    layout.frame = stackResiduals(problem, frame, order, numGroups);
    layout.frame.packer = getName(order);
    if (numGroups > 1)
      layout.frame.packer += " in " + std::to_string(numGroups) + " groups";
    for (size_t phase = 0; phase < frame.phases.size(); ++phase)
      layout.phases.push_back(packPhase(problem, frame, layout.frame,
                                        static_cast<int64_t>(phase), effort));
    if (!best || getCost(layout) < getCost(*best))
      best = std::move(layout);
    if (getCost(*best).first <= getScratchBound(problem, frame, best->frame))
      break;
  }
  return std::move(*best);
}

ChunkLayout packTogether(const StepProblem &problem, const FrameMemory &frame,
                         const PackEffort &effort) {
  // A common time line with the phases one after another.
  PackProblem items;
  std::vector<int64_t> starts;
  int64_t length = 0;
  for (int64_t routine : frame.phases) {
    starts.push_back(length);
    for (const Temporary &temporary : problem.routines[routine].temporaries)
      items.items.push_back(makeItem(problem, length + temporary.begin,
                                     length + temporary.end, temporary.size));
    length += problem.routines[routine].length;
  }
  items.numSections = static_cast<int32_t>(length);
  size_t firstResidual = items.items.size();
  FrameLayout stack = stackResiduals(problem, frame, StackOrder::Birth, 0);
  for (const auto &[index, residual] : llvm::enumerate(frame.residuals)) {
    PackItem item =
        makeItem(problem, starts[residual.birthPhase] + residual.birth,
                 starts[residual.deathPhase] + residual.death, residual.size);
    item.fixedOffset = stack.residualOffsets[index];
    items.items.push_back(item);
  }

  int64_t goodPeak = getLargest(getLiveProfile(items));
  PackResult result = pack(items, goodPeak, effort);
  if (result.peak > goodPeak) {
    for (size_t i = firstResidual; i < items.items.size(); ++i)
      items.items[i].fixedOffset = -1;
    PackResult free = pack(items, goodPeak, effort);
    if (free.peak < result.peak)
      result = std::move(free);
  }

  ChunkLayout layout;
  layout.frame.size = result.peak;
  layout.frame.packer = "together, " + result.packer;
  layout.frame.parts.push_back(getWholeFrame(problem, frame, result.peak));
  layout.frame.residualOffsets.assign(result.offsets.begin() +
                                          static_cast<ptrdiff_t>(firstResidual),
                                      result.offsets.end());
  size_t next = 0;
  for (int64_t routine : frame.phases) {
    RoutineLayout places;
    places.packer = "together";
    for (size_t i = 0; i < problem.routines[routine].temporaries.size(); ++i)
      places.temporaries.push_back({true, result.offsets[next++]});
    layout.phases.push_back(std::move(places));
  }
  return layout;
}

RoutineLayout packRoutine(const StepProblem &problem,
                          const RoutineMemory &routine,
                          const PackEffort &effort) {
  PackProblem items = getTemporaries(problem, routine);
  PackResult result = pack(items, getLargest(getLiveProfile(items)), effort);
  RoutineLayout places;
  places.packer = result.packer;
  places.scratchSize = result.peak;
  for (int64_t offset : result.offsets)
    places.temporaries.push_back({false, offset});
  return places;
}

RoutineLayout packByEnd(const StepProblem &problem,
                        const FrameInstances &instances, const StepPlan &plan,
                        int64_t index) {
  const RoutineMemory &routine = problem.routines[index];
  int64_t frame = instances.getFrame(index);
  int64_t frameSize = frame >= 0 ? plan.frames[frame].size : 0;
  PackProblem items =
      frame >= 0 ? getPhaseItems(problem, problem.frames[frame],
                                 plan.frames[frame], instances.getPhase(index))
                 : getTemporaries(problem, routine);
  WorkBudget unlimited(std::numeric_limits<int64_t>::max());
  std::optional<PackResult> result =
      packInOrder(items, getOrder(items, PackOrder::End, {}), unlimited);
  result->packer = "by end";
  RoutineLayout layout =
      getPlaces(items, *result, routine.temporaries.size(), frameSize);
  return layout.scratchSize <= plan.routines[index].scratchSize
             ? layout
             : plan.routines[index];
}

} // namespace mf::memory
