//===- ZeroBubbleH2.cpp - No bubble for twice the activations -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Qi et al., Zero Bubble Pipeline Parallelism, 2023, schedule ZB-H2. A stage
// runs input gradients before forwards before weight gradients, with up to 2P -
// 1 micro-batches in flight on each of P stages. With equal times of the three
// phases no stage idles between its first task and its last.
//
//===----------------------------------------------------------------------===//

#include "Policies.h"

namespace mf::schedule {

namespace {

class ZeroBubbleH2 : public Policy {
public:
  llvm::StringRef getName() const override { return "zero-bubble-h2"; }
  llvm::StringRef getSummary() const override {
    return "weight gradients in all bubbles: none is left if phases take equal "
           "time, for nearly twice the activations of 1F1B";
  }
  bool splitsBackward() const override { return true; }

  llvm::Error check(const Pipeline &pipeline) const override {
    return checkOneChunkPerStage(*this, pipeline);
  }

  void addRules(const Pipeline &pipeline, int64_t stage,
                Rules &rules) const override {
    const int32_t chunk = rules.getChunks().front();
    const auto microBatches = static_cast<int32_t>(pipeline.microBatches);
    std::vector<Task> forwards, inputs, weights;
    append(forwards, Phase::Forward, chunk, 0, microBatches);
    append(inputs, Phase::InputGradient, chunk, 0, microBatches);
    append(weights, Phase::WeightGradient, chunk, 0, microBatches);
    rules.addOrder(forwards);
    rules.addOrder(inputs);
    rules.addOrder(weights);
    rules.addLimit(forwards, weights, 2 * pipeline.stages - 1);
  }
};

} // namespace

const Policy *getZeroBubbleH2() {
  static const ZeroBubbleH2 policy;
  return &policy;
}

} // namespace mf::schedule
