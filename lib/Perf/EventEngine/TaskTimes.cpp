//===- TaskTimes.cpp - Durations of a schedule's tasks --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TaskTimes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using llvm::Error;
using llvm::Twine;

namespace mf::events {

namespace {

Error checkNumber(double number, const Twine &what) {
  if (std::isfinite(number) && number >= 0)
    return Error::success();
  return llvm::createStringError("the " + what +
                                 llvm::formatv(" is {0}, expected a finite "
                                               "number from 0",
                                               number));
}

Error checkNumbers(llvm::ArrayRef<double> numbers, int64_t count,
                   const Twine &what, const Twine &owners, bool mayBeEmpty) {
  if (mayBeEmpty && numbers.empty())
    return Error::success();
  if (static_cast<int64_t>(numbers.size()) != count)
    return llvm::createStringError(
        "there are " + Twine(numbers.size()) + " numbers for the " + what +
        " of " + Twine(count) + " " + owners + ", expected one for each");
  for (double number : numbers)
    if (Error error = checkNumber(number, what))
      return error;
  return Error::success();
}

/// Checks the times of backwards; those of forwards are right.
Error checkBackwards(const PipelineCosts &costs, int64_t chunks) {
  if (Error error = checkNumber(costs.backwardRatio, "backward ratio"))
    return error;
  if (Error error =
          checkNumbers(costs.backward, chunks, "backward time", "chunks", true))
    return error;
  if (Error error = checkNumbers(costs.weightGradient, chunks,
                                 "weight gradient's time", "chunks", true))
    return error;
  for (auto [chunk, weight] : llvm::enumerate(costs.weightGradient))
    if (weight > costs.getBackward(chunk))
      return llvm::createStringError(llvm::formatv(
          "the weight gradient of chunk {0} takes {1}, expected at most the "
          "{2} of its backward",
          chunk, weight, costs.getBackward(chunk)));
  return Error::success();
}

} // namespace

Error PipelineCosts::check(const schedule::Pipeline &pipeline) const {
  int64_t chunks = pipeline.getNumChunks();
  if (Error error =
          checkNumbers(forward, chunks, "forward time", "chunks", false))
    return error;
  if (Error error =
          checkNumbers(recompute, chunks, "recompute time", "chunks", true))
    return error;
  if (Error error = checkNumbers(activationMemory, chunks, "activation memory",
                                 "chunks", true))
    return error;
  if (Error error = checkNumbers(parameterMemory, pipeline.stages,
                                 "parameter memory", "stages", true))
    return error;
  if (Error error = checkBackwards(*this, chunks))
    return error;
  if (Error error = checkNumber(transferTime, "transfer time"))
    return error;
  if (Error error = checkNumber(constantMemory, "constant memory"))
    return error;
  auto checkShare = [](double share, const char *what) -> Error {
    if (share >= 0 && share <= 1)
      return Error::success();
    return llvm::createStringError(llvm::formatv(
        "the share {0} is {1}, expected a number from 0 to 1", what, share));
  };
  if (Error error = checkShare(inputGradientShare, "of the input gradient"))
    return error;
  return checkShare(pairHidden, "of a forward that a backward hides");
}

TaskTimes::TaskTimes(const schedule::Schedule &schedule,
                     const PipelineCosts &costs)
    : schedule(schedule), costs(costs) {
  const bool hasTasks = !schedule.pipeline.recomputed.empty();
  for (auto [chunk, forward] : llvm::enumerate(costs.forward)) {
    double backward = costs.getBackward(chunk);
    double input = costs.weightGradient.empty()
                       ? backward * costs.inputGradientShare
                       : backward - costs.weightGradient[chunk];
    double recompute = getOrZero(costs.recompute, chunk);
    double within = hasTasks ? 0 : recompute;
    times.push_back({forward, backward + within, input + within,
                     backward - input, recompute});
  }
}

} // namespace mf::events
