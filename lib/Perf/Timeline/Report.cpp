//===- Report.cpp - A step in time as JSON --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TimelineText.h"
#include "mf/Perf/Timeline/KernelTable.h"
#include "mf/Perf/Timeline/Writers.h"
#include "mf/Support/AtomicFile.h"

using namespace llvm;

namespace mf::timeline {

namespace {

class MemberPrinter {
public:
  MemberPrinter(const StepTimeline &timeline, json::OStream &json)
      : timeline(timeline), summary(summarize(timeline)), json(json) {}

  void print() {
    addNumber(json, "step_seconds", timeline.seconds);
    addNumber(json, "tokens_per_second_per_npu", summary.tokensPerSecondPerNpu);
    addNumber(json, "model_flops_utilization", summary.modelFlopsUtilization);
    addNumber(json, "hardware_flops_utilization",
              summary.hardwareFlopsUtilization);
    json.attribute("source", timeline.isSimulated ? "simulated" : "executed");
    json.attribute("target", json::fixUTF8(timeline.target));
    json.attribute("num_ranks", timeline.numRanks);
    json.attribute("micro_batches", timeline.microBatches);
    json.attribute("tokens_per_step", timeline.tokens);
    json.attributeArray("stages", [&] {
      for (size_t i = 0; i < timeline.stages.size(); ++i)
        json.object([&] { print(timeline.stages[i], summary.stages[i]); });
    });
    json.attributeArray("critical_path", [&] {
      for (const CriticalShare &share : timeline.criticalPath)
        json.object([&] {
          json.attribute("kind", json::fixUTF8(share.kind));
          addNumber(json, "seconds", share.seconds);
        });
    });
    addNumbers("sensitivity", timeline.sensitivity);
    if (timeline.rates)
      printKernels(*timeline.rates);
  }

private:
  void addNumbers(StringRef name, const std::map<std::string, double> &values) {
    json.attributeObject(name, [&] {
      for (const auto &[key, value] : values)
        addNumber(json, key, value);
    });
  }

  void printKernels(const BoundRates &rates) {
    json.attributeObject("rates", [&] {
      json.attribute("source", json::fixUTF8(rates.source));
      json.attributeObject("flops_per_second", [&] {
        for (const auto &[type, rate] : rates.flopsPerSecond)
          addNumber(json, getName(type), rate);
      });
      addNumber(json, "bytes_per_second", rates.bytesPerSecond);
    });
    json.attributeArray("kernels", [&] {
      for (const KernelWork &kernel : listKernels(timeline, rates))
        json.object([&] { print(kernel); });
    });
  }

  void print(const KernelWork &kernel) {
    json.attribute("kind", json::fixUTF8(kernel.kind));
    json.attribute("name", json::fixUTF8(kernel.name));
    addShapes("inputs", kernel.inputs);
    addShapes("outputs", kernel.outputs);
    json.attribute("calls", kernel.calls);
    addNumber(json, "seconds", kernel.seconds);
    json.attribute("flops", kernel.flops);
    json.attribute("bytes", kernel.bytes);
    addNumber(json, "bound_seconds", kernel.bound);
  }

  void addShapes(StringRef name, ArrayRef<TensorShape> shapes) {
    json.attributeArray(name, [&] {
      for (const TensorShape &shape : shapes)
        json.value(getShape(shape));
    });
  }

  void print(const StageTimeline &stage, const StageSummary &times) {
    json.attribute("stage", stage.stage);
    json.attribute("rank", stage.rank);
    json.attribute("peak_bytes", stage.peakBytes);
    json.attribute("host_bytes", stage.hostBytes);
    json.attribute("limit_bytes", stage.limitBytes);
    json.attributeObject("bytes", [&] {
      for (const auto &[category, bytes] : stage.bytesByCategory)
        json.attribute(json::fixUTF8(category), bytes);
    });
    addNumber(json, "busy_seconds", times.busy);
    addNumber(json, "bubble_seconds", times.bubble);
    addNumber(json, "exposed_communication_seconds",
              times.exposedCommunication);
    addNumber(json, "stall_seconds", times.stall);
    addNumbers("seconds_by_kind", stage.secondsByKind);
  }

  const StepTimeline &timeline;
  const StepSummary summary;
  json::OStream &json;
};

} // namespace

void writeReportMembers(const StepTimeline &timeline, json::OStream &json) {
  MemberPrinter(timeline, json).print();
}

Error writeReport(StringRef path, const StepTimeline &timeline) {
  std::string text;
  raw_string_ostream stream(text);
  json::OStream json(stream, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("program", json::fixUTF8(timeline.program));
    writeReportMembers(timeline, json);
  });
  text += '\n';
  return writeFileAtomically(path, text);
}

} // namespace mf::timeline
