//===- StepValues.cpp - Inputs and outputs of a step ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/StepValues.h"
#include "mf/Program/Program.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cstring>

namespace mf::ranks {

static void writeScalar(float value, llvm::MutableArrayRef<uint8_t> bytes) {
  for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float))
    std::memcpy(bytes.data() + at, &value, sizeof(float));
}

bool writeStepValue(program::Role role, const StepInput &input,
                    llvm::MutableArrayRef<uint8_t> bytes) {
  constexpr size_t drawBytes = sizeof(getDraw(input, 0));
  switch (role) {
  case program::Role::StepNumber:
    writeScalar(static_cast<float>(input.stepNumber), bytes);
    return true;
  case program::Role::LossScale:
    writeScalar(input.lossScale, bytes);
    return true;
  case program::Role::LearningRate:
    std::memcpy(
        bytes.data(), input.learningRates.data(),
        std::min(bytes.size(), input.learningRates.size() * sizeof(float)));
    return true;
  case program::Role::Draw:
    for (size_t at = 0; at + drawBytes <= bytes.size(); at += drawBytes) {
      const auto draw = getDraw(input, static_cast<int64_t>(at / drawBytes));
      std::memcpy(bytes.data() + at, draw.data(), drawBytes);
    }
    return true;
  default:
    return false;
  }
}

void StepReports::add(int64_t stage, const std::string &quantity,
                      llvm::ArrayRef<float> values) {
  if (quantity == "loss")
    llvm::append_range(losses[stage], values);
  else if (isLossPart(quantity))
    llvm::append_range(lossParts[quantity][stage], values);
  else if (quantity == "global_norm")
    llvm::append_range(globalNorms[stage], values);
  else if (quantity == "overflow")
    llvm::append_range(overflows[stage], values);
  else if (isDropRate(quantity))
    llvm::append_range(dropRates[quantity], values);
}

static double getMean(llvm::ArrayRef<float> values) {
  double sum = 0;
  for (float value : values)
    sum += value;
  return sum / static_cast<double>(values.size());
}

/// Returns the loss: the mean over the ranks of a stage of its chunks' losses,
/// summed over the stages.
static std::optional<float> getLoss(const StepReports::ByStage &reports) {
  if (reports.empty())
    return std::nullopt;
  double loss = 0;
  for (const auto &[stage, values] : reports)
    loss += getMean(values);
  return static_cast<float>(loss);
}

/// Returns the parts in the order in which they are printed.
static LossParts
getLossParts(const std::map<std::string, StepReports::ByStage> &reports) {
  LossParts parts;
  for (const auto &[name, reported] : reports)
    parts.emplace_back(name, *getLoss(reported));
  sortLossParts(parts);
  return parts;
}

/// Returns the mean over all ranks.
static std::optional<float> getGlobalNorm(const StepReports::ByStage &reports) {
  std::vector<float> norms;
  for (const auto &[stage, values] : reports)
    llvm::append_range(norms, values);
  if (norms.empty())
    return std::nullopt;
  return static_cast<float>(getMean(norms));
}

StepOutput::StepOutput(const StepReports &reports)
    : loss(getLoss(reports.losses)), lossParts(getLossParts(reports.lossParts)),
      globalNorm(getGlobalNorm(reports.globalNorms)),
      dropRates(collectDropRates(reports.dropRates)) {
  for (const auto &[stage, values] : reports.overflows)
    overflow |= llvm::any_of(values, [](float value) { return value != 0; });
}

} // namespace mf::ranks
