//===- FramePacking.cpp - Layout of frames and scratch --------------------===//

#include "FramePacking.h"
#include "lib/Memory/packing/StableSort.h"
#include "lib/Memory/search/PackSearch.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

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

int64_t getLargest(const std::vector<int64_t> &values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

PackResult pack(const PackProblem &problem, int64_t goodPeak,
                const PackEffort &effort) {
  WorkBudget heuristics(effort.heuristicWork), search(effort.searchWork);
  return packThenSearch(problem, goodPeak, goodPeak + effort.acceptableExcess,
                        heuristics, search);
}

PackProblem getTemporaries(const StepProblem &problem, const Routine &routine) {
  PackProblem items;
  items.numSections = static_cast<int32_t>(routine.length);
  for (const Temporary &temporary : routine.temporaries)
    items.items.push_back(
        makeItem(problem, temporary.begin, temporary.end, temporary.size));
  return items;
}

/// Orders in which the residuals are stacked from the bottom of the frame up.
/// Births ascending leave one hole, at the top, all through forward; deaths
/// descending do so in backward.
enum class StackOrder { Birth, Death, Life };

std::vector<size_t> getStackOrder(const ResidualFrame &frame,
                                  StackOrder order) {
  const std::vector<Residual> &residuals = frame.residuals;
  auto birth = [&](size_t i) {
    return std::make_pair(residuals[i].birthPhase, residuals[i].birth);
  };
  auto death = [&](size_t i) {
    return std::make_pair(-residuals[i].deathPhase, -residuals[i].death);
  };
  auto life = [&](size_t i) { return residuals[i].birth - residuals[i].death; };
  return getSortedIndices<size_t>(residuals.size(), [&](size_t a, size_t b) {
    switch (order) {
    case StackOrder::Birth:
      return std::make_pair(birth(a), death(a)) <
             std::make_pair(birth(b), death(b));
    case StackOrder::Death:
      return std::make_pair(death(a), birth(a)) <
             std::make_pair(death(b), birth(b));
    case StackOrder::Life:
      return life(a) < life(b);
    }
    return false;
  });
}

/// A part that is there from the first to the last instruction of all phases.
FramePart getWholeFrame(const StepProblem &problem, const ResidualFrame &frame,
                        int64_t size) {
  FramePart part;
  part.size = size;
  part.last.phase = static_cast<int64_t>(frame.phases.size()) - 1;
  part.last.instruction = problem.routines[frame.phases.back()].length;
  return part;
}

/// Residuals, by number, that are placed together.
using ResidualGroup = std::vector<size_t>;

/// Cuts a list of residuals into at most `count` of about the same bytes.
std::vector<ResidualGroup> cutEvenly(const ResidualFrame &frame,
                                     const ResidualGroup &residuals,
                                     int64_t count) {
  int64_t total = 0, before = 0;
  for (size_t index : residuals)
    total += frame.residuals[index].size;
  std::vector<ResidualGroup> groups(count);
  for (size_t index : residuals) {
    int64_t size = frame.residuals[index].size;
    // Where its middle lies; halves, so that nothing overflows.
    int64_t group = (before + size / 2) / (total / count + 1);
    groups[std::min(group, count - 1)].push_back(index);
    before += size;
  }
  llvm::erase_if(groups,
                 [](const ResidualGroup &group) { return group.empty(); });
  return groups;
}

/// Cuts a list of residuals, in the order in which they come or go, where
/// layers end: layers are alike, and parts of few different sizes are easy to
/// pack. What belongs to no layer is taken with what comes or goes before it.
std::vector<ResidualGroup> cutByLayer(const ResidualFrame &frame,
                                      const ResidualGroup &residuals,
                                      int64_t numSteps) {
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
  int64_t numLayers = layers.size();
  int64_t numTogether = (numLayers + numSteps - 1) / numSteps;
  std::vector<ResidualGroup> groups;
  for (int64_t i = 0; i < numLayers; i += numTogether) {
    ResidualGroup together;
    for (int64_t j = i; j < std::min(i + numTogether, numLayers); ++j)
      llvm::append_range(together, layers[j]);
    llvm::append_range(
        groups,
        cutEvenly(frame, together, std::max<int64_t>(1, numSteps / numLayers)));
  }
  return groups;
}

/// The residuals that live through all phases, and, of each other pair of first
/// and last phase, what comes and goes in one of `numSteps` steps.
std::vector<ResidualGroup> groupResiduals(const ResidualFrame &frame,
                                          int64_t numSteps) {
  ResidualGroup all(frame.residuals.size());
  std::iota(all.begin(), all.end(), 0);
  if (numSteps == 0)
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
    llvm::append_range(groups, cutByLayer(frame, residuals, numSteps));
  }
  return groups;
}

/// When the part that holds the residuals is there: as long as they, but for
/// the first and the last phase as a whole.
FramePart getPart(const StepProblem &problem, const ResidualFrame &frame,
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

/// Stacks the residuals, part by part.
ResidualFrameLayout stackResiduals(const StepProblem &problem,
                                   const ResidualFrame &frame, StackOrder order,
                                   int64_t numSteps) {
  ResidualFrameLayout layout;
  layout.residualOffsets.resize(frame.residuals.size(), 0);
  std::vector<size_t> rank(frame.residuals.size());
  for (const auto &[place, index] :
       llvm::enumerate(getStackOrder(frame, order)))
    rank[index] = place;
  for (ResidualGroup &group : groupResiduals(frame, numSteps)) {
    FramePart part = numSteps == 0 ? getWholeFrame(problem, frame, 0)
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

/// Appends the residuals that are alive in the phase, fixed at their offsets,
/// with instruction 0 of the phase at section `start`.
void addResiduals(const StepProblem &problem, const ResidualFrame &frame,
                  const ResidualFrameLayout &layout, int64_t phase,
                  int64_t length, int64_t start, PackProblem &items) {
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

/// The temporaries of a phase, then, fixed, the residuals of `layout` and its
/// parts while they are not there.
PackProblem getPhaseItems(const StepProblem &problem,
                          const ResidualFrame &frame,
                          const ResidualFrameLayout &layout, int64_t phase) {
  const Routine &routine = problem.routines[frame.phases[phase]];
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

/// What is above the frame is scratch.
RoutineLayout getPlaces(const PackProblem &items, const PackResult &result,
                        size_t numTemporaries, int64_t frameSize) {
  RoutineLayout places;
  for (size_t i = 0; i < numTemporaries; ++i) {
    int64_t offset = result.offsets[i];
    if (offset + items.items[i].size <= frameSize) {
      places.temporaries.push_back({TemporaryPlace::Region::Frame, offset});
      continue;
    }
    places.temporaries.push_back(
        {TemporaryPlace::Region::Scratch, offset - frameSize});
    places.scratchSize =
        std::max(places.scratchSize, offset - frameSize + items.items[i].size);
  }
  return places;
}

/// Packs the temporaries of a phase around the residuals of `layout`.
RoutineLayout packPhase(const StepProblem &problem, const ResidualFrame &frame,
                        const ResidualFrameLayout &layout, int64_t phase,
                        const PackEffort &effort) {
  PackProblem items = getPhaseItems(problem, frame, layout, phase);
  int64_t goodPeak = std::max(layout.size, getLargest(getLiveProfile(items)));
  PackResult result = pack(items, goodPeak, effort);
  return getPlaces(items, result,
                   problem.routines[frame.phases[phase]].temporaries.size(),
                   layout.size);
}

/// What is minimized: the largest scratch, then their sum.
std::pair<int64_t, int64_t> getCost(const ChunkLayout &layout) {
  std::pair<int64_t, int64_t> cost = {0, 0};
  for (const RoutineLayout &phase : layout.phases) {
    cost.first = std::max(cost.first, phase.scratchSize);
    cost.second += phase.scratchSize;
  }
  return cost;
}

/// The scratch that no layout of a frame of its residuals' size can avoid.
int64_t getScratchBound(const StepProblem &problem, const ResidualFrame &frame,
                        const ResidualFrameLayout &layout) {
  int64_t bound = 0;
  for (size_t phase = 0; phase < frame.phases.size(); ++phase) {
    PackProblem items = getPhaseItems(problem, frame, layout, phase);
    bound = std::max(bound, getLargest(getLiveProfile(items)) - layout.size);
  }
  return bound;
}

} // namespace

ChunkLayout packSeparately(const StepProblem &problem,
                           const ResidualFrame &frame, int64_t numSteps,
                           const PackEffort &effort) {
  std::optional<ChunkLayout> best;
  for (StackOrder order :
       {StackOrder::Birth, StackOrder::Death, StackOrder::Life}) {
    ChunkLayout layout;
    layout.frame = stackResiduals(problem, frame, order, numSteps);
    for (size_t phase = 0; phase < frame.phases.size(); ++phase)
      layout.phases.push_back(
          packPhase(problem, frame, layout.frame, phase, effort));
    if (!best || getCost(layout) < getCost(*best))
      best = std::move(layout);
    if (getCost(*best).first <= getScratchBound(problem, frame, best->frame))
      break;
  }
  return std::move(*best);
}

ChunkLayout packTogether(const StepProblem &problem, const ResidualFrame &frame,
                         const PackEffort &effort) {
  // One line of time: the phases one after the other.
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
  ResidualFrameLayout stack =
      stackResiduals(problem, frame, StackOrder::Birth, 0);
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
  layout.frame.parts.push_back(getWholeFrame(problem, frame, result.peak));
  layout.frame.residualOffsets.assign(result.offsets.begin() + firstResidual,
                                      result.offsets.end());
  size_t next = 0;
  for (int64_t routine : frame.phases) {
    RoutineLayout places;
    for (size_t i = 0; i < problem.routines[routine].temporaries.size(); ++i)
      places.temporaries.push_back(
          {TemporaryPlace::Region::Frame, result.offsets[next++]});
    layout.phases.push_back(std::move(places));
  }
  return layout;
}

RoutineLayout packRoutine(const StepProblem &problem, const Routine &routine,
                          const PackEffort &effort) {
  PackProblem items = getTemporaries(problem, routine);
  PackResult result = pack(items, getLargest(getLiveProfile(items)), effort);
  RoutineLayout places;
  places.scratchSize = result.peak;
  for (int64_t offset : result.offsets)
    places.temporaries.push_back({TemporaryPlace::Region::Scratch, offset});
  return places;
}

RoutineLayout packByEnd(const StepProblem &problem,
                        const StepTimeline &timeline, const StepPlan &plan,
                        int64_t index) {
  const Routine &routine = problem.routines[index];
  int64_t frame = timeline.getFrame(index);
  int64_t frameSize = frame >= 0 ? plan.frames[frame].size : 0;
  PackProblem items =
      frame >= 0 ? getPhaseItems(problem, problem.frames[frame],
                                 plan.frames[frame], timeline.getPhase(index))
                 : getTemporaries(problem, routine);
  WorkBudget unlimited(std::numeric_limits<int64_t>::max());
  std::optional<PackResult> result =
      packInOrder(items, getOrder(items, PackOrder::End, {}), unlimited);
  RoutineLayout layout =
      getPlaces(items, *result, routine.temporaries.size(), frameSize);
  return layout.scratchSize <= plan.routines[index].scratchSize
             ? layout
             : plan.routines[index];
}

} // namespace mf::memory
