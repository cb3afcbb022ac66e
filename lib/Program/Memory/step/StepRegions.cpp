//===- StepRegions.cpp - Blocks of a step and their contents --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepRegions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <tuple>

namespace mf::memory {

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

RegionContents::RegionContents(const StepProblem &problem, const StepPlan &plan,
                               const StepPlaces &timeline)
    : problem(problem), plan(plan), timeline(timeline),
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
  const int64_t frame = timeline.getFrame(static_cast<int64_t>(routine));
  for (const auto &[temporary, place] :
       llvm::zip(problem.routines[routine].temporaries,
                 plan.routines[routine].temporaries)) {
    if (temporary.begin >= temporary.end || temporary.size == 0)
      continue;
    const bool isInFrame = place.region == TemporaryPlace::Region::Frame;
    const int64_t phase =
        isInFrame ? timeline.getPhase(static_cast<int64_t>(routine)) : 0;
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
      isFrame ? &timeline.getInstances()[region.index] : nullptr;
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

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

unsigned AddressRanges::getClass(int64_t size) {
  return llvm::bit_width(static_cast<uint64_t>(size));
}

void AddressRanges::insert(size_t number, int64_t begin, int64_t end) {
  classes[getClass(end - begin)].insert({{begin, number}, end});
}

void AddressRanges::erase(size_t number, int64_t begin, int64_t end) {
  classes[getClass(end - begin)].erase({begin, number});
}

std::vector<size_t> AddressRanges::find(int64_t begin, int64_t end) const {
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

} // namespace mf::memory
