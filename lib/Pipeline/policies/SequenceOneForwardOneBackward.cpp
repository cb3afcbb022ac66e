//===- SequenceOneForwardOneBackward.cpp - 1F1B of sequence pieces --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Sun et al., Seq1F1B: Efficient Sequence-Level Pipeline Parallelism for Large
// Language Model Training, 2024. This is 1F1B whose unit is a piece of a
// micro-batch's sequence. Backward begins with the last piece, so a stage runs
// additional forwards ahead, one for each further piece of a sequence. Each
// holds the activations of one piece. With one piece it equals 1F1B.
//
//===----------------------------------------------------------------------===//

#include "Policies.h"

namespace mf::schedule {

namespace {

class SequenceOneForwardOneBackward : public Policy {
public:
  llvm::StringRef getName() const override { return "seq1f1b"; }
  llvm::StringRef getSummary() const override {
    return "1F1B of pieces of the sequence: smaller bubbles, fewer activations";
  }
  bool takesPieces() const override { return true; }

  llvm::Error check(const Pipeline &pipeline) const override {
    return checkOneChunkPerStage(*this, pipeline);
  }

  void addRules(const Pipeline &pipeline, int64_t stage,
                Rules &rules) const override {
    int32_t chunk = rules.getChunks().front();
    int32_t microBatches = static_cast<int32_t>(pipeline.microBatches),
            pieces = static_cast<int32_t>(pipeline.pieces);
    std::vector<Task> forwards, backwards;
    appendPieces(forwards, Phase::Forward, chunk, 0, microBatches, pieces);
    appendPieces(backwards, Phase::Backward, chunk, 0, microBatches, pieces);
    rules.addAlternation(forwards, backwards,
                         pipeline.stages - stage - 1 + pieces - 1);
  }
};

} // namespace

const Policy *getSequenceOneForwardOneBackward() {
  static const SequenceOneForwardOneBackward policy;
  return &policy;
}

} // namespace mf::schedule
