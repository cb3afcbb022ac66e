//===- DualPipeV.cpp - Concurrent forward and backward along a V ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// DeepSeek-AI, DualPipe (the V-shaped form of DeepSeek-V3's schedule), 2025;
// MindSpore's zero_bubble_v has the same order. The second chunks of the stages
// are visited in reverse order. In the steady state a forward of one chunk runs
// with a backward of the other, so that one can compute while the other
// communicates. Weight gradients fill the bubbles of warm-up and cool-down; in
// between, backwards are whole.
//
// The paired form runs such a forward and backward as one slot, except for the
// first ones of the last stage, where the forward does not wait for its
// partner.
//
//===----------------------------------------------------------------------===//

#include "Policies.h"
#include <deque>
#include <utility>

namespace mf::schedule {

namespace {

/// Lists the tasks of one stage.
class StageOrder {
public:
  StageOrder(int32_t down, int32_t up) : chunks{down, up} {}

  /// Adds the next forward of the first (0) or second chunk.
  void forward(int side) {
    tasks.push_back({Phase::Forward, chunks[side], forwards[side]++});
  }
  /// Adds the next input gradient. Its weight gradient waits in the queue.
  void inputGradient(int side) {
    tasks.push_back({Phase::InputGradient, chunks[side], backwards[side]});
    queue.push_back({Phase::WeightGradient, chunks[side], backwards[side]++});
  }
  void weightGradient() {
    tasks.push_back(queue.front());
    queue.pop_front();
  }
  /// Runs a whole backward, whose weight gradient follows immediately.
  void backward(int side) {
    inputGradient(side);
    tasks.push_back(queue.back());
    queue.pop_back();
  }

  /// Runs a forward of one side together with a whole backward of the other.
  void pair(int forwardSide, int backwardSide) {
    const size_t begin = tasks.size();
    forward(forwardSide);
    backward(backwardSide);
    slots.emplace_back(begin, tasks.size());
  }

  std::vector<Task> tasks;
  /// The tasks of each pair: [begin, end).
  std::vector<std::pair<size_t, size_t>> slots;

private:
  int32_t chunks[2];
  int32_t forwards[2] = {0, 0}, backwards[2] = {0, 0};
  std::deque<Task> queue;
};

class DualPipeV : public PolicyOfV {
public:
  explicit DualPipeV(bool isPaired) : isPaired(isPaired) {}

  llvm::StringRef getName() const override {
    return isPaired ? "dualpipe-v-paired" : "dualpipe-v";
  }
  llvm::StringRef getSummary() const override {
    return isPaired ? "the same, a forward and a backward as one slot: the one "
                      "computes while the other communicates"
                    : "two chunks per stage, placed as a V, each forward next "
                      "to a backward of the other chunk";
  }
  void addRules(const Pipeline &pipeline, int64_t stage,
                Rules &rules) const override;

private:
  bool isPaired;
};

/// Adds the end of a stage's order. From the first split backward on, weight
/// gradients wait until gradients of inputs leave a bubble.
void addCoolDown(StageOrder &order, int32_t stage, int32_t behind) {
  bool splits = false;
  auto addBackward = [&](int side, int32_t turn, bool isFirst) {
    splits |= isFirst && turn == (stage + 1) / 2;
    splits ? order.inputGradient(side) : order.backward(side);
  };
  for (int32_t turn = 0; turn <= stage; ++turn) {
    addBackward(1, turn, stage % 2 == 1);
    addBackward(0, turn, stage % 2 == 0);
  }
  for (int32_t turn = 0; turn < behind; ++turn) {
    order.weightGradient();
    order.inputGradient(0);
  }
  for (int32_t turn = 0; turn <= stage; ++turn)
    order.weightGradient();
}

void DualPipeV::addRules(const Pipeline &pipeline, int64_t stage,
                         Rules &rules) const {
  const auto p = static_cast<int32_t>(stage);
  const auto stages = static_cast<int32_t>(pipeline.stages);
  const auto microBatches = static_cast<int32_t>(pipeline.microBatches);
  // Stages that the first chunk's results have yet to visit.
  const int32_t behind = stages - p - 1;
  StageOrder order(p, 2 * stages - 1 - p);
  for (int32_t turn = 0; turn < 2 * behind; ++turn)
    order.forward(0);
  for (int32_t turn = 0; turn <= p; ++turn) {
    order.forward(0);
    order.forward(1);
  }
  for (int32_t turn = 0; turn < behind; ++turn) {
    order.inputGradient(1);
    order.weightGradient();
    order.forward(1);
  }
  for (int32_t turn = 0; turn < microBatches - 2 * stages + p + 1; ++turn) {
    order.pair(0, 1);
    order.pair(1, 0);
  }
  for (int32_t turn = 0; turn < behind; ++turn) {
    order.backward(1);
    order.pair(1, 0);
  }
  addCoolDown(order, p, behind);
  rules.addOrder(order.tasks);
  if (!isPaired)
    return;
  for (auto [begin, end] :
       llvm::ArrayRef(order.slots).drop_front(behind == 0 ? 1 : 0))
    rules.addSlot(llvm::ArrayRef(order.tasks).slice(begin, end - begin));
}

} // namespace

const Policy *getDualPipeV() {
  static const DualPipeV policy(/*isPaired=*/false);
  return &policy;
}

const Policy *getPairedDualPipeV() {
  static const DualPipeV policy(/*isPaired=*/true);
  return &policy;
}

} // namespace mf::schedule
