//===- Interleaved.cpp - 1F1B over several chunks per stage ---------------===//
//
// Narayanan et al., Efficient Large-Scale Language Model Training on GPU
// Clusters Using Megatron-LM, 2021. A stage goes through its chunks with a
// group of micro-batches, then with the next: groups are as large as there are
// stages, the first takes what is over. With fewer micro-batches than stages
// there is one group. Backwards visit the chunks in reverse.
//
// Of pieces of the sequence (Sun et al., Seq1F1B, 2024) a group has as many
// micro-batches as have at least one piece for each stage.
//
//===----------------------------------------------------------------------===//

#include "Policies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>

using llvm::Twine;

namespace mf::schedule {

namespace {

class Interleaved : public Policy {
public:
  /// `lead` is how many more forwards a stage runs ahead than the one behind
  /// it.
  Interleaved(llvm::StringRef name, llvm::StringRef summary, int64_t lead,
              bool hasPieces = false)
      : name(name), summary(summary), lead(lead), hasPieces(hasPieces) {}

  llvm::StringRef getName() const override { return name; }
  llvm::StringRef getSummary() const override { return summary; }

  bool takesPieces() const override { return hasPieces; }

  llvm::Error check(const Pipeline &pipeline) const override {
    int64_t chunks = pipeline.getNumChunks();
    if (chunks % pipeline.stages != 0 || chunks < 2 * pipeline.stages)
      return llvm::createStringError(
          "schedule '" + name +
          "' takes two or more chunks per stage, as many "
          "on each, but " +
          Twine(pipeline.stages) + " stages have " + Twine(chunks) +
          " chunks, expected a multiple of " + Twine(pipeline.stages) +
          " from " + Twine(2 * pipeline.stages) +
          (chunks != pipeline.stages ? ""
           : hasPieces               ? ", or schedule 'seq1f1b'"
                                     : ", or schedule '1f1b'"));
    return checkPlacement(*this, pipeline);
  }

  void addRules(const Pipeline &pipeline, int64_t stage,
                Rules &rules) const override {
    llvm::ArrayRef<int32_t> chunks = rules.getChunks();
    int32_t microBatches = pipeline.microBatches, pieces = pipeline.pieces;
    int32_t group = (pipeline.stages + pieces - 1) / pieces;
    int32_t firstGroup = std::min(group + microBatches % group, microBatches);
    std::vector<Task> forwards, backwards;
    for (int32_t begin = 0, end = firstGroup; begin < microBatches;
         begin = end, end += group) {
      for (int32_t chunk : chunks)
        appendPieces(forwards, Phase::Forward, chunk, begin, end, pieces);
      for (int32_t chunk : llvm::reverse(chunks))
        appendPieces(backwards, Phase::Backward, chunk, begin, end, pieces);
    }
    // Backward begins with the last piece of the last chunk.
    int64_t untilLastPiece = firstGroup * pieces * (chunks.size() - 1) + pieces;
    rules.addAlternation(forwards, backwards,
                         untilLastPiece - 1 +
                             lead * (pipeline.stages - stage - 1));
  }

private:
  llvm::StringRef name;
  llvm::StringRef summary;
  int64_t lead;
  bool hasPieces;
};

} // namespace

const Policy *getInterleaved() {
  static const Interleaved policy(
      "interleaved", "1F1B over several chunks per stage: smaller bubbles", 2);
  return &policy;
}

const Policy *getInterleavedLowMemory() {
  static const Interleaved policy(
      "interleaved-low-memory",
      "interleaved with as few warm-up forwards as can be", 1);
  return &policy;
}

const Policy *getSequenceInterleaved() {
  static const Interleaved policy(
      "seq1f1b-interleaved",
      "interleaved of pieces of the sequence: smaller bubbles", 2, true);
  return &policy;
}

const Policy *getSequenceInterleavedLowMemory() {
  static const Interleaved policy(
      "seq1f1b-interleaved-low-memory",
      "seq1f1b-interleaved with as few warm-up forwards as can be", 1, true);
  return &policy;
}

} // namespace mf::schedule
