//===- OneForwardOneBackward.cpp - 1F1B -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Narayanan et al., PipeDream, 2019. Stage p of P runs P-p-1 warm-up forwards,
// then a forward and a backward in turn, then the remaining backwards. With one
// stage that is gradient accumulation. Fewer micro-batches than stages only
// leave bubbles.
//
//===----------------------------------------------------------------------===//

#include "Policies.h"

namespace mf::schedule {

namespace {

class OneForwardOneBackward : public Policy {
public:
  llvm::StringRef getName() const override { return "1f1b"; }
  llvm::StringRef getSummary() const override {
    return "a forward and a backward in turn";
  }

  llvm::Error check(const Pipeline &pipeline) const override {
    return checkOneChunkPerStage(*this, pipeline);
  }

  void addRules(const Pipeline &pipeline, int64_t stage,
                Rules &rules) const override {
    int32_t chunk = rules.getChunks().front();
    std::vector<Task> forwards, backwards;
    append(forwards, Phase::Forward, chunk, 0,
           static_cast<int32_t>(pipeline.microBatches));
    append(backwards, Phase::Backward, chunk, 0,
           static_cast<int32_t>(pipeline.microBatches));
    rules.addAlternation(forwards, backwards, pipeline.stages - stage - 1);
  }
};

} // namespace

const Policy *getOneForwardOneBackward() {
  static const OneForwardOneBackward policy;
  return &policy;
}

} // namespace mf::schedule
