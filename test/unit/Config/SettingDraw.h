//===- SettingDraw.h - Random memory settings -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_CONFIG_SETTINGDRAW_H
#define MF_TEST_UNIT_CONFIG_SETTINGDRAW_H

#include "mf/Frontend/Config/SettingEdit.h"
#include <algorithm>
#include <random>

namespace mf {

/// Settings that a model of some layers can have, the same ones for the same
/// seed.
class SettingDraw {
public:
  explicit SettingDraw(unsigned seed) : random(seed) {}

  int64_t from(int64_t smallest, int64_t largest) {
    return smallest +
           static_cast<int64_t>(random() %
                                static_cast<uint64_t>(largest - smallest + 1));
  }
  bool coin() { return from(0, 1) == 1; }

  /// Draws settings for a file with so many layers.
  MemorySettings draw(int64_t layers);

private:
  StageTable drawOffset(int64_t layers, int64_t stages, int64_t chunks);
  StageTable drawCounts(const StageTable &offset, int64_t average);
  std::vector<OperatorCounts> drawOperators(const StageTable &offset,
                                            int64_t average);
  std::vector<SwapItem> drawSwap(int64_t layers);

  std::mt19937 random;
};

inline StageTable SettingDraw::drawOffset(int64_t layers, int64_t stages,
                                          int64_t chunks) {
  StageTable table(static_cast<size_t>(chunks),
                   std::vector<int64_t>(static_cast<size_t>(stages)));
  auto place = [&]() -> int64_t & {
    return table[static_cast<size_t>(from(0, chunks - 1))]
                [static_cast<size_t>(from(0, stages - 1))];
  };
  const int64_t average = layers / (stages * chunks);
  for (int64_t left = layers % (stages * chunks); left > 0; --left)
    ++place();
  for (int64_t moves = from(0, 2); moves > 0; --moves) {
    int64_t &giver = place();
    if (giver < 0 || average + giver < 2)
      continue;
    --giver;
    ++place();
  }
  return table;
}

inline StageTable SettingDraw::drawCounts(const StageTable &offset,
                                          int64_t average) {
  StageTable table = offset;
  const bool isNone = from(0, 4) == 0;
  for (std::vector<int64_t> &row : table)
    for (int64_t &count : row)
      count = isNone ? 0 : from(0, average + count);
  return table;
}

inline std::vector<OperatorCounts>
SettingDraw::drawOperators(const StageTable &offset, int64_t average) {
  std::vector<OperatorCounts> operators;
  for (const char *pattern :
       {"feed_forward\\.mul", "feed_forward\\.w1\\.activation\\.silu",
        "feed_forward\\.w2\\.reshape", ".*\\.norm", "it's"})
    if (coin())
      operators.push_back({pattern, drawCounts(offset, average)});
  return operators;
}

inline std::vector<SwapItem> SettingDraw::drawSwap(int64_t layers) {
  std::vector<SwapItem> items;
  for (const char *name : {"", "attention\\.flash_attention", "add"})
    for (int64_t prefetch = 1; prefetch <= 2; ++prefetch) {
      SwapItem item = {name, prefetch, {}};
      for (int64_t layer = prefetch - 1; layer < layers; layer += 2)
        if (coin())
          item.layers.push_back(layer);
      if (!item.layers.empty() && coin())
        items.push_back(std::move(item));
    }
  return items;
}

inline MemorySettings SettingDraw::draw(int64_t layers) {
  MemorySettings settings;
  const int64_t stages = from(1, std::min<int64_t>(layers, 5));
  const int64_t chunks =
      from(1, std::max<int64_t>(std::min<int64_t>(layers / stages, 3), 1));
  const int64_t average = layers / (stages * chunks);
  settings.stages = stages;
  settings.interleave = chunks;
  settings.offset = drawOffset(layers, stages, chunks);
  settings.scheduler = coin() ? "1f1b" : "seqpipe";
  settings.recompute = drawCounts(*settings.offset, average);
  settings.selectRecompute = drawOperators(*settings.offset, average);
  settings.selectCommRecompute = drawOperators(*settings.offset, average);
  settings.swap = from(0, 2) == 0 ? drawSwap(layers) : std::vector<SwapItem>();
  if (coin())
    settings.microBatches = from(1, 64);
  if (coin())
    settings.batchSize = from(1, 4);
  if (coin())
    settings.lessMemoryInterleave = coin();
  for (auto number :
       {&MemorySettings::dataParallel, &MemorySettings::modelParallel,
        &MemorySettings::contextParallel, &MemorySettings::expertParallel})
    if (coin())
      settings.*number = from(1, 16);
  if (coin())
    settings.sequenceParallel = coin();
  if (coin())
    settings.optimizerSharding = coin();
  return settings;
}

} // namespace mf

#endif // MF_TEST_UNIT_CONFIG_SETTINGDRAW_H
