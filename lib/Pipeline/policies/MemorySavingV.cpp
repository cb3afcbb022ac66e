//===- MemorySavingV.cpp - V schedules with a half or a third of memory ---===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Qi et al., Pipeline Parallelism with Controllable Memory, 2024, schedules
// V-Half and V-Min. Two chunks per stage go down the stages and back up, and a
// micro-batch enters every six units of time. The first forwards and input
// gradients of a micro-batch have fixed starts on each stage; the further apart
// the stages start, the fewer activations are in flight. Weight gradients run
// where a stage would idle, or where the peak would be exceeded.
//
//===----------------------------------------------------------------------===//

#include "Policies.h"
#include "llvm/ADT/STLExtras.h"
#include <array>

namespace mf::schedule {

namespace {

/// The time units in which a micro-batch's forward of the first and second
/// chunk and their input gradients, of the second and of the first, start on a
/// stage. They differ modulo the period.
using Starts = std::array<int64_t, 4>;

/// A V in which micro-batches follow one another at equal distances.
class MemorySavingV : public PolicyOfV {
public:
  void addRules(const Pipeline &pipeline, int64_t stage,
                Rules &rules) const override {
    constexpr int64_t period = 6;
    const int64_t stages = pipeline.stages;
    const auto down = static_cast<int32_t>(stage);
    const auto up = static_cast<int32_t>(2 * stages - 1 - stage);
    const Starts starts = getStarts(stages, stage);
    const Task slots[] = {{Phase::Forward, down},
                          {Phase::Forward, up},
                          {Phase::InputGradient, up},
                          {Phase::InputGradient, down}};
    std::vector<std::pair<int64_t, Task>> timed;
    for (int32_t number = 0; number < pipeline.microBatches; ++number)
      for (auto [start, slot] : llvm::zip_equal(starts, slots))
        timed.push_back(
            {start + period * number, Task{slot.phase, slot.chunk, number}});
    llvm::sort(timed, llvm::less_first());

    std::vector<Task> order, forwards, weights;
    for (const auto &[start, task] : timed) {
      order.push_back(task);
      if (task.phase == Phase::Forward)
        forwards.push_back(task);
      else
        weights.push_back({Phase::WeightGradient, task.chunk, task.microBatch});
    }
    rules.addOrder(order);
    rules.addOrder(weights);
    rules.addLimit(forwards, weights, 2 * getPeak(stages));
  }

protected:
  int64_t getLeastMicroBatches(int64_t) const override { return 1; }
  virtual Starts getStarts(int64_t stages, int64_t stage) const = 0;
  /// Returns the largest number of activations in flight, in micro-batches of
  /// both chunks.
  virtual int64_t getPeak(int64_t stages) const = 0;
};

class HalfMemoryV : public MemorySavingV {
public:
  llvm::StringRef getName() const override { return "v-half"; }
  llvm::StringRef getSummary() const override {
    return "two chunks per stage, placed as a V, with half of 1F1B's "
           "activations and less of its bubble";
  }

protected:
  Starts getStarts(int64_t stages, int64_t stage) const override {
    const int64_t shift = stages % 2 == 0 ? 3 : 0;
    return {2 * stage, 3 * stages - stage - 2,
            3 * stages + shift + 2 * stage - 1, 6 * stages + shift - stage - 2};
  }
  int64_t getPeak(int64_t stages) const override { return (stages + 2) / 2; }
};

class LeastMemoryV : public MemorySavingV {
public:
  llvm::StringRef getName() const override { return "v-min"; }
  llvm::StringRef getSummary() const override {
    return "two chunks per stage, placed as a V, with a third of 1F1B's "
           "activations and about its bubble";
  }

protected:
  Starts getStarts(int64_t stages, int64_t stage) const override {
    const int64_t shift = stages % 3 == 0 ? 2 : 0;
    return {stage, 2 * stages - stage - 1, 2 * stages + shift + stage,
            4 * stages + shift - stage - 1};
  }
  int64_t getPeak(int64_t stages) const override { return (stages + 4) / 3; }
};

} // namespace

const Policy *getHalfMemoryV() {
  static const HalfMemoryV policy;
  return &policy;
}

const Policy *getLeastMemoryV() {
  static const LeastMemoryV policy;
  return &policy;
}

} // namespace mf::schedule
