//===- ReportTest.cpp - A step in time as JSON ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExampleTimelines.h"
#include "mf/Perf/Timeline/Writers.h"
#include "test/unit/TemporaryDirectory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf::timeline;
namespace json = llvm::json;

namespace {

std::string writeText(const StepTimeline &timeline) {
  const mf::TemporaryDirectory folder;
  llvm::cantFail(writeReport(folder.path("report.json"), timeline));
  return mf::readFile(folder.path("report.json"));
}

json::Object readBack(const StepTimeline &timeline) {
  llvm::Expected<json::Value> value = json::parse(writeText(timeline));
  if (!value) {
    ADD_FAILURE() << toString(value.takeError());
    return {};
  }
  return *value->getAsObject();
}

/// In the order of the report.
constexpr llvm::StringLiteral exampleReport = R"({
  "program": "step.mlir", "step_seconds": 10,
  "tokens_per_second_per_npu": 200, "model_flops_utilization": 0.5,
  "hardware_flops_utilization": 0.6, "source": "simulated",
  "target": "atlas-800t-a2", "num_ranks": 4, "micro_batches": 2,
  "tokens_per_step": 8000,
  "stages": [
    {"stage": 0, "rank": 0, "peak_bytes": 4294967296, "host_bytes": 536870912,
     "limit_bytes": 8589934592,
     "bytes": {"activation": 1610612736, "gradient": 536870912,
               "optimizer_state": 536870912, "parameter": 1073741824,
               "temporary": 268435456, "unused": 268435456},
     "busy_seconds": 5, "bubble_seconds": 1,
     "exposed_communication_seconds": 2, "stall_seconds": 2,
     "seconds_by_kind": {"all_gather over mp": 2, "d2h": 1, "h2d": 1.75,
                         "matmul": 3, "norm": 2, "receive": 0.5, "send": 1}},
    {"stage": 1, "rank": 2, "peak_bytes": 2147483648, "host_bytes": 0,
     "limit_bytes": 8589934592,
     "bytes": {"activation": 1073741824, "parameter": 1073741824},
     "busy_seconds": 2, "bubble_seconds": 6.5,
     "exposed_communication_seconds": 1.5, "stall_seconds": 0,
     "seconds_by_kind": {"matmul": 2, "receive": 1, "send": 0.5}}],
  "critical_path": [
    {"kind": "matmul", "seconds": 5}, {"kind": "norm", "seconds": 2},
    {"kind": "send", "seconds": 1}, {"kind": "host", "seconds": 1},
    {"kind": "receive", "seconds": 0.5},
    {"kind": "all_gather over mp", "seconds": 0.5}],
  "sensitivity": {"engines.cube.bf16": -5, "host.latency": 0,
                  "networks.hccs.collective_share": -0.5,
                  "networks.roce.message_share": -1.5, "step_latency": 1},
  "rates": {"source": "made by hand", "flops_per_second": {"bf16": 1000},
            "bytes_per_second": 100},
  "kernels": [
    {"kind": "matmul", "name": "aclnnMatmul",
     "inputs": ["bf16[4,8]", "bf16[8,2]"], "outputs": ["bf16[4,2]"],
     "calls": 3, "seconds": 5, "flops": 3000, "bytes": 0, "bound_seconds": 3},
    {"kind": "norm", "name": "aclnnRmsNorm", "inputs": [], "outputs": [],
     "calls": 1, "seconds": 2, "flops": 0, "bytes": 0, "bound_seconds": 0}]})";

std::string dropSpaces(std::string text) {
  llvm::erase_if(text, llvm::isSpace);
  return text;
}

TEST(ReportTest, HasTheNumbersOfTheExample) {
  StepTimeline timeline = makeExample();
  EXPECT_EQ(readBack(timeline).get("kernels"), nullptr);
  timeline.rates = {{{mf::DType::BF16, 1000}}, 100, "made by hand"};
  EXPECT_EQ(dropSpaces(writeText(timeline)), dropSpaces(exampleReport.str()));
}

TEST(ReportTest, NumbersReadBackToTheSame) {
  StepTimeline timeline = makeExample();
  timeline.seconds = 10.1 + 0.2;
  timeline.sensitivity = {{"a", 1e-300}, {"b", -1 / 3.0}, {"c", NAN}};
  const json::Object report = readBack(timeline);
  EXPECT_EQ(report.getNumber("step_seconds"), 10.1 + 0.2);
  const json::Object &sensitivity = *report.getObject("sensitivity");
  EXPECT_EQ(sensitivity.getNumber("a"), 1e-300);
  EXPECT_EQ(sensitivity.getNumber("b"), -1 / 3.0);
  EXPECT_TRUE(sensitivity.getNull("c"));
}

TEST(ReportTest, AStepOfNothingHasAllMembers) {
  const json::Object report = readBack(StepTimeline());
  EXPECT_EQ(report.size(), 13U);
  EXPECT_EQ(report.getString("source"), "executed");
  EXPECT_TRUE(report.getArray("stages")->empty());
  EXPECT_TRUE(report.getArray("critical_path")->empty());
  EXPECT_TRUE(report.getObject("sensitivity")->empty());
}

TEST(ReportTest, AFolderThatIsNotThereIsAnError) {
  llvm::Error error = writeReport("/nowhere/report.json", makeExample());
  ASSERT_TRUE(bool(error));
  EXPECT_NE(toString(std::move(error)).find("/nowhere/report.json"),
            std::string::npos);
}

} // namespace
