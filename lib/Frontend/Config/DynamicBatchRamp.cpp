//===- DynamicBatchRamp.cpp - A global batch size that grows --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicLayout.h"

namespace mf {

namespace {

struct RampNumbers {
  int64_t start = 0, increment = 0, samples = 0, most = 0;

  int64_t getNumLevels() const { return (most - start) / increment; }
  /// Returns the batch size after `consumed` samples.
  int64_t getBatchSize(int64_t consumed) const {
    const int64_t levels = getNumLevels();
    if (consumed > samples || levels == 0 || samples == 0)
      return most;
    const double perLevel =
        static_cast<double>(samples) / static_cast<double>(levels);
    const auto level =
        static_cast<int64_t>(static_cast<double>(consumed) / perLevel);
    return std::min(start + increment * level, most);
  }
};

} // namespace

/// Checks the numbers in the trainer's order; empty if they are right.
static std::string checkRamp(const RampNumbers &ramp, int64_t units) {
  auto number = [](int64_t value) { return std::to_string(value); };
  if (ramp.increment <= 0)
    return "rampup_batch_size[1] (batch_size_increment) must be > 0, got " +
           number(ramp.increment) + ".";
  if (ramp.samples < 0)
    return "rampup_batch_size[2] (rampup_samples) must be >= 0, got " +
           number(ramp.samples) + ".";
  const std::string start = "rampup_batch_size[0] start_global_batch_size(" +
                            number(ramp.start) + ") must be ";
  const std::string whole =
      "training.global_batch_size(" + number(ramp.most) + ") must be ";
  if (ramp.start <= 0)
    return start + "positive.";
  if (ramp.most < ramp.start)
    return whole + ">= rampup_batch_size[0] start_global_batch_size(" +
           number(ramp.start) + ").";
  if ((ramp.most - ramp.start) % ramp.increment != 0)
    return "(global_batch_size - start_global_batch_size)=" +
           number(ramp.most - ramp.start) +
           " must be divisible by batch_size_increment=" +
           number(ramp.increment) + ".";
  const std::string divisible =
      "divisible by data_parallel*local_batch_size(" + number(units) + ").";
  if (ramp.start % units != 0)
    return start + divisible;
  if (ramp.most % units != 0)
    return whole + divisible;
  // Levels repeat modulo the units.
  const int64_t levels = std::min(ramp.getNumLevels(), units);
  for (int64_t level = 0; level < levels; ++level)
    if (const int64_t size = ramp.start + level * ramp.increment;
        size % units != 0)
      return "rampup produces gbs=" + number(size) +
             " at increment k=" + number(level) + ", which is not " +
             divisible.substr(0, divisible.size() - 1) +
             ". Adjust batch_size_increment so every intermediate gbs is "
             "divisible.";
  return {};
}

std::vector<BatchRamp> readBatchRamp(const Node &root, int64_t baseUnits,
                                     DiagnosticList &diagnostics) {
  /// Levels that a message lists; more have no use in it.
  constexpr size_t mostLevels = 256;
  DynamicReader training(root, "training", diagnostics);
  Node written = training.getWritten("rampup_batch_size");
  if (!written)
    return {};
  const std::vector<Node> &items = written.getElements();
  if (items.size() != 3 ||
      llvm::any_of(items, [](const Node &item) { return !item.getInt(); })) {
    training.error("rampup_batch_size",
                   "expected [start, increment, samples], three ints, for "
                   "'rampup_batch_size', but got " +
                       written.repr(60));
    return {};
  }
  const RampNumbers ramp = {*items[0].getInt(), *items[1].getInt(),
                            *items[2].getInt(),
                            training.getInt("global_batch_size")};
  const std::string problem = checkRamp(ramp, std::max<int64_t>(baseUnits, 1));
  if (!problem.empty()) {
    training.error("rampup_batch_size", problem);
    return {};
  }
  std::vector<BatchRamp> levels;
  int64_t consumed = 0;
  while (levels.size() < mostLevels) {
    const int64_t size = ramp.getBatchSize(consumed);
    if (levels.empty() || levels.back().batchSize != size)
      levels.push_back({size, 0, size / baseUnits});
    if (size == ramp.most)
      break;
    // All steps before the next possible change of the size are counted in one
    // iteration.
    const double perLevel = static_cast<double>(ramp.samples) /
                            static_cast<double>(ramp.getNumLevels());
    const int64_t level = (size - ramp.start) / ramp.increment + 1;
    const auto next =
        static_cast<int64_t>(perLevel * static_cast<double>(level));
    const int64_t steps =
        std::max<int64_t>(1, (std::min(next, ramp.samples) - consumed) / size);
    levels.back().steps += steps;
    consumed += steps * size;
  }
  return levels;
}

} // namespace mf
