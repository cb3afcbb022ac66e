//===- ReportReader.cpp - Reads reports of steps in time ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ReportReader.h"
#include "mf/Support/FileError.h"
#include "mf/Support/StrictJson.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace llvm;

namespace mf::timeline {

namespace {

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

ReportedStep makeReportedStep(const StepTimeline &timeline) {
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

Expected<ReportedStep> readReport(StringRef path) {
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

} // namespace mf::timeline
