//===- RunReportTest.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/RunReport.h"
#include "TestFiles.h"
#include "llvm/Support/JSON.h"
#include "gmock/gmock.h"
#include <cmath>
#include <limits>

using namespace llvm;
using namespace mf;
using testing::HasSubstr;

namespace {

RunReport makeReport() {
  RunReport report;
  report.program = "step.mlir";
  report.seed = ~uint64_t{0};
  StepMeasurement step;
  step.loss = 10.653F;
  step.seconds = 0.25;
  step.learningRate = 1e-5F;
  step.globalNorm = 1.5F;
  report.steps.push_back(step);
  step.step = 2;
  step.loss = std::nanf("");
  step.seconds = std::numeric_limits<double>::infinity();
  step.globalNorm.reset();
  step.lossScale = 65536;
  step.overflow = true;
  report.steps.push_back(step);
  RankMeasurement rank;
  rank.plannedBytes = int64_t{1} << 40;
  rank.peakBytes = 900;
  rank.usedBytes = 890;
  rank.bytesAtPeak = {{"residuals", 400}, {"parameters", 500}};
  rank.hostBytes = 4096;
  rank.hostUsedBytes = 4000;
  rank.stallSeconds = {{"compute", 0.125}};
  rank.operatorStallSeconds = {{"layers.0.mul.grad, waiting for h2d", 0.0625}};
  report.ranks.push_back(rank);
  return report;
}

TEST(RunReportTest, TextIsFixed) {
  EXPECT_EQ(toJson(makeReport()), R"({
  "program": "step.mlir",
  "seed": 18446744073709551615,
  "steps": [
    {
      "step": 1,
      "loss": 10.653,
      "seconds": 0.25,
      "learning_rate": 1e-05,
      "global_norm": 1.5,
      "loss_scale": 1.0,
      "overflow": false
    },
    {
      "step": 2,
      "loss": null,
      "seconds": null,
      "learning_rate": 1e-05,
      "global_norm": null,
      "loss_scale": 65536.0,
      "overflow": true
    }
  ],
  "ranks": [
    {
      "rank": 0,
      "stage": 0,
      "planned_bytes": 1099511627776,
      "peak_bytes": 900,
      "used_bytes": 890,
      "host_bytes": 4096,
      "host_used_bytes": 4000,
      "bytes_at_peak": {
        "parameters": 500,
        "residuals": 400
      },
      "stall_seconds": {
        "compute": 0.125
      },
      "operator_stall_seconds": {
        "layers.0.mul.grad, waiting for h2d": 0.0625
      }
    }
  ]
}
)");
}

TEST(RunReportTest, IsJsonWhateverTheNames) {
  RunReport report = makeReport();
  report.program = "a\"b\\c\n\xff";
  report.ranks[0].stallSeconds["\xfe"] = std::nan("");
  Expected<json::Value> value = json::parse(toJson(report));
  ASSERT_TRUE(bool(value)) << message(std::move(value));
  EXPECT_EQ(value->getAsObject()->getString("program"), "a\"b\\c\n\uFFFD");
}

TEST(RunReportTest, IsWrittenWhole) {
  TemporaryDirectory directory;
  ASSERT_EQ(message(writeReport(directory.path("r.json"), makeReport())), "");
  EXPECT_EQ(readFile(directory.path("r.json")), toJson(makeReport()));
  EXPECT_THAT(message(writeReport(directory.path("no/r.json"), makeReport())),
              HasSubstr("cannot create"));
}

} // namespace
