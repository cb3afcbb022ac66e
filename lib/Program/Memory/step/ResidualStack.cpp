//===- ResidualStack.cpp - Residuals of a frame, in parts -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ResidualStack.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>
#include <numeric>

namespace mf::memory {

namespace {

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

FramePart getWholeFrame(const StepProblem &problem, const FrameMemory &frame,
                        int64_t size) {
  FramePart part;
  part.size = size;
  part.last.phase = static_cast<int64_t>(frame.phases.size()) - 1;
  part.last.instruction = problem.routines[frame.phases.back()].length;
  return part;
}

FrameLayout stackResiduals(const StepProblem &problem, const FrameMemory &frame,
                           StackOrder order, int64_t numGroups) {
  FrameLayout layout;
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

} // namespace mf::memory
