//===- Layout.cpp - Distribution of a step over devices -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Settings/Layout.h"
#include "mf/Frontend/Config/StageMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mf;
using namespace mf::planner;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static void addSize(const char *name, int64_t size, std::string &text) {
  if (size > 1)
    text += std::string(" ") + name + std::to_string(size);
}

std::string DeviceLayout::describe() const {
  std::string text = "dp" + std::to_string(dataParallel);
  addSize("mp", modelParallel, text);
  addSize("cp", contextParallel, text);
  addSize("ep", expertParallel, text);
  addSize("pp", stages, text);
  text += sequenceParallel ? " sp" : "";
  text += optimizerSharding ? " opt" : "";
  return text;
}

std::string DeviceLayout::describeLayers() const {
  std::string text = "batch" + std::to_string(batchSize);
  addSize("mp", modelParallel, text);
  addSize("cp", contextParallel, text);
  addSize("ep", expertParallel, text);
  text += sequenceParallel ? " sp" : "";
  return text;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static std::vector<int64_t> getDivisors(int64_t number) {
  std::vector<int64_t> low, high;
  for (int64_t divisor = 1; divisor * divisor <= number; ++divisor) {
    if (number % divisor != 0)
      continue;
    low.push_back(divisor);
    if (divisor * divisor != number)
      high.push_back(number / divisor);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

bool planner::dealSamples(const LayoutRules &rules, DeviceLayout &layout) {
  if (rules.samples % layout.dataParallel != 0)
    return false;
  const int64_t own = rules.samples / layout.dataParallel;
  for (int64_t batch = std::min(rules.batchSize, own); batch >= 1; --batch) {
    if (own % batch != 0 || own / batch < layout.stages)
      continue;
    layout.batchSize = batch;
    layout.passes = own / batch;
    return true;
  }
  return false;
}

namespace {

class LayoutLister {
public:
  explicit LayoutLister(const LayoutRules &rules) : rules(rules) {}

  std::vector<DeviceLayout> list() {
    for (const int64_t modelParallel : getDivisors(rules.devices)) {
      if (!canCutHeads(modelParallel))
        continue;
      const int64_t rest = rules.devices / modelParallel;
      for (const int64_t contextParallel : getDivisors(rest)) {
        if (!canCutRows(contextParallel))
          continue;
        for (const int64_t stages : getDivisors(rest / contextParallel)) {
          DeviceLayout layout;
          layout.modelParallel = modelParallel;
          layout.contextParallel = contextParallel;
          layout.stages = stages;
          layout.dataParallel = rest / contextParallel / stages;
          if (stages <= rules.layers && dealSamples(rules, layout))
            addExperts(layout);
        }
      }
    }
    llvm::sort(layouts);
    return std::move(layouts);
  }

private:
  const LayoutRules &rules;
  std::vector<DeviceLayout> layouts;

  bool canCutHeads(int64_t parts) const {
    const bool isInNode = rules.nodeRanks == 0 || rules.nodeRanks % parts == 0;
    return isInNode && rules.heads % parts == 0 &&
           rules.keyValueHeads % parts == 0;
  }

  bool canCutRows(int64_t parts) const {
    return parts == 1 ||
           (rules.allowsContext && rules.sequenceLength % parts == 0);
  }

  void addExperts(DeviceLayout layout) {
    if (rules.experts <= 1)
      return addSequence(layout);
    const int64_t sharing =
        layout.getReplicas() * (rules.cutsExperts ? 1 : layout.modelParallel);
    for (const int64_t parts : getDivisors(sharing)) {
      layout.expertParallel = parts;
      if (rules.experts % parts == 0)
        addSequence(layout);
    }
  }

  /// Adds layouts with rows that are distributed and with rows that are not. If
  /// layers are not cut, there are no rows to distribute.
  void addSequence(DeviceLayout layout) {
    // Experts and the dynamic graph require that rows are distributed.
    if (layout.modelParallel == 1 ||
        (rules.experts <= 1 && !rules.alwaysShards))
      addSharding(layout);
    layout.sequenceParallel = true;
    const int64_t rowParts = layout.modelParallel * layout.contextParallel;
    if (layout.modelParallel > 1 && rules.sequenceLength % rowParts == 0)
      addSharding(layout);
  }

  void addSharding(DeviceLayout layout) {
    layout.optimizerSharding = rules.optimizerSharding;
    layouts.push_back(layout);
    if (layout.getReplicas() == 1 || rules.alwaysShards)
      return;
    layout.optimizerSharding = !rules.optimizerSharding;
    layouts.push_back(layout);
  }
};

} // namespace

std::vector<DeviceLayout> planner::listLayouts(const LayoutRules &rules) {
  return LayoutLister(rules).list();
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

MemorySettings planner::makeLayoutSettings(const DeviceLayout &layout,
                                           int64_t layers, int64_t interleave,
                                           bool keepsSwap) {
  const bool canInterleave =
      layout.stages > 1 && layout.stages * interleave <= layers;
  const int64_t chunks = canInterleave ? interleave : 1;
  MemorySettings settings;
  settings.dataParallel = layout.dataParallel;
  settings.modelParallel = layout.modelParallel;
  settings.contextParallel = layout.contextParallel;
  settings.expertParallel = layout.expertParallel;
  settings.stages = layout.stages;
  settings.batchSize = layout.batchSize;
  settings.microBatches = layout.stages > 1 ? layout.passes : 1;
  settings.gradientAccumulation = layout.stages > 1 ? 1 : layout.passes;
  if (layout.modelParallel > 1)
    settings.sequenceParallel = layout.sequenceParallel;
  settings.optimizerSharding = layout.optimizerSharding;
  settings.interleave = chunks;
  settings.offset = dealLayersEvenly(layers, layout.stages, chunks);
  settings.recompute =
      StageTable(static_cast<size_t>(chunks),
                 std::vector<int64_t>(static_cast<size_t>(layout.stages)));
  settings.selectRecompute.emplace();
  settings.selectCommRecompute.emplace();
  if (!keepsSwap)
    settings.swap.emplace();
  return settings;
}
