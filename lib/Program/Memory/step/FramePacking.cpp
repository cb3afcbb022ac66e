//===- FramePacking.cpp - Layout of frames and scratch --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FramePacking.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "lib/Program/Memory/search/PackSearch.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace mf::memory {

//===----------------------------------------------------------------------===//
// Residuals of a frame, in parts
//
// A frame that holds only its residuals, each at its own offset. Residuals that
// are born and die together are in one part.
//===----------------------------------------------------------------------===//

namespace {

/// The orders in which the residuals are stacked from the bottom of the frame
/// up. With ascending births there is a single hole, at the top, throughout
/// forward; with descending deaths there is one in backward.
enum class StackOrder { Birth, Death };

std::vector<size_t> getStackOrder(const FrameMemory &frame, StackOrder order) {
  const std::vector<Residual> &residuals = frame.residuals;
  auto birth = [&](size_t i) {
    return std::make_pair(residuals[i].birthPhase, residuals[i].birth);
  };
  auto death = [&](size_t i) {
    return std::make_pair(-residuals[i].deathPhase, -residuals[i].death);
  };
  return getSortedIndices<size_t>(residuals.size(), [&](size_t a, size_t b) {
    return order == StackOrder::Birth ? std::make_pair(birth(a), death(a)) <
                                            std::make_pair(birth(b), death(b))
                                      : std::make_pair(death(a), birth(a)) <
                                            std::make_pair(death(b), birth(b));
  });
}

/// Indices of residuals that are placed together.
using ResidualGroup = std::vector<size_t>;

/// Divides a list of residuals into at most `count` groups of about the same
/// size.
std::vector<ResidualGroup> cutEvenly(const FrameMemory &frame,
                                     const ResidualGroup &residuals,
                                     int64_t count) {
  int64_t total = 0, before = 0;
  for (size_t index : residuals)
    total += frame.residuals[index].size;
  std::vector<ResidualGroup> groups(count);
  for (size_t index : residuals) {
    int64_t size = frame.residuals[index].size;
    // The group that contains the middle of the residual. Halves avoid
    // overflow.
    int64_t group = (before + size / 2) / (total / count + 1);
    groups[std::min(group, count - 1)].push_back(index);
    before += size;
  }
  llvm::erase_if(groups,
                 [](const ResidualGroup &group) { return group.empty(); });
  return groups;
}

/// Divides a list of residuals, in the order of their births or deaths, at the
/// ends of layers. Layers are alike, and parts of few different sizes are easy
/// to pack. Residuals that belong to no layer stay with the preceding ones.
std::vector<ResidualGroup> cutByLayer(const FrameMemory &frame,
                                      const ResidualGroup &residuals,
                                      int64_t numGroups) {
  std::map<std::optional<int64_t>, size_t> numberOf;
  std::vector<ResidualGroup> layers;
  for (size_t index : residuals) {
    std::optional<int64_t> layer = frame.residuals[index].layer;
    if (layers.empty() || (layer && !numberOf.count(layer))) {
      numberOf[layer] = layers.size();
      layers.emplace_back();
    }
    layers[layer ? numberOf[layer] : layers.size() - 1].push_back(index);
  }
  auto numLayers = static_cast<int64_t>(layers.size());
  int64_t numTogether = (numLayers + numGroups - 1) / numGroups;
  std::vector<ResidualGroup> groups;
  for (int64_t i = 0; i < numLayers; i += numTogether) {
    ResidualGroup together;
    for (int64_t j = i; j < std::min(i + numTogether, numLayers); ++j)
      llvm::append_range(together, layers[j]);
    llvm::append_range(groups,
                       cutEvenly(frame, together,
                                 std::max<int64_t>(1, numGroups / numLayers)));
  }
  return groups;
}

/// Groups the residuals that live through all phases and, for each other pair
/// of first and last phase, those that are born or die in one of `numGroups`
/// groups.
std::vector<ResidualGroup> groupResiduals(const FrameMemory &frame,
                                          int64_t numGroups) {
  ResidualGroup all(frame.residuals.size());
  std::iota(all.begin(), all.end(), 0);
  if (numGroups == 0)
    return {all};
  std::map<std::pair<int64_t, int64_t>, ResidualGroup> byPhases;
  for (const auto &[index, residual] : llvm::enumerate(frame.residuals))
    if (residual.size > 0)
      byPhases[{residual.birthPhase, residual.deathPhase}].push_back(index);
  int64_t last = static_cast<int64_t>(frame.phases.size()) - 1;
  std::vector<ResidualGroup> groups;
  for (auto &[phases, residuals] : byPhases) {
    if (phases == std::make_pair(int64_t(0), last)) {
      groups.push_back(std::move(residuals));
      continue;
    }
    bool isByDeath = phases.second < last;
    auto getStep = [&](size_t index) {
      const Residual &residual = frame.residuals[index];
      return isByDeath ? residual.death : residual.birth;
    };
    llvm::sort(residuals, [&](size_t a, size_t b) {
      return std::make_pair(getStep(a), a) < std::make_pair(getStep(b), b);
    });
    llvm::append_range(groups, cutByLayer(frame, residuals, numGroups));
  }
  return groups;
}

/// Returns a part that is in the arena from the first to the last instruction
/// of all phases.
FramePart getWholeFrame(const StepProblem &problem, const FrameMemory &frame,
                        int64_t size) {
  FramePart part;
  part.size = size;
  part.last.phase = static_cast<int64_t>(frame.phases.size()) - 1;
  part.last.instruction = problem.routines[frame.phases.back()].length;
  return part;
}

/// Returns the part that holds the residuals. It is in the arena for as long as
/// they are live, extended to the whole of the first and the last phase.
FramePart getPart(const StepProblem &problem, const FrameMemory &frame,
                  const ResidualGroup &group) {
  FramePart part = getWholeFrame(problem, frame, 0);
  const Residual &any = frame.residuals[group.front()];
  if (any.birthPhase > 0)
    part.first = {any.birthPhase, any.birth};
  if (any.deathPhase < part.last.phase)
    part.last = {any.deathPhase, any.death};
  for (size_t index : group) {
    const Residual &residual = frame.residuals[index];
    if (any.birthPhase > 0)
      part.first.instruction = std::min(part.first.instruction, residual.birth);
    if (any.deathPhase < static_cast<int64_t>(frame.phases.size()) - 1)
      part.last.instruction = std::max(part.last.instruction, residual.death);
  }
  return part;
}

} // namespace

/// Stacks the residuals, part by part. Residuals that do not live through all
/// phases are divided into `numGroups` groups; 0 means that the frame is one
/// part.
static PlannedFrame stackResiduals(const StepProblem &problem,
                                   const FrameMemory &frame, StackOrder order,
                                   int64_t numGroups) {
  PlannedFrame layout;
  layout.residualOffsets.resize(frame.residuals.size(), 0);
  std::vector<size_t> rank(frame.residuals.size());
  for (const auto &[place, index] :
       llvm::enumerate(getStackOrder(frame, order)))
    rank[index] = place;
  for (ResidualGroup &group : groupResiduals(frame, numGroups)) {
    FramePart part = numGroups == 0 ? getWholeFrame(problem, frame, 0)
                                    : getPart(problem, frame, group);
    part.begin = layout.size;
    llvm::sort(group, [&](size_t a, size_t b) { return rank[a] < rank[b]; });
    for (size_t index : group) {
      layout.residualOffsets[index] = layout.size;
      layout.size += problem.alignedSize(frame.residuals[index].size);
    }
    part.size = layout.size - part.begin;
    layout.parts.push_back(part);
  }
  if (layout.parts.empty())
    layout.parts.push_back(getWholeFrame(problem, frame, 0));
  return layout;
}

//===----------------------------------------------------------------------===//
// Layout of frames and scratch
//===----------------------------------------------------------------------===//

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
    return effort.memo->pack(problem, goodPeak,
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
                  const PlannedFrame &layout, int64_t phase, int64_t length,
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
                          const PlannedFrame &layout, int64_t phase) {
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
                        const PlannedFrame &layout, int64_t phase,
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
                        const PlannedFrame &layout) {
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
  PlannedFrame stack = stackResiduals(problem, frame, StackOrder::Birth, 0);
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
  std::optional<PackResult> result = ItemPacker(items).packInOrder(
      getOrder(items, PackOrder::End, {}), unlimited);
  result->packer = "by end";
  RoutineLayout layout =
      getPlaces(items, *result, routine.temporaries.size(), frameSize);
  return layout.scratchSize <= plan.routines[index].scratchSize
             ? layout
             : plan.routines[index];
}

} // namespace mf::memory
