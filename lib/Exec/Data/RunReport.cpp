//===- RunReport.cpp - JSON report of a training run ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/RunReport.h"
#include "mf/Exec/Data/LossMonitor.h"
#include "mf/Support/AtomicFile.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llvm;

namespace mf {

namespace {

class ReportPrinter {
public:
  explicit ReportPrinter(raw_ostream &stream) : out(stream, /*IndentSize=*/2) {}

  void print(const RunReport &report,
             function_ref<void(json::OStream &)> addMembers) {
    out.object([&] {
      out.attribute("program", json::fixUTF8(report.program));
      out.attribute("seed", report.seed);
      if (!report.verification.empty())
        out.attribute("verification", report.verification);
      out.attributeArray("steps", [&] {
        for (const StepMeasurement &step : report.steps)
          print(step);
      });
      out.attributeArray("ranks", [&] {
        for (const RankMeasurement &rank : report.ranks)
          print(rank);
      });
      if (addMembers)
        addMembers(out);
    });
  }

private:
  void print(const StepMeasurement &step) {
    out.object([&] {
      out.attribute("step", step.step);
      addFloat("loss", step.loss);
      addDouble("seconds", step.seconds);
      addFloat("learning_rate", step.learningRate);
      addFloat("global_norm", step.globalNorm);
      addFloat("loss_scale", step.lossScale);
      out.attribute("overflow", step.overflow);
      if (!step.lossParts.empty())
        out.attributeObject("loss_parts", [&] {
          for (const auto &[name, part] : step.lossParts)
            addFloat(name, part);
        });
      if (!step.dropRates.empty())
        out.attributeArray("drop_rates", [&] {
          for (const DropRates &layer : step.dropRates)
            print(layer);
        });
    });
  }

  void print(const DropRates &rates) {
    auto addRows = [&](StringRef key, ArrayRef<float> rows) {
      out.attributeArray(key, [&] {
        for (float row : rows)
          out.rawValue(std::isfinite(row) ? formatFloat32(row) : "null");
      });
    };
    out.object([&] {
      out.attribute("layer", rates.layer);
      addRows("logged", rates.logged);
      addRows("dropped", rates.dropped);
    });
  }

  void print(const RankMeasurement &rank) {
    out.object([&] {
      out.attribute("rank", rank.rank);
      out.attribute("stage", rank.stage);
      out.attribute("planned_bytes", rank.plannedBytes);
      out.attribute("peak_bytes", rank.peakBytes);
      out.attribute("used_bytes", rank.usedBytes);
      out.attribute("host_bytes", rank.hostBytes);
      out.attribute("host_used_bytes", rank.hostUsedBytes);
      out.attributeObject("bytes_at_peak", [&] {
        for (const auto &[category, bytes] : rank.bytesAtPeak)
          out.attribute(json::fixUTF8(category), bytes);
      });
      out.attributeObject("stall_seconds", [&] {
        for (const auto &[cause, seconds] : rank.stallSeconds)
          addDouble(cause, seconds);
      });
      out.attributeObject("operator_stall_seconds", [&] {
        for (const auto &[cause, seconds] : rank.operatorStallSeconds)
          addDouble(cause, seconds);
      });
    });
  }

  void addFloat(StringRef key, std::optional<float> value) {
    out.attributeBegin(key);
    out.rawValue(value && std::isfinite(*value) ? formatFloat32(*value)
                                                : "null");
    out.attributeEnd();
  }

  void addDouble(StringRef key, double value) {
    if (std::isfinite(value))
      out.attribute(json::fixUTF8(key), value);
    else
      out.attribute(json::fixUTF8(key), nullptr);
  }

  json::OStream out;
};

} // namespace

std::string toJson(const RunReport &report,
                   function_ref<void(json::OStream &)> addMembers) {
  std::string text;
  raw_string_ostream stream(text);
  ReportPrinter(stream).print(report, addMembers);
  text += '\n';
  return text;
}

Error writeReport(StringRef path, const RunReport &report,
                  function_ref<void(json::OStream &)> addMembers) {
  return writeFileAtomically(path, toJson(report, addMembers));
}

bool isLossPart(llvm::StringRef quantity) {
  return quantity.ends_with("_loss");
}

void sortLossParts(LossParts &parts) {
  auto getPlace = [](llvm::StringRef name) {
    int64_t depth = 0;
    if (name == "lm_loss")
      return std::tuple(0, depth, name);
    if (name.consume_front("mtp_") && !name.consumeInteger(10, depth))
      return std::tuple(2, depth, name);
    return std::tuple(1, depth, name);
  };
  llvm::sort(parts, [&](const auto &one, const auto &other) {
    return getPlace(one.first) < getPlace(other.first);
  });
}

} // namespace mf
