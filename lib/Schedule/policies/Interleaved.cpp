//===- Interleaved.cpp - 1F1B over several chunks per stage ---------------===//
//
// Narayanan et al., Efficient Large-Scale Language Model Training on GPU
// Clusters Using Megatron-LM, 2021. A stage goes through its chunks with a
// group of micro-batches, then with the next: groups are as large as there are
// stages, the first takes what is over. With fewer micro-batches than stages
// there is one group. Backwards visit the chunks in reverse.
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
  Interleaved(llvm::StringRef name, llvm::StringRef summary, int64_t lead)
      : name(name), summary(summary), lead(lead) {}

  llvm::StringRef getName() const override { return name; }
  llvm::StringRef getSummary() const override { return summary; }

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
          (chunks == pipeline.stages ? ", or schedule '1f1b'" : ""));
    return checkPlacement(*this, pipeline);
  }

  void addRules(const Pipeline &pipeline, int64_t stage,
                Rules &rules) const override {
    llvm::ArrayRef<int32_t> chunks = rules.getChunks();
    int32_t stages = pipeline.stages, microBatches = pipeline.microBatches;
    int32_t firstGroup = std::min(stages + microBatches % stages, microBatches);
    std::vector<Task> forwards, backwards;
    for (int32_t begin = 0, end = firstGroup; begin < microBatches;
         begin = end, end += stages) {
      for (int32_t chunk : chunks)
        append(forwards, Phase::Forward, chunk, begin, end);
      for (int32_t chunk : llvm::reverse(chunks))
        append(backwards, Phase::Backward, chunk, begin, end);
    }
    int64_t untilLastChunk = firstGroup * (chunks.size() - 1);
    rules.addAlternation(forwards, backwards,
                         untilLastChunk + lead * (stages - stage - 1));
  }

private:
  llvm::StringRef name;
  llvm::StringRef summary;
  int64_t lead;
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

} // namespace mf::schedule
