//===- Policies.cpp - What built-in policies share ------------------------===//

#include "Policies.h"
#include "llvm/ADT/Twine.h"

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

int64_t getStageOfV(int64_t chunk, int64_t stages) {
  const int64_t turn = chunk % (2 * stages);
  return turn < stages ? turn : 2 * stages - 1 - turn;
}

llvm::Error checkV(const Policy &policy, const Pipeline &pipeline,
                   int64_t leastMicroBatches) {
  const int64_t stages = pipeline.stages;
  if (pipeline.getNumChunks() != 2 * stages)
    return llvm::createStringError(
        "schedule '" + policy.getName() + "' takes two chunks per stage, but " +
        Twine(stages) + " stages have " + Twine(pipeline.getNumChunks()) +
        " chunks, expected " + Twine(2 * stages));
  if (llvm::Error error = checkPlacement(policy, pipeline))
    return error;
  if (pipeline.microBatches < leastMicroBatches)
    return llvm::createStringError(
        "schedule '" + policy.getName() +
        "' takes at least two micro-batches per stage, but " + Twine(stages) +
        " stages have " + Twine(pipeline.microBatches) + ", expected " +
        Twine(leastMicroBatches) + " or more");
  return llvm::Error::success();
}

} // namespace mf::schedule
