//===- StepValues.h - Inputs and outputs of a step --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_RANKS_STEPVALUES_H
#define MF_EXEC_RANKS_STEPVALUES_H

#include "mf/Exec/Data/RunReport.h"
#include "mf/Program/DropRates.h"
#include "llvm/ADT/ArrayRef.h"
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mf::program {
enum class Role : uint8_t;
} // namespace mf::program

namespace mf::ranks {

/// The values that the host provides to the ranks before a step.
struct StepInput {
  /// The elements of all micro-batches and all ranks:
  /// [micro-batch][sequence][token]. A rank with a slice of them reads its own
  /// part.
  llvm::ArrayRef<int32_t> tokens;
  llvm::ArrayRef<int32_t> labels;
  /// The rate of parameters in no group, followed by the rate of each group.
  std::vector<float> learningRates = {0};
  /// The number of this update, from 1.
  int64_t stepNumber = 1;
  float lossScale = 1;
  /// The seed of random bits.
  uint64_t seed = 0;
};

/// Returns the numbers that determine a micro-batch's random bits, together
/// with the operator.
inline std::array<int64_t, 3> getDraw(const StepInput &input,
                                      int64_t microBatch) {
  return {static_cast<int64_t>(input.seed), input.stepNumber, microBatch};
}

/// Writes the number, the loss scale, the learning rates or the draws of a step
/// to a static of this role: a scalar as often as it has room, and a draw for
/// each micro-batch, in their order. Returns false for a static of another
/// role.
bool writeStepValue(program::Role role, const StepInput &input,
                    llvm::MutableArrayRef<uint8_t> bytes);

/// All elements that ranks report of each quantity in a step, by stage. The
/// elements of a stage are in the order of its ranks.
struct StepReports {
  using ByStage = std::map<int64_t, std::vector<float>>;
  ByStage losses;
  /// The parts of the loss, by quantity.
  std::map<std::string, ByStage> lossParts;
  ByStage globalNorms;
  ByStage overflows;
  /// The drop rates of experts, by quantity. Each layer is on one stage.
  std::map<std::string, std::vector<float>> dropRates;

  /// Adds the report of a rank. Unknown quantities are ignored.
  void add(int64_t stage, const std::string &quantity,
           llvm::ArrayRef<float> values);
};

/// The values that the host reads back after the step.
struct StepOutput {
  StepOutput() = default;
  explicit StepOutput(const StepReports &reports);

  /// The loss: the mean over the elements that the ranks of a stage report of
  /// its chunks' losses, summed over the stages. Empty if no rank reports a
  /// loss.
  std::optional<float> loss;
  /// The parts of the loss that are reported apart, as the loss is.
  LossParts lossParts;
  /// The mean over the ranks of the norm of all gradients, which is the same on
  /// all of them.
  std::optional<float> globalNorm;
  /// True if a gradient was not finite on some rank, so that the optimizer
  /// changed nothing.
  bool overflow = false;
  /// The layers whose drop rates the ranks report.
  std::vector<DropRates> dropRates;
};

} // namespace mf::ranks

#endif // MF_EXEC_RANKS_STEPVALUES_H
