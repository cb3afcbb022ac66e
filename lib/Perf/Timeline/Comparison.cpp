//===- Comparison.cpp - Compares the timelines of two steps ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ReportReader.h"
#include "mf/Perf/Timeline/Writers.h"
#include "mf/Support/FileError.h"
#include "mf/Support/NumberText.h"
#include "mf/Support/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <utility>

using namespace llvm;

namespace mf::timeline {

namespace {

/// A number of both steps.
struct ComparedRow {
  std::string name;
  double before = 0;
  double now = 0;

  double getDifference() const { return now - before; }
};

/// A section with numbers of one unit.
class Section {
public:
  Section(std::string title, int fewestDecimals)
      : title(std::move(title)), fewestDecimals(fewestDecimals) {}

  void add(std::string name, double before, double now) {
    rows.push_back({std::move(name), before, now});
  }

  /// Prints the numbers, the largest difference first. Numbers that look equal
  /// are left out.
  void print(raw_ostream &os);

private:
  std::string title;
  int fewestDecimals;
  std::vector<ComparedRow> rows;
};

std::string addSign(std::string number) {
  return number.front() == '-' ? number : "+" + number;
}

/// Returns the change relative to the previous value.
std::string formatChange(const ComparedRow &row) {
  if (row.before == 0)
    return "new";
  if (row.now == 0)
    return "gone";
  return addSign(formatFixed(100 * row.getDifference() / row.before, 1));
}

void Section::print(raw_ostream &os) {
  double largest = 0;
  for (const ComparedRow &row : rows)
    largest = std::max({largest, row.before, row.now});
  const int decimals = getDecimals(largest, fewestDecimals);
  sort(rows, [](const ComparedRow &a, const ComparedRow &b) {
    return std::make_pair(-std::abs(a.getDifference()), StringRef(a.name)) <
           std::make_pair(-std::abs(b.getDifference()), StringRef(b.name));
  });
  TextTable table({title, "report", "this step", "difference", "%"});
  bool differs = false;
  for (const ComparedRow &row : rows) {
    const std::string before = formatFixed(row.before, decimals);
    const std::string now = formatFixed(row.now, decimals);
    if (before == now)
      continue;
    differs = true;
    table.addRow({row.name, before, now,
                  addSign(formatFixed(row.getDifference(), decimals)),
                  formatChange(row)});
  }
  if (differs)
    table.print(os);
  else
    os << title << ": no difference\n";
}

std::map<std::string, double> sumByKind(const ReportedStep &step) {
  std::map<std::string, double> sums;
  for (const ReportedStage &stage : step.stages)
    for (const auto &[kind, seconds] : stage.secondsByKind)
      sums[kind] += seconds;
  return sums;
}

void printStep(const ReportedStep &before, const ReportedStep &now,
               raw_ostream &os) {
  Section times("step in s", 3);
  times.add("step", before.seconds, now.seconds);
  times.print(os);
  Section rates("tokens/s per NPU", 1);
  rates.add("step", before.tokensPerSecondPerNpu, now.tokensPerSecondPerNpu);
  rates.print(os);
}

void printStages(const ReportedStep &before, const ReportedStep &now,
                 raw_ostream &os) {
  Section times("stages in s", 3);
  Section peaks("peak memory in GiB", 2);
  for (size_t i = 0; i < now.stages.size(); ++i) {
    const std::string name = "stage " + std::to_string(i);
    const StageSummary &a = before.stages[i].times, &b = now.stages[i].times;
    times.add(name + " busy", a.busy, b.busy);
    times.add(name + " bubble", a.bubble, b.bubble);
    times.add(name + " exposed communication", a.exposedCommunication,
              b.exposedCommunication);
    times.add(name + " stall", a.stall, b.stall);
    constexpr double gib = 1 << 30;
    peaks.add(name, static_cast<double>(before.stages[i].peakBytes) / gib,
              static_cast<double>(now.stages[i].peakBytes) / gib);
  }
  times.print(os);
  peaks.print(os);
}

void printKinds(const ReportedStep &before, const ReportedStep &now,
                raw_ostream &os) {
  Section kinds("work in s, of all stages", 3);
  const std::map<std::string, double> a = sumByKind(before), b = sumByKind(now);
  for (const auto &[kind, seconds] : a)
    kinds.add(kind, seconds, b.count(kind) ? b.at(kind) : 0);
  for (const auto &[kind, seconds] : b)
    if (!a.count(kind))
      kinds.add(kind, 0, seconds);
  kinds.print(os);
}

/// Prints the losses of both steps if both have some.
void printLosses(const ReportedStep &before, const ReportedStep &now,
                 raw_ostream &os) {
  if (before.losses.empty() || now.losses.empty())
    return;
  Section losses("losses", 6);
  for (const auto &[name, loss] : before.losses)
    losses.add(name, loss, now.losses.count(name) ? now.losses.at(name) : 0);
  for (const auto &[name, loss] : now.losses)
    if (!before.losses.count(name))
      losses.add(name, 0, loss);
  losses.print(os);
}

} // namespace

Error compareWithReport(const StepTimeline &timeline, StringRef reportPath,
                        raw_ostream &os, const ReportedLosses &losses) {
  Expected<ReportedStep> before = readReport(reportPath);
  if (!before)
    return before.takeError();
  ReportedStep now = makeReportedStep(timeline);
  now.losses = losses;
  if (before->stages.size() != now.stages.size())
    return fileError(reportPath, "the step has " +
                                     Twine(before->stages.size()) +
                                     " stages, but this one has " +
                                     Twine(now.stages.size()) +
                                     "; expected steps of as many stages");
  os << "report: " << reportPath << ", " << before->source
     << "; this step: " << now.source << "\n";
  printLosses(*before, now, os);
  printStep(*before, now, os);
  printStages(*before, now, os);
  printKinds(*before, now, os);
  return Error::success();
}

} // namespace mf::timeline
