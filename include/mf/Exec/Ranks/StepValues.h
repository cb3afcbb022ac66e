//===- StepValues.h - What a step takes and gives --------------*- C++ -*-===//

#ifndef MF_RANKS_STEPVALUES_H
#define MF_RANKS_STEPVALUES_H

#include "mf/Program/DropRates.h"
#include "llvm/ADT/ArrayRef.h"
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mf::ranks {

/// Values that the host gives the ranks before a step.
struct StepInput {
  /// Elements of all micro-batches and all ranks:
  /// [micro-batch][sequence][token]. A rank that has a slice of them takes its
  /// own.
  llvm::ArrayRef<int32_t> tokens;
  llvm::ArrayRef<int32_t> labels;
  /// The rate of parameters in no group, then that of each group.
  std::vector<float> learningRates = {0};
  /// The number of this update; counts from 1.
  int64_t stepNumber = 1;
  float lossScale = 1;
  /// The seed of random bits.
  uint64_t seed = 0;
};

/// The numbers that a micro-batch's random bits depend on besides their
/// operator.
inline std::array<int64_t, 3> getDraw(const StepInput &input,
                                      int64_t microBatch) {
  return {static_cast<int64_t>(input.seed), input.stepNumber, microBatch};
}

/// All elements that ranks report of each quantity in a step, by stage; a stage
/// has them in the order of its ranks.
struct StepReports {
  using ByStage = std::map<int64_t, std::vector<float>>;
  ByStage losses;
  ByStage globalNorms;
  ByStage overflows;
  /// Drop rates of experts, by quantity; a layer is on one stage.
  std::map<std::string, std::vector<float>> dropRates;

  /// Adds what a rank reports. Other quantities are not kept.
  void add(int64_t stage, const std::string &quantity,
           llvm::ArrayRef<float> values);
};

/// Values that the host reads back after the step.
struct StepOutput {
  StepOutput() = default;
  explicit StepOutput(const StepReports &reports);

  /// The sum over the stages, each of which reports the losses of its chunks,
  /// of the mean over the elements that its ranks report. None if no rank
  /// reports a loss.
  std::optional<float> loss;
  /// Mean over the ranks, which all have the norm of all gradients.
  std::optional<float> globalNorm;
  /// On some rank a gradient was not finite, so the optimizer changed nothing.
  bool overflow = false;
  /// The layers of which the ranks report experts.
  std::vector<DropRates> dropRates;
};

} // namespace mf::ranks

#endif // MF_RANKS_STEPVALUES_H
