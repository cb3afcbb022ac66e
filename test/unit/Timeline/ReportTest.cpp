//===- ReportTest.cpp - A step in time as JSON ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExampleTimelines.h"
#include "mf/Perf/Timeline/Writers.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf::timeline;
namespace json = llvm::json;

namespace {

std::string writeText(const StepTimeline &timeline) {
  const std::string path = testing::TempDir() + "mf_report_test.json";
  if (llvm::Error error = writeReport(path, timeline))
    return toString(std::move(error));
  auto buffer = llvm::MemoryBuffer::getFile(path);
  std::remove(path.c_str());
  return buffer ? (*buffer)->getBuffer().str() : "no file";
}

json::Object readBack(const StepTimeline &timeline) {
  llvm::Expected<json::Value> value = json::parse(writeText(timeline));
  if (!value) {
    ADD_FAILURE() << toString(value.takeError());
    return {};
  }
  return *value->getAsObject();
}

TEST(ReportTest, HasTheNumbersOfTheStep) {
  const json::Object report = readBack(makeExample());
  EXPECT_EQ(report.getString("program"), "step.mlir");
  EXPECT_EQ(report.getNumber("step_seconds"), 10);
  EXPECT_EQ(report.getNumber("tokens_per_second_per_npu"), 200);
  EXPECT_EQ(report.getNumber("model_flops_utilization"), 0.5);
  EXPECT_EQ(report.getNumber("hardware_flops_utilization"), 0.6);
  EXPECT_EQ(report.getString("source"), "simulated");
  EXPECT_EQ(report.getString("target"), "atlas-800t-a2");
  EXPECT_EQ(report.getInteger("num_ranks"), 4);
  EXPECT_EQ(report.getInteger("micro_batches"), 2);
  EXPECT_EQ(report.getInteger("tokens_per_step"), 8000);
  const json::Array &path = *report.getArray("critical_path");
  ASSERT_EQ(path.size(), 6U);
  EXPECT_EQ(path[0].getAsObject()->getString("kind"), "matmul");
  EXPECT_EQ(path[0].getAsObject()->getNumber("seconds"), 5);
  EXPECT_EQ(report.getObject("sensitivity")->getNumber("engines.cube.bf16"),
            -5);
}

TEST(ReportTest, HasTheNumbersOfStages) {
  const json::Object report = readBack(makeExample());
  const json::Array &stages = *report.getArray("stages");
  ASSERT_EQ(stages.size(), 2U);
  const json::Object &first = *stages[0].getAsObject();
  EXPECT_EQ(first.getInteger("stage"), 0);
  EXPECT_EQ(first.getInteger("peak_bytes"), int64_t{4} << 30);
  EXPECT_EQ(first.getInteger("host_bytes"), int64_t{1} << 29);
  EXPECT_EQ(first.getInteger("limit_bytes"), int64_t{8} << 30);
  EXPECT_EQ(first.getObject("bytes")->getInteger("activation"),
            int64_t{3} << 29);
  EXPECT_EQ(first.getNumber("busy_seconds"), 5);
  EXPECT_EQ(first.getNumber("bubble_seconds"), 1);
  EXPECT_EQ(first.getNumber("exposed_communication_seconds"), 2);
  EXPECT_EQ(first.getNumber("stall_seconds"), 2);
  EXPECT_EQ(first.getObject("seconds_by_kind")->getNumber("h2d"), 1.75);
  EXPECT_EQ(stages[1].getAsObject()->getInteger("rank"), 2);
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

TEST(ReportTest, MembersAreInOrder) {
  const std::string text = writeText(makeExample());
  size_t last = 0;
  for (const char *name :
       {"program", "step_seconds", "tokens_per_second_per_npu", "source",
        "target", "stages", "\"bytes\"", "activation", "gradient",
        "busy_seconds", "all_gather over mp", "matmul", "critical_path",
        "sensitivity"}) {
    const size_t found = text.find(name, last);
    ASSERT_NE(found, std::string::npos) << name;
    last = found;
  }
}

TEST(ReportTest, HasKernelsBesideTheirBoundsIfThereAreRates) {
  StepTimeline timeline = makeExample();
  EXPECT_EQ(readBack(timeline).get("kernels"), nullptr);
  timeline.rates = {{{mf::DType::BF16, 1000}}, 100, "made by hand"};
  const json::Object report = readBack(timeline);
  const json::Object &rates = *report.getObject("rates");
  EXPECT_EQ(rates.getString("source"), "made by hand");
  EXPECT_EQ(rates.getObject("flops_per_second")->getNumber("bf16"), 1000);
  EXPECT_EQ(rates.getNumber("bytes_per_second"), 100);
  const json::Array &kernels = *report.getArray("kernels");
  ASSERT_EQ(kernels.size(), 2U);
  const json::Object &product = *kernels[0].getAsObject();
  EXPECT_EQ(product.getString("kind"), "matmul");
  EXPECT_EQ(product.getString("name"), "aclnnMatmul");
  EXPECT_EQ(product.getArray("inputs")->front().getAsString(), "bf16[4,8]");
  EXPECT_EQ(product.getArray("outputs")->front().getAsString(), "bf16[4,2]");
  EXPECT_EQ(product.getInteger("calls"), 3);
  EXPECT_EQ(product.getNumber("seconds"), 5);
  EXPECT_EQ(product.getInteger("flops"), 3000);
  EXPECT_EQ(product.getInteger("bytes"), 0);
  EXPECT_EQ(product.getNumber("bound_seconds"), 3);
}

TEST(ReportTest, AFolderThatIsNotThereIsAnError) {
  llvm::Error error = writeReport("/nowhere/report.json", makeExample());
  ASSERT_TRUE(bool(error));
  EXPECT_NE(toString(std::move(error)).find("/nowhere/report.json"),
            std::string::npos);
}

} // namespace
