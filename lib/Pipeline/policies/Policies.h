//===- Policies.h - The built-in policies ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each policy has a file of its own. getPolicies() in Policy.cpp has the order
// in which policies are listed.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PIPELINE_POLICIES_POLICIES_H
#define MF_LIB_PIPELINE_POLICIES_POLICIES_H

#include "mf/Pipeline/Policy.h"

namespace mf::schedule {

const Policy *getGPipe();
const Policy *getOneForwardOneBackward();
const Policy *getInterleaved();
const Policy *getInterleavedLowMemory();
const Policy *getPairedOneForwardOneBackward();
const Policy *getPairedSplitBackward();
const Policy *getRecomputeInAdvance();
const Policy *getRecomputeInBubble();
const Policy *getZeroBubbleH1();
const Policy *getZeroBubbleH2();
const Policy *getZeroBubbleV();
const Policy *getHalfMemoryV();
const Policy *getLeastMemoryV();
const Policy *getDualPipeV();
const Policy *getPairedDualPipeV();
const Policy *getSequenceOneForwardOneBackward();
const Policy *getSequenceInterleaved();
const Policy *getSequenceInterleavedLowMemory();

/// Appends the tasks of a phase of a chunk for micro-batches [begin, end) to
/// `tasks`.
inline void append(std::vector<Task> &tasks, Phase phase, int32_t chunk,
                   int32_t begin, int32_t end) {
  for (int32_t microBatch = begin; microBatch < end; ++microBatch)
    tasks.push_back({phase, chunk, microBatch});
}

/// Appends the tasks for all pieces of the micro-batches' sequences. Gradients
/// run from the last piece to the first.
inline void appendPieces(std::vector<Task> &tasks, Phase phase, int32_t chunk,
                         int32_t begin, int32_t end, int32_t pieces) {
  for (int32_t microBatch = begin; microBatch < end; ++microBatch)
    for (int32_t piece = 0; piece < pieces; ++piece)
      tasks.push_back({phase, chunk, microBatch,
                       phase == Phase::Forward ? piece : pieces - 1 - piece});
}

/// The forwards and the backwards of a stage that runs all of its chunks for a
/// group of micro-batches, then for the next group. A group has as many
/// micro-batches as there are stages, or as are needed for one piece per stage.
/// The first group also has the remainder. Backwards visit the chunks in
/// reverse.
struct GroupedRuns {
  std::vector<Task> forwards, backwards;
  /// The number of forwards of the last stage up to the one after which
  /// backward begins.
  int64_t untilFirstBackward = 0;
};
GroupedRuns getGroupedRuns(const Pipeline &pipeline,
                           llvm::ArrayRef<int32_t> chunks);

/// Refuses a pipeline with other than one chunk per stage.
llvm::Error checkOneChunkPerStage(const Policy &policy,
                                  const Pipeline &pipeline);

/// Rejects a pipeline whose chunks are on other stages than those of the
/// policy.
llvm::Error checkPlacement(const Policy &policy, const Pipeline &pipeline);

/// A policy with two chunks per stage, placed as a V: chunks go down the stages
/// and come back up.
class PolicyOfV : public Policy {
public:
  bool splitsBackward() const final { return true; }
  int64_t getStage(int64_t chunk, int64_t stages) const final;
  llvm::Error check(const Pipeline &pipeline) const final;

protected:
  /// Returns the fewest micro-batches for which the policy has an order.
  virtual int64_t getLeastMicroBatches(int64_t stages) const {
    return 2 * stages;
  }
};

} // namespace mf::schedule

#endif // MF_LIB_PIPELINE_POLICIES_POLICIES_H
