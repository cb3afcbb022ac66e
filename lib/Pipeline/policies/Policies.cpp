//===- Policies.cpp - Shared parts of the built-in policies ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Policies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>

using llvm::Twine;

namespace mf::schedule {

llvm::Error checkOneChunkPerStage(const Policy &policy,
                                  const Pipeline &pipeline) {
  for (int64_t chunk = 0; chunk < pipeline.getNumChunks(); ++chunk)
    if (pipeline.stageOfChunk[chunk] != chunk)
      return llvm::createStringError(
          "schedule '" + policy.getName() +
          "' takes one chunk per stage, but chunk " + Twine(chunk) +
          " is on stage " + Twine(pipeline.stageOfChunk[chunk]) + " of " +
          Twine(pipeline.stages) +
          ", expected one chunk on each of the stages in order (schedules "
          "'gpipe' and 'interleaved' take several)");
  return llvm::Error::success();
}

llvm::Error checkPlacement(const Policy &policy, const Pipeline &pipeline) {
  for (int64_t chunk = 0; chunk < pipeline.getNumChunks(); ++chunk) {
    int64_t expected = policy.getStage(chunk, pipeline.stages);
    if (pipeline.stageOfChunk[chunk] != expected)
      return llvm::createStringError(
          "schedule '" + policy.getName() + "' cannot place chunk " +
          Twine(chunk) + " on stage " + Twine(pipeline.stageOfChunk[chunk]) +
          ", expected stage " + Twine(expected));
  }
  return llvm::Error::success();
}

GroupedRuns getGroupedRuns(const Pipeline &pipeline,
                           llvm::ArrayRef<int32_t> chunks) {
  const auto microBatches = static_cast<int32_t>(pipeline.microBatches);
  const auto pieces = static_cast<int32_t>(pipeline.pieces);
  const auto group =
      static_cast<int32_t>((pipeline.stages + pieces - 1) / pieces);
  const int32_t firstGroup =
      std::min(group + microBatches % group, microBatches);
  GroupedRuns runs;
  for (int32_t begin = 0, end = firstGroup; begin < microBatches;
       begin = end, end += group) {
    for (int32_t chunk : chunks)
      appendPieces(runs.forwards, Phase::Forward, chunk, begin, end, pieces);
    for (int32_t chunk : llvm::reverse(chunks))
      appendPieces(runs.backwards, Phase::Backward, chunk, begin, end, pieces);
  }
  // Backward begins with the last piece of the last chunk.
  runs.untilFirstBackward =
      int64_t{firstGroup} * pieces * static_cast<int64_t>(chunks.size() - 1) +
      pieces;
  return runs;
}

int64_t PolicyOfV::getStage(int64_t chunk, int64_t stages) const {
  const int64_t turn = chunk % (2 * stages);
  return turn < stages ? turn : 2 * stages - 1 - turn;
}

llvm::Error PolicyOfV::check(const Pipeline &pipeline) const {
  const int64_t stages = pipeline.stages;
  const int64_t leastMicroBatches = getLeastMicroBatches(stages);
  if (pipeline.getNumChunks() != 2 * stages)
    return llvm::createStringError(
        "schedule '" + getName() + "' takes two chunks per stage, but " +
        Twine(stages) + " stages have " + Twine(pipeline.getNumChunks()) +
        " chunks, expected " + Twine(2 * stages));
  if (llvm::Error error = checkPlacement(*this, pipeline))
    return error;
  if (pipeline.microBatches < leastMicroBatches)
    return llvm::createStringError(
        "schedule '" + getName() +
        "' takes at least two micro-batches per stage, but " + Twine(stages) +
        " stages have " + Twine(pipeline.microBatches) + ", expected " +
        Twine(leastMicroBatches) + " or more");
  return llvm::Error::success();
}

} // namespace mf::schedule
