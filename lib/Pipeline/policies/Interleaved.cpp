//===- Interleaved.cpp - 1F1B over several chunks per stage ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Narayanan et al., Efficient Large-Scale Language Model Training on GPU
// Clusters Using Megatron-LM, 2021. A stage runs all of its chunks for a group
// of micro-batches, then for the next group. Groups have as many micro-batches
// as there are stages; the first also has the remainder. With fewer
// micro-batches than stages there is one group. Backwards visit the chunks in
// reverse.
//
// With pieces of the sequence (Sun et al., Seq1F1B, 2024), a group has enough
// micro-batches for one piece per stage.
//
// Two schedules of MindSpeed have recompute tasks. recompute-in-advance
// recomputes everything before the gradient arrives. recompute-in-bubble keeps
// the activations of most micro-batches and recomputes enough of them that no
// stage holds more than 2P chunks.
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
  /// `lead` is the number of additional forwards that a stage runs ahead of the
  /// next stage.
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
          "' takes two or more chunks per stage, as many on each, but " +
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
    rules.addOrder(getOrder(pipeline, stage, chunks));
  }

protected:
  /// Returns the forwards and backwards of a stage.
  std::vector<Task> getOrder(const Pipeline &pipeline, int64_t stage,
                             llvm::ArrayRef<int32_t> chunks) const {
    const GroupedRuns runs = getGroupedRuns(pipeline, chunks);
    return Rules::getAlternation(runs.forwards, runs.backwards,
                                 runs.untilFirstBackward - 1 +
                                     lead * (pipeline.stages - stage - 1));
  }

private:
  llvm::StringRef name;
  llvm::StringRef summary;
  int64_t lead;
  bool hasPieces;
};

/// --recompute-in-advance of MindSpeed.
class RecomputeInAdvance : public Interleaved {
public:
  RecomputeInAdvance()
      : Interleaved("recompute-in-advance",
                    "interleaved that recomputes before the gradient arrives",
                    2) {}

  bool separatesRecompute() const override { return true; }
  /// The gradient of the last chunk is available immediately.
  bool mayRecompute(const Pipeline &pipeline, int64_t chunk) const override {
    return chunk + 1 < pipeline.getNumChunks();
  }
};

/// --recompute-in-bubble of MindSpeed.
class RecomputeInBubble : public Interleaved {
public:
  RecomputeInBubble()
      : Interleaved("recompute-in-bubble",
                    "interleaved that recomputes a few micro-batches in its "
                    "bubbles, for fewer activations",
                    2) {}

  bool separatesRecompute() const override { return true; }
  bool placesRecompute() const override { return true; }
  bool mayRecompute(const Pipeline &pipeline, int64_t chunk) const override {
    const int64_t groups = pipeline.microBatches / pipeline.stages;
    for (int64_t run = pipeline.stages; run < pipeline.microBatches; ++run)
      if (chunk < pipeline.stages &&
          isChosen(pipeline.stages, groups, chunk, run / pipeline.stages,
                   run % pipeline.stages))
        return true;
    return false;
  }

  llvm::Error check(const Pipeline &pipeline) const override {
    if (pipeline.microBatches % pipeline.stages != 0)
      return llvm::createStringError(
          "schedule 'recompute-in-bubble' takes groups of as many "
          "micro-batches as there are stages, but " +
          Twine(pipeline.stages) + " stages have " +
          Twine(pipeline.microBatches) + ", expected a multiple of " +
          Twine(pipeline.stages));
    return Interleaved::check(pipeline);
  }

  void chooseRecompute(Pipeline &pipeline) const override {
    const int64_t stages = pipeline.stages;
    pipeline.recomputed.assign(pipeline.getNumChunks() * pipeline.microBatches,
                               false);
    // The first chunks of the stages are the first ones of all.
    for (int64_t stage = 0; stage < stages; ++stage)
      for (int64_t run = 0; run < pipeline.microBatches; ++run)
        pipeline.recomputed[stage * pipeline.microBatches + run] =
            isChosen(stages, pipeline.microBatches / stages, stage,
                     run / stages, run % stages);
  }

  void addRules(const Pipeline &pipeline, int64_t stage,
                Rules &rules) const override {
    const int32_t first = rules.getChunks().front();
    std::vector<Task> order = getOrder(pipeline, stage, rules.getChunks()), all;
    int64_t forwardsLeft = llvm::count_if(
        order, [](const Task &task) { return task.phase == Phase::Forward; });
    // Tasks that recompute the first chunk, in the order of their gradients.
    int32_t next = 0;
    auto addNext = [&](int32_t end) {
      while (next < end && !pipeline.recomputes(first, next))
        ++next;
      if (next >= end)
        return false;
      all.push_back({Phase::Recompute, first, next++});
      return true;
    };
    for (const Task &task : order) {
      forwardsLeft -= task.phase == Phase::Forward ? 1 : 0;
      if (task.phase == Phase::Backward && task.chunk != first)
        all.push_back({Phase::Recompute, task.chunk, task.microBatch});
      else if (task.phase == Phase::Backward)
        while (addNext(task.microBatch + 1))
          ;
      all.push_back(task);
      if (task.phase == Phase::Backward && forwardsLeft == 0)
        addNext(static_cast<int32_t>(pipeline.microBatches));
    }
    rules.addOrder(all);
  }

private:
  /// Returns whether micro-batch `index` of a group is recomputed in the first
  /// chunk of a stage.
  static bool isChosen(int64_t stages, int64_t groups, int64_t stage,
                       int64_t group, int64_t index) {
    const int64_t ahead = stages - 2 * stage - 1;
    if (ahead <= 0 || group == 0)
      return false;
    if (group == 1)
      return index < ahead;
    int64_t tail = 1, steady = groups - 3;
    if (groups == 3) {
      tail = 2 + 2 * stage;
      steady = 0;
      if (tail >= ahead) {
        tail = 0;
        steady = 1;
      }
    }
    return index >= (group < 2 + steady ? 1 + 2 * stage : stages - tail);
  }
};

} // namespace

const Policy *getRecomputeInAdvance() {
  static const RecomputeInAdvance policy;
  return &policy;
}

const Policy *getRecomputeInBubble() {
  static const RecomputeInBubble policy;
  return &policy;
}

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
