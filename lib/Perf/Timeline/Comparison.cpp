//===- Comparison.cpp - Compares the timelines of two steps ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Perf/Timeline/Writers.h"
#include "mf/Support/FileError.h"
#include "mf/Support/NumberText.h"
#include "mf/Support/StrictJson.h"
#include "mf/Support/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace llvm;

namespace mf::timeline {

namespace {

/// The numbers of a stage in a report.
struct ReportedStage {
  StageSummary times;
  int64_t peakBytes = 0;
  std::map<std::string, double> secondsByKind;
};

/// The numbers of a step in a report.
struct ReportedStep {
  /// "simulated" or "executed".
  std::string source;
  double seconds = 0;
  double tokensPerSecondPerNpu = 0;
  /// The losses of the last step, by name. A simulation has none.
  std::map<std::string, double> losses;
  std::vector<ReportedStage> stages;
};

constexpr unsigned maximumDepth = 16;

/// Reads members of objects, and keeps the first error.
class MemberReader {
public:
  ReportedStep read(const json::Value &file) {
    ReportedStep step;
    const json::Object *object = file.getAsObject();
    if (!object) {
      fail("expected a JSON object");
      return step;
    }
    step.seconds = readNumber(*object, "", "step_seconds");
    step.tokensPerSecondPerNpu =
        readNumber(*object, "", "tokens_per_second_per_npu");
    const std::optional<StringRef> source = object->getString("source");
    if (source)
      step.source = source->str();
    else
      failMember("source", object->get("source"), "simulated or executed");
    if (const json::Array *steps = object->getArray("steps");
        steps && !steps->empty())
      readLosses(steps->back(), step);
    const json::Array *stages = object->getArray("stages");
    if (!stages) {
      failMember("stages", object->get("stages"), "an array");
      return step;
    }
    for (size_t i = 0; i < stages->size(); ++i)
      step.stages.push_back(
          readStage((*stages)[i], "stages[" + utostr(i) + "]"));
    return step;
  }

  /// The first error; empty if there is none.
  std::string error;

private:
  /// Losses that are not finite are null. The limit is that of other numbers.
  static void readLosses(const json::Value &value, ReportedStep &step) {
    const json::Object *object = value.getAsObject();
    if (!object)
      return;
    auto add = [&](StringRef name, std::optional<double> loss) {
      if (loss && std::abs(*loss) <= 1e18)
        step.losses[name.str()] = *loss;
    };
    add("loss", object->getNumber("loss"));
    if (const json::Object *parts = object->getObject("loss_parts"))
      for (const auto &[name, part] : *parts)
        add(name, part.getAsNumber());
  }

  ReportedStage readStage(const json::Value &value, const std::string &place) {
    ReportedStage stage;
    const json::Object *object = value.getAsObject();
    if (!object) {
      fail(place + ": expected a JSON object");
      return stage;
    }
    stage.times.busy = readNumber(*object, place, "busy_seconds");
    stage.times.bubble = readNumber(*object, place, "bubble_seconds");
    stage.times.exposedCommunication =
        readNumber(*object, place, "exposed_communication_seconds");
    stage.times.stall = readNumber(*object, place, "stall_seconds");
    const std::optional<int64_t> bytes = object->getInteger("peak_bytes");
    if (bytes && *bytes >= 0)
      stage.peakBytes = *bytes;
    else
      failMember(place + ".peak_bytes", object->get("peak_bytes"),
                 "an integer from 0");
    const json::Object *kinds = object->getObject("seconds_by_kind");
    if (!kinds) {
      failMember(place + ".seconds_by_kind", object->get("seconds_by_kind"),
                 "an object");
      return stage;
    }
    for (const auto &[kind, seconds] : *kinds)
      stage.secondsByKind[kind.str()] =
          readNumber(*kinds, place + ".seconds_by_kind", kind);
    return stage;
  }

  double readNumber(const json::Object &object, const std::string &place,
                    StringRef name) {
    const std::optional<double> number = object.getNumber(name);
    // NaN is in no range. The limit keeps sums and differences over a whole
    // file finite.
    if (number && *number >= 0 && *number <= 1e18)
      return *number;
    failMember(place.empty() ? name.str() : place + "." + name.str(),
               object.get(name), "a number from 0 to 1e18");
    return 0;
  }

  void failMember(const std::string &name, const json::Value *found,
                  StringRef expected) {
    fail("'" + name + "' is " + (found ? "something else" : "missing") +
         ", expected " + expected.str() +
         ", as in the report of a step in time (mf-run --report)");
  }

  void fail(const std::string &message) {
    if (error.empty())
      error = message;
  }
};

} // namespace

/// Returns the report's numbers for a timeline.
static ReportedStep makeReportedStep(const StepTimeline &timeline) {
  const StepSummary summary = summarize(timeline);
  ReportedStep step;
  step.source = timeline.isSimulated ? "simulated" : "executed";
  step.seconds = timeline.seconds;
  step.tokensPerSecondPerNpu = summary.tokensPerSecondPerNpu;
  for (size_t i = 0; i < timeline.stages.size(); ++i)
    step.stages.push_back({summary.stages[i], timeline.stages[i].peakBytes,
                           timeline.stages[i].secondsByKind});
  return step;
}

/// Reads a file in the format of Writers.h. Members that are not needed may be
/// missing, and unknown ones are ignored. The error names the invalid member
/// and its place.
static Expected<ReportedStep> readReport(StringRef path) {
  auto buffer = mapFile(path);
  if (!buffer)
    return buffer.takeError();
  auto value = parseStrictJson((*buffer)->getBuffer(), maximumDepth);
  if (!value)
    return fileError(path, toString(value.takeError()));
  MemberReader reader;
  ReportedStep step = reader.read(*value);
  if (!reader.error.empty())
    return fileError(path, reader.error);
  return step;
}

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
