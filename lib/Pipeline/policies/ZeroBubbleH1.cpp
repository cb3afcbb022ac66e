//===- ZeroBubbleH1.cpp - 1F1B with weight gradients in its bubbles -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Qi et al., Zero Bubble Pipeline Parallelism, 2023, schedule ZB-H1. Forwards
// and input gradients run as in 1F1B. A weight gradient runs when its stage
// would idle, or when as many micro-batches are in flight as 1F1B has on its
// first stage. With equal times of the three phases the bubble is a third of
// 1F1B's.
//
//===----------------------------------------------------------------------===//

#include "Policies.h"

namespace mf::schedule {

namespace {

class ZeroBubbleH1 : public Policy {
public:
  llvm::StringRef getName() const override { return "zero-bubble-h1"; }
  llvm::StringRef getSummary() const override {
    return "1F1B with weight gradients in its bubbles: same peak, a third of "
           "the bubble";
  }
  bool splitsBackward() const override { return true; }

  llvm::Error check(const Pipeline &pipeline) const override {
    return checkOneChunkPerStage(*this, pipeline);
  }

  void addRules(const Pipeline &pipeline, int64_t stage,
                Rules &rules) const override {
    int32_t chunk = rules.getChunks().front();
    auto microBatches = static_cast<int32_t>(pipeline.microBatches);
    std::vector<Task> forwards, inputs, weights;
    append(forwards, Phase::Forward, chunk, 0, microBatches);
    append(inputs, Phase::InputGradient, chunk, 0, microBatches);
    append(weights, Phase::WeightGradient, chunk, 0, microBatches);
    rules.addAlternation(forwards, inputs, pipeline.stages - stage - 1);
    rules.addLimit(forwards, weights, pipeline.stages);
  }
};

} // namespace

const Policy *getZeroBubbleH1() {
  static const ZeroBubbleH1 policy;
  return &policy;
}

} // namespace mf::schedule
