//===- Table.cpp - A step in time as lines of text ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepLimits.h"
#include "mf/Perf/Timeline/KernelTable.h"
#include "mf/Perf/Timeline/Writers.h"
#include "mf/Support/NumberText.h"
#include "mf/Support/TextTable.h"
#include <algorithm>

namespace mf::timeline {

namespace {

constexpr double gib = 1 << 30;

/// The categories that have columns of their own. All other categories are
/// "others".
constexpr std::pair<const char *, const char *> memoryColumns[] = {
    {"parameter", "parameters"},
    {"gradient", "gradients"},
    {"optimizer_state", "optimizer state"},
    {"activation", "activations"}};

std::string getName(const StageTimeline &stage) {
  return "stage " + std::to_string(stage.stage);
}

} // namespace

void printMemory(const StepTimeline &timeline, llvm::raw_ostream &os) {
  int64_t largest = 0;
  for (const StageTimeline &stage : timeline.stages)
    largest = std::max(largest, stage.peakBytes);
  const int decimals = getDecimals(static_cast<double>(largest) / gib, 2);
  auto format = [&](int64_t bytes) {
    return formatFixed(static_cast<double>(bytes) / gib, decimals);
  };
  std::vector<std::string> header = {"memory in GiB"};
  for (const auto &[category, title] : memoryColumns)
    header.push_back(title);
  header.insert(header.end(), {"others", "peak", "limit", "host"});
  TextTable table(header);
  for (const StageTimeline &stage : timeline.stages) {
    std::vector<std::string> row = {getName(stage)};
    int64_t others = stage.peakBytes;
    for (const auto &[category, title] : memoryColumns) {
      auto found = stage.bytesByCategory.find(category);
      const int64_t bytes =
          found == stage.bytesByCategory.end() ? 0 : found->second;
      others -= bytes;
      row.push_back(format(bytes));
    }
    row.insert(row.end(),
               {format(others), format(stage.peakBytes),
                stage.limitBytes > 0 ? format(stage.limitBytes) : "none",
                format(stage.hostBytes)});
    table.addRow(row);
  }
  table.print(os);
}

namespace {

void printTimes(const StepTimeline &timeline, const StepSummary &summary,
                llvm::raw_ostream &os) {
  const int decimals = getDecimals(timeline.seconds, 3);
  TextTable table({"time in s, % of the step", "busy", "%", "bubble", "%",
                   "exposed communication", "%", "stall", "%"});
  for (size_t i = 0; i < timeline.stages.size(); ++i) {
    const StageSummary &stage = summary.stages[i];
    std::vector<std::string> row = {getName(timeline.stages[i])};
    for (double seconds :
         {stage.busy, stage.bubble, stage.exposedCommunication, stage.stall}) {
      row.push_back(formatFixed(seconds, decimals));
      row.push_back(formatFixed(
          timeline.seconds > 0 ? 100 * seconds / timeline.seconds : 0, 1));
    }
    table.addRow(row);
  }
  table.print(os);
}

/// Formats percent, with more digits for small values.
std::string formatShare(double share) {
  return formatFixed(100 * share, getDecimals(1e4 * share, 1)) + " %";
}

void printStep(const StepTimeline &timeline, const StepSummary &summary,
               llvm::raw_ostream &os) {
  os << "step time: "
     << formatFixed(timeline.seconds, getDecimals(timeline.seconds, 3))
     << " s\n";
  os << "tokens/s per NPU: "
     << formatFixed(summary.tokensPerSecondPerNpu,
                    getDecimals(summary.tokensPerSecondPerNpu, 1))
     << "\n";
  if (timeline.peakFlopsPerSecond > 0)
    os << "model FLOPs utilization: "
       << formatShare(summary.modelFlopsUtilization)
       << ", hardware FLOPs utilization: "
       << formatShare(summary.hardwareFlopsUtilization)
       << " with what is computed again; causal attention in full\n";
  if (std::string limits = describeLimits(timeline); !limits.empty())
    os << limits << "\n";
  for (const Gain &gain : getGains(timeline))
    os << describe(gain) << "\n";
}

} // namespace

void printTable(const StepTimeline &timeline, llvm::raw_ostream &os) {
  const StepSummary summary = summarize(timeline);
  printMemory(timeline, os);
  os << "\n";
  printTimes(timeline, summary, os);
  os << "\n";
  printStep(timeline, summary, os);
  if (timeline.rates) {
    os << "\n";
    printKernels(listKernels(timeline, *timeline.rates), *timeline.rates, os);
  }
}

} // namespace mf::timeline
