//===- ZeroBubbleV.cpp - Down and back up the stages without a bubble -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Qi et al., Pipeline Parallelism with Controllable Memory, 2024, schedule
// ZB-V. The second chunks are placed in reverse order of the stages, so the
// last stage passes values on to itself and losses are computed on the first.
// With equal times of the three phases, no stage idles between its first task
// and its last, with as many activations in flight as 1F1B has on its first
// stage.
//
//===----------------------------------------------------------------------===//

#include "Policies.h"

namespace mf::schedule {

namespace {

class ZeroBubbleV : public PolicyOfV {
public:
  llvm::StringRef getName() const override { return "zero-bubble-v"; }
  llvm::StringRef getSummary() const override {
    return "two chunks per stage, placed as a V, and weight gradients in the "
           "bubbles: none is left if phases take equal time";
  }
  void addRules(const Pipeline &pipeline, int64_t stage,
                Rules &rules) const override;
};

/// Appends micro-batches of two chunks alternately: `turns` times one of
/// `first` and one of `second`, starting with the given ones.
void appendInTurn(std::vector<Task> &tasks, Task first, Task second,
                  int32_t turns) {
  for (int32_t turn = 0; turn < turns; ++turn) {
    tasks.push_back(first);
    tasks.push_back(second);
    ++first.microBatch;
    ++second.microBatch;
  }
}

void ZeroBubbleV::addRules(const Pipeline &pipeline, int64_t stage,
                           Rules &rules) const {
  int32_t stages = static_cast<int32_t>(pipeline.stages),
          microBatches = static_cast<int32_t>(pipeline.microBatches);
  int32_t down = static_cast<int32_t>(stage),
          up = static_cast<int32_t>(2 * stages - 1 - stage);
  // The number of stages that a micro-batch visits on its way from here to the
  // last stage and back.
  auto way = static_cast<int32_t>(2 * (stages - stage) - 1);
  // The number of micro-batches that return before the first backward arrives
  // here.
  auto lead = static_cast<int32_t>(stages - stage);

  std::vector<Task> forwards;
  append(forwards, Phase::Forward, down, 0, way);
  appendInTurn(forwards, {Phase::Forward, up, 0}, {Phase::Forward, down, way},
               static_cast<int32_t>(stage));
  int32_t backAgain = static_cast<int32_t>(stage) + lead;
  append(forwards, Phase::Forward, up, static_cast<int32_t>(stage), backAgain);
  appendInTurn(forwards, {Phase::Forward, down, way + down},
               {Phase::Forward, up, backAgain}, microBatches);

  auto getGradients = [&](Phase phase) {
    std::vector<Task> tasks;
    append(tasks, phase, up, 0, lead);
    appendInTurn(tasks, {phase, down, 0}, {phase, up, lead}, microBatches);
    return tasks;
  };
  std::vector<Task> weights = getGradients(Phase::WeightGradient);
  rules.addAlternation(forwards, getGradients(Phase::InputGradient),
                       2 * stages - 1);
  rules.addOrder(weights);
  rules.addLimit(forwards, weights, 2 * stages);
}

} // namespace

const Policy *getZeroBubbleV() {
  static const ZeroBubbleV policy;
  return &policy;
}

} // namespace mf::schedule
