//===- StepValues.cpp - Inputs and outputs of a step ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/StepValues.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::ranks {

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
