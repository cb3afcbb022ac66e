//===- OneForwardOneBackward.cpp - 1F1B -----------------------------------===//
//
// Narayanan et al., PipeDream, 2019. Stage p of P runs P-p-1 warm-up forwards,
// then a forward and a backward in turn, then the remaining backwards. With one
// stage that is gradient accumulation. Fewer micro-batches than stages only
// leave bubbles.
//
//===----------------------------------------------------------------------===//

#include "Policies.h"
#include "llvm/ADT/Twine.h"

namespace mf::schedule {

namespace {

class OneForwardOneBackward : public Policy {
public:
  llvm::StringRef getName() const override { return "1f1b"; }
  llvm::StringRef getSummary() const override {
    return "a forward and a backward in turn";
  }

  llvm::Error check(const Pipeline &pipeline) const override {
    if (pipeline.getNumChunks() == pipeline.stages)
      return llvm::Error::success();
    return llvm::createStringError(
        "schedule '1f1b' takes one chunk per stage, but " +
        llvm::Twine(pipeline.stages) + " stages have " +
        llvm::Twine(pipeline.getNumChunks()) +
        " chunks, expected schedule 'interleaved' for these");
  }

  void addRules(const Pipeline &pipeline, int64_t stage,
                Rules &rules) const override {
    int32_t chunk = pipeline.getChunks(stage).front();
    std::vector<Task> forwards, backwards;
    for (int32_t index = 0; index < pipeline.microBatches; ++index) {
      forwards.push_back({Phase::Forward, chunk, index});
      backwards.push_back({Phase::Backward, chunk, index});
    }
    rules.addAlternation(forwards, backwards, pipeline.stages - chunk - 1);
  }
};

} // namespace

const Policy *getOneForwardOneBackward() {
  static const OneForwardOneBackward policy;
  return &policy;
}

} // namespace mf::schedule
