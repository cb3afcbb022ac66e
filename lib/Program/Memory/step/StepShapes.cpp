//===- StepShapes.cpp - Shapes of a laid out step -------------------------===//

#include "StepShapes.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <set>

namespace mf::memory {

StepShapes::StepShapes(const StepProblem &problem, const StepPlaces &timeline,
                       const StepSections &sections, const StepPlan &layouts)
    : problem(problem), timeline(timeline), sections(sections),
      layouts(layouts), useOfTask(problem.tasks.size()) {
  shapes.numSections = sections.getNumSections();
  for (const FrameInstance &instance : timeline.getInstances())
    for (size_t part = 0; part < layouts.frames[instance.frame].parts.size();
         ++part)
      addFramePart(instance, part);
  for (size_t task = 0; task < problem.tasks.size(); ++task)
    addScratch(task);
  for (const TaskBuffer &buffer : problem.taskBuffers)
    addBuffer(buffer);
}

namespace {

/// Ranges that come and go, and the addresses that some of them cover.
class RangeCover {
public:
  void add(const AddressRange &range, int64_t times) {
    addStep(range.begin, times);
    addStep(range.end, -times);
  }
  /// Ascending; none is empty or touches another.
  std::vector<AddressRange> getRanges() const {
    std::vector<AddressRange> ranges;
    int64_t depth = 0;
    for (const auto &[address, step] : steps) {
      if (depth == 0)
        ranges.push_back({address, address});
      depth += step;
      if (depth == 0)
        ranges.back().end = address;
    }
    return ranges;
  }

private:
  void addStep(int64_t address, int64_t by) {
    auto step = steps.try_emplace(address, 0).first;
    step->second += by;
    if (step->second == 0)
      steps.erase(step);
  }

  /// By how many more ranges an address is covered than the one before it;
  /// where as many begin as end there is no entry.
  std::map<int64_t, int64_t> steps;
};

} // namespace

StepShapes::Ranges StepShapes::keep(std::vector<AddressRange> ranges) {
  mergeRanges(ranges);
  return pool.emplace_back(std::move(ranges));
}

/// Splits the ranges of a frame by its parts. They become relative to the
/// parts.
std::vector<StepShapes::Ranges>
StepShapes::splitByPart(int64_t frame,
                        const std::vector<AddressRange> &ranges) {
  const ResidualFrameLayout &layout = layouts.frames[frame];
  std::vector<std::vector<AddressRange>> split(layout.parts.size());
  for (const AddressRange &range : ranges) {
    size_t part = layout.getPart(range.begin);
    int64_t begin = layout.parts[part].begin;
    split[part].push_back({range.begin - begin, range.end - begin});
  }
  std::vector<Ranges> kept;
  for (std::vector<AddressRange> &part : split)
    kept.push_back(keep(std::move(part)));
  return kept;
}

/// Returns the residuals of a frame in order of their offsets.
llvm::ArrayRef<int32_t> StepShapes::getByOffset(int64_t frame) {
  auto [entry, isNew] = byOffset.try_emplace(frame);
  llvm::ArrayRef<int64_t> offsets = layouts.frames[frame].residualOffsets;
  if (isNew)
    entry->second =
        getSortedIndices<int32_t>(offsets.size(), [&](int32_t a, int32_t b) {
          return offsets[a] < offsets[b];
        });
  return entry->second;
}

AddressRange StepShapes::getRange(int64_t frame, int32_t residual) const {
  const int64_t offset = layouts.frames[frame].residualOffsets[residual];
  return {offset, offset + problem.alignedSize(
                               problem.frames[frame].residuals[residual].size)};
}

std::vector<StepShapes::PlaceUse> StepShapes::findUses(int64_t index) {
  const RoutineMemory &routine = problem.routines[index];
  const int64_t owner = timeline.getFrame(index);
  std::vector<PlaceUse> found;
  auto add = [&](int64_t begin, int64_t end, bool isInFrame,
                 AddressRange range) {
    if (begin >= end)
      return;
    size_t place = 0;
    if (isInFrame) {
      const ResidualFrameLayout &layout = layouts.frames[owner];
      const size_t part = layout.getPart(range.begin);
      const int64_t first = layout.parts[part].begin;
      range = {range.begin - first, range.end - first};
      place = part + 1;
    }
    found.push_back({begin, end, place, range});
  };
  for (const auto &[temporary, place] :
       llvm::zip(routine.temporaries, layouts.routines[index].temporaries))
    add(temporary.begin, temporary.end,
        place.region == TemporaryPlace::Region::Frame,
        {place.offset, place.offset + problem.alignedSize(temporary.size)});
  if (owner < 0)
    return found;
  const int64_t phase = timeline.getPhase(index);
  for (const auto &[number, residual] :
       llvm::enumerate(problem.frames[owner].residuals))
    if (auto live = getLiveRange(residual, phase, routine.length))
      add(live->first, live->second, true, getRange(owner, number));
  return found;
}

const StepShapes::RoutineUse &StepShapes::getUse(int64_t task) {
  if (const RoutineUse *known = useOfTask[task])
    return *known;
  const int64_t routine = problem.tasks[task].routine;
  llvm::ArrayRef<int64_t> cuts = sections.getCuts(task);
  auto [entry, isNew] = uses.try_emplace({routine, {cuts.begin(), cuts.end()}});
  if (isNew)
    entry->second = cutUse(routine, cuts);
  useOfTask[task] = &entry->second;
  return entry->second;
}

/// Goes through the sections once, since only a few buffers begin or end in one
/// of them: a step has as many sections as it has layers, and more.
StepShapes::RoutineUse StepShapes::cutUse(int64_t routine,
                                          llvm::ArrayRef<int64_t> cuts) {
  const int64_t owner = timeline.getFrame(routine);
  const int64_t length = problem.routines[routine].length;
  const std::vector<PlaceUse> all = findUses(routine);
  auto getOrder = [&](int64_t PlaceUse::*key) {
    return getSortedIndices<size_t>(all.size(), [&](size_t a, size_t b) {
      return all[a].*key < all[b].*key;
    });
  };
  const std::vector<size_t> byBegin = getOrder(&PlaceUse::begin);
  const std::vector<size_t> byEnd = getOrder(&PlaceUse::end);
  std::vector<RangeCover> covers(
      owner < 0 ? 1 : layouts.frames[owner].parts.size() + 1);
  RoutineUse use;
  use.places.resize(covers.size());
  size_t numBegun = 0, numEnded = 0;
  for (const auto &[section, begin] : llvm::enumerate(cuts)) {
    const int64_t end = section + 1 < cuts.size() ? cuts[section + 1] : length;
    if (begin >= end)
      break;
    std::set<size_t> changed;
    auto change = [&](const PlaceUse &buffer, int64_t by) {
      covers[buffer.place].add(buffer.range, by);
      changed.insert(buffer.place);
    };
    for (; numBegun < all.size() && all[byBegin[numBegun]].begin < end;
         ++numBegun)
      change(all[byBegin[numBegun]], 1);
    for (; numEnded < all.size() && all[byEnd[numEnded]].end <= begin;
         ++numEnded)
      change(all[byEnd[numEnded]], -1);
    for (size_t place : changed)
      use.places[place].push_back({section, keep(covers[place].getRanges())});
    use.numSections = section + 1;
  }
  return use;
}

/// Returns the ranges of a frame that are live after a phase and before the
/// next one.
const std::vector<StepShapes::Ranges> &
StepShapes::getBetweenPhases(int64_t index, int64_t phase) {
  auto [entry, isNew] = between.try_emplace({index, phase});
  if (!isNew)
    return entry->second;
  std::vector<AddressRange> ranges;
  for (int32_t number : getByOffset(index)) {
    const Residual &residual = problem.frames[index].residuals[number];
    if (residual.birthPhase <= phase && phase < residual.deathPhase)
      ranges.push_back(getRange(index, number));
  }
  return entry->second = splitByPart(index, ranges);
}

template <typename Visit>
void StepShapes::forEachChange(const RoutineUse &use, size_t place,
                               Visit visit) {
  const std::vector<RangeChange> &changes = use.places[place];
  for (const auto &[number, change] : llvm::enumerate(changes))
    visit(change.section,
          number + 1 < changes.size() ? changes[number + 1].section
                                      : use.numSections,
          change.ranges);
}

void StepShapes::addFramePart(const FrameInstance &instance, size_t number) {
  ShapeItem item;
  item.kind = ShapeItem::Kind::Frame;
  auto add = [&](size_t begin, size_t end, Ranges ranges) {
    if (ranges.empty() || begin == end)
      return;
    item.size = std::max(item.size, ranges.back().end);
    // Most parts use the same ranges in successive sections.
    if (!item.pieces.empty() &&
        item.pieces.back().end == static_cast<int32_t>(begin) &&
        item.pieces.back().ranges == ranges)
      item.pieces.back().end = static_cast<int32_t>(end);
    else
      item.pieces.push_back(
          {static_cast<int32_t>(begin), static_cast<int32_t>(end), ranges});
  };
  const FramePart &framePart = layouts.frames[instance.frame].parts[number];
  for (int64_t phase = framePart.first.phase; phase <= framePart.last.phase;
       ++phase) {
    const int64_t task = instance.tasks[phase];
    const RoutineUse &use = getUse(task);
    const size_t first = sections.getFirst(task);
    forEachChange(use, number + 1,
                  [&](size_t begin, size_t end, Ranges ranges) {
                    add(first + begin, first + end, ranges);
                  });
    if (phase == framePart.last.phase)
      continue;
    // The last section of a task may be behind its last instruction.
    add(first + use.numSections, sections.getFirst(instance.tasks[phase + 1]),
        getBetweenPhases(instance.frame, phase)[number]);
  }
  shapes.items.push_back(std::move(item));
}

void StepShapes::addScratch(int64_t task) {
  ShapeItem item;
  item.kind = ShapeItem::Kind::Scratch;
  const auto first = sections.getFirst(task);
  forEachChange(getUse(task), 0, [&](size_t begin, size_t end, Ranges ranges) {
    if (ranges.empty())
      return;
    for (size_t section = begin; section < end; ++section) {
      const int32_t at = first + static_cast<int32_t>(section);
      item.pieces.push_back({at, at + 1, ranges});
    }
    item.size = std::max(item.size, ranges.back().end);
  });
  shapes.items.push_back(std::move(item));
}

void StepShapes::addBuffer(const TaskBuffer &buffer) {
  ShapeItem item;
  item.size = problem.alignedSize(buffer.size);
  if (item.size > 0)
    item.pieces.push_back({sections.get(buffer.begin), sections.get(buffer.end),
                           keep({{0, item.size}})});
  shapes.items.push_back(std::move(item));
}

} // namespace mf::memory
