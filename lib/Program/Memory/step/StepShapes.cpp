//===- StepShapes.cpp - Shapes of a laid out step -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepShapes.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::memory {

StepShapes::StepShapes(const StepProblem &problem,
                       const FrameInstances &instances,
                       const StepSections &sections, const StepPlan &layouts)
    : problem(problem), instances(instances), sections(sections),
      layouts(layouts) {
  shapes.numSections = sections.getNumSections();
  for (const FrameInstance &instance : instances.getAll())
    for (size_t part = 0; part < layouts.frames[instance.frame].parts.size();
         ++part)
      addFramePart(instance, part);
  for (size_t task = 0; task < problem.tasks.size(); ++task)
    addScratch(static_cast<int64_t>(task));
  for (const TaskBuffer &buffer : problem.taskBuffers)
    addBuffer(buffer);
}

StepShapes::Ranges StepShapes::keep(std::vector<AddressRange> ranges) {
  mergeRanges(ranges);
  return pool.emplace_back(std::move(ranges));
}

/// Splits the ranges of a frame by its parts. They become relative to the
/// parts.
std::vector<StepShapes::Ranges>
StepShapes::splitByPart(int64_t frame,
                        const std::vector<AddressRange> &ranges) {
  const FrameLayout &layout = layouts.frames[frame];
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

const StepShapes::RoutinePart &StepShapes::getPart(int64_t index, int64_t begin,
                                                   int64_t end) {
  auto [entry, isNew] = parts.try_emplace({index, begin, end});
  if (!isNew)
    return entry->second;
  const RoutineMemory &routine = problem.routines[index];
  auto isAlive = [&](int64_t first, int64_t last) {
    return first < last && first < end && begin < last;
  };
  std::vector<AddressRange> temporaries, residuals, scratch;
  for (const auto &[temporary, place] :
       llvm::zip(routine.temporaries, layouts.routines[index].temporaries)) {
    if (!isAlive(temporary.begin, temporary.end))
      continue;
    bool isInFrame = place.isInFrame;
    (isInFrame ? temporaries : scratch)
        .push_back(
            {place.offset, place.offset + problem.alignedSize(temporary.size)});
  }
  if (int64_t owner = instances.getFrame(index); owner >= 0) {
    int64_t phase = instances.getPhase(index);
    for (int32_t number : getByOffset(owner)) {
      const Residual &residual = problem.frames[owner].residuals[number];
      auto range = getLiveRange(residual, phase, routine.length);
      if (range && isAlive(range->first, range->second))
        residuals.push_back(getRange(owner, number));
    }
    std::sort(temporaries.begin(), temporaries.end());
    std::vector<AddressRange> frame(temporaries.size() + residuals.size());
    std::merge(temporaries.begin(), temporaries.end(), residuals.begin(),
               residuals.end(), frame.begin());
    entry->second.frame = splitByPart(owner, frame);
  }
  entry->second.scratch = keep(std::move(scratch));
  return entry->second;
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
void StepShapes::forEachSection(int64_t task, Visit visit) {
  int64_t routine = problem.tasks[task].routine;
  int64_t length = problem.routines[routine].length;
  llvm::ArrayRef<int64_t> instructions = sections.getBegins(task);
  for (size_t i = 0; i < instructions.size(); ++i) {
    int64_t end = i + 1 < instructions.size() ? instructions[i + 1] : length;
    visit(sections.getFirst(task) + static_cast<int32_t>(i),
          instructions[i] < end,
          instructions[i] < end ? getPart(routine, instructions[i], end)
                                : RoutinePart());
  }
}

void StepShapes::addFramePart(const FrameInstance &instance, size_t number) {
  ShapeItem item;
  item.kind = ShapeItem::Kind::Frame;
  auto add = [&](int32_t begin, int32_t end, Ranges ranges) {
    if (ranges.empty() || begin == end)
      return;
    item.size = std::max(item.size, ranges.back().end);
    // Most parts use the same ranges in successive sections.
    if (!item.pieces.empty() && item.pieces.back().end == begin &&
        item.pieces.back().ranges == ranges)
      item.pieces.back().end = end;
    else
      item.pieces.push_back({begin, end, ranges});
  };
  const FramePart &framePart = layouts.frames[instance.frame].parts[number];
  for (int64_t phase = framePart.first.phase; phase <= framePart.last.phase;
       ++phase) {
    int64_t task = instance.tasks[phase];
    bool isLast = phase == framePart.last.phase;
    Ranges after;
    if (!isLast)
      after = getBetweenPhases(instance.frame, phase)[number];
    forEachSection(task, [&](int32_t section, bool hasInstructions,
                             const RoutinePart &part) {
      add(section, section + 1, hasInstructions ? part.frame[number] : after);
    });
    if (!isLast)
      add(sections.getFirst(task + 1),
          sections.getFirst(instance.tasks[phase + 1]), after);
  }
  shapes.items.push_back(std::move(item));
}

void StepShapes::addScratch(int64_t task) {
  ShapeItem item;
  item.kind = ShapeItem::Kind::Scratch;
  forEachSection(task, [&](int32_t section, bool, const RoutinePart &part) {
    if (part.scratch.empty())
      return;
    item.pieces.push_back({section, section + 1, part.scratch});
    item.size = std::max(item.size, part.scratch.back().end);
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
