//===- PairedOneForwardOneBackward.cpp - 1F1B of pairs --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// 1F1B of one or more chunks per stage in which a backward and the following
// forward run as one slot, so that one can compute while the other communicates
// (pipeline_parallel_overlap_b_f of MindSpore Transformers, moe-fb-overlap of
// MindSpeed). Stage p of P runs 2 (P - p - 1) + (v - 1) P forwards and one more
// separately, then pairs, then the last backward and the remaining ones. With
// one chunk per stage this is twice the warm-up of 1F1B, because the results of
// a pair are passed on only when all of it has run.
//
// In the split form (enable_dxdw_split) the weight gradient runs after the
// slot, so that the results of the slot can be sent at the same time. The first
// stage sends no gradient, so there it stays in the slot.
//
//===----------------------------------------------------------------------===//

#include "Policies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>

using llvm::Twine;

namespace mf::schedule {

namespace {

class PairedOneForwardOneBackward : public Policy {
public:
  explicit PairedOneForwardOneBackward(bool isSplit) : isSplit(isSplit) {}

  llvm::StringRef getName() const override {
    return isSplit ? "1f1b-paired-split" : "1f1b-paired";
  }
  llvm::StringRef getSummary() const override {
    return isSplit ? "1f1b-paired with weight gradients behind the pairs, "
                     "beside their messages"
                   : "1F1B or interleaved, a forward and a backward as one "
                     "slot: the one computes while the other communicates";
  }
  bool splitsBackward() const override { return isSplit; }

  llvm::Error check(const Pipeline &pipeline) const override {
    const int64_t chunks = pipeline.getNumChunks();
    if (chunks % pipeline.stages != 0)
      return llvm::createStringError(
          "schedule '" + getName() +
          "' takes as many chunks on each stage, but " +
          Twine(pipeline.stages) + " stages have " + Twine(chunks) +
          " chunks, expected a multiple of " + Twine(pipeline.stages));
    return checkPlacement(*this, pipeline);
  }

  void addRules(const Pipeline &pipeline, int64_t stage,
                Rules &rules) const override {
    const GroupedRuns runs = getGroupedRuns(pipeline, rules.getChunks());
    llvm::ArrayRef<Task> forwards = runs.forwards;
    const auto alone = std::min<size_t>(runs.untilFirstBackward +
                                            2 * (pipeline.stages - stage - 1),
                                        forwards.size());
    std::vector<Task> order = forwards.take_front(alone).vec();
    forwards = forwards.drop_front(alone);
    for (const Task &backward : runs.backwards) {
      std::vector<Task> slot = getGradients(backward);
      if (!forwards.empty())
        slot.insert(slot.begin(), forwards.front());
      llvm::append_range(order, slot);
      if (forwards.empty())
        continue;
      if (isSplit && stage > 0)
        slot.pop_back();
      rules.addSlot(slot);
      forwards = forwards.drop_front();
    }
    rules.addOrder(order);
  }

private:
  /// Returns the tasks of a backward, in order.
  std::vector<Task> getGradients(const Task &backward) const {
    if (!isSplit)
      return {backward};
    Task input = backward, weight = backward;
    input.phase = Phase::InputGradient;
    weight.phase = Phase::WeightGradient;
    return {input, weight};
  }

  bool isSplit;
};

} // namespace

const Policy *getPairedOneForwardOneBackward() {
  static const PairedOneForwardOneBackward policy(/*isSplit=*/false);
  return &policy;
}

const Policy *getPairedSplitBackward() {
  static const PairedOneForwardOneBackward policy(/*isSplit=*/true);
  return &policy;
}

} // namespace mf::schedule
