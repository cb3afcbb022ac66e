//===- TrainerMemory.cpp - The device memory of the trainer ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/TrainerMemory.h"
#include <algorithm>
#include <numeric>

using namespace mf;
using namespace mf::trainer;

namespace {
struct CategoryNames {
  llvm::StringLiteral key, name;
};
} // namespace

/// In the order of TrainerCategory.
static constexpr CategoryNames categoryNames[numCategories] = {
    {"states", "weights and optimizer states"},
    {"gradient_sums", "sums of gradients"},
    {"gathered_weights", "gathered weights"},
    {"kept", "kept for backward"},
    {"tables", "masks and rotary tables"},
    {"values", "values between operators"},
    {"weight_gradients", "gradients of whole weights"},
    {"workspace", "workspace of kernels"},
};

llvm::StringRef mf::trainer::getName(TrainerCategory category) {
  return categoryNames[static_cast<size_t>(category)].name;
}

llvm::StringRef mf::trainer::getKey(TrainerCategory category) {
  return categoryNames[static_cast<size_t>(category)].key;
}

int64_t Bytes::getTotal() const {
  return std::accumulate(byCategory.begin(), byCategory.end(), int64_t{0});
}

Bytes &Bytes::operator+=(const Bytes &other) {
  for (size_t i = 0; i < numCategories; ++i)
    byCategory[i] += other.byCategory[i];
  return *this;
}

Bytes &Bytes::operator-=(const Bytes &other) {
  for (size_t i = 0; i < numCategories; ++i)
    byCategory[i] -= other.byCategory[i];
  return *this;
}

int64_t mf::trainer::getBlockBytes(int64_t tensorBytes) {
  return (tensorBytes + 543) / 512 * 512;
}

TrainerPeak mf::trainer::findPeak(const schedule::Schedule &schedule,
                                  int64_t stage,
                                  const std::vector<ChunkMemory> &chunks,
                                  const TrainerStage &memory) {
  TrainerPeak peak;
  peak.lastingBytes = memory.always.getTotal();
  for (const ChunkMemory &chunk : chunks)
    peak.keptByChunk.push_back(chunk.forward.change.getTotal());
  Bytes live = memory.always;
  auto consider = [&](const TrainerMoment &moment, auto name) {
    Bytes bytes = live;
    bytes += moment.bytes;
    if (bytes.getTotal() > peak.moment.bytes.getTotal()) {
      peak.moment = {bytes, moment.at};
      peak.task = name();
    }
  };
  std::vector<size_t> numBackwards(chunks.size(), 0);
  for (const schedule::Task &task : schedule.stages[stage]) {
    const ChunkMemory &chunk = chunks[task.chunk];
    const PhaseMemory *phase = nullptr;
    switch (task.phase) {
    case schedule::Phase::Forward:
      phase = &chunk.forward;
      break;
    case schedule::Phase::Backward:
    case schedule::Phase::InputGradient:
      phase = &chunk.backwards[std::min(numBackwards[task.chunk]++,
                                        chunk.backwards.size() - 1)];
      break;
    case schedule::Phase::WeightGradient:
    case schedule::Phase::Recompute:
      continue;
    }
    consider(phase->peak, [&] { return schedule.pipeline.getName(task); });
    live += phase->change;
  }
  // The gradients of the step are on their shards by then.
  live = memory.always;
  consider(memory.update, [] { return std::string("update"); });
  return peak;
}
