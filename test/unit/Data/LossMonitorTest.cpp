//===- LossMonitorTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/LossMonitor.h"
#include "TestFiles.h"
#include "gmock/gmock.h"
#include <cmath>
#include <limits>
#include <random>

using namespace mf;
using testing::HasSubstr;

namespace {

StepReport makeReport() {
  StepReport report;
  report.numEpochs = 2;
  report.stepsPerEpoch = 100;
  report.loss = 10.6534F;
  report.stepMilliseconds = 1234.9;
  report.learningRate = 1e-5F;
  report.globalNorm = 1.234F;
  report.teraflopsPerRank = 12.3451;
  return report;
}

TEST(LossMonitorTest, StepLineIsThatOfMindSporeTransformers) {
  StepReport report = makeReport();
  EXPECT_EQ(formatStepLine(report),
            "INFO - { Epoch:[  1/  2], step:[    1/  100], loss: 10.653, "
            "per_step_time: 1234ms, lr: 1e-05, overflow cond: False, "
            "loss_scale: 1.0, global_norm: [1.234], "
            "train_throughput_per_npu: 12.345T");
  report.globalNorm.reset();
  report.teraflopsPerRank.reset();
  report.overflow = true;
  report.lossScale = 65536;
  report.learningRate = 0;
  report.loss = std::nanf("");
  EXPECT_EQ(formatStepLine(report),
            "INFO - { Epoch:[  1/  2], step:[    1/  100], loss:   nan, "
            "per_step_time: 1234ms, lr: 0.0, overflow cond: True, "
            "loss_scale: 65536.0, global_norm: None");
}

TEST(LossMonitorTest, ProgramWithoutALossHasNoneToPrint) {
  StepReport report = makeReport();
  report.loss.reset();
  EXPECT_THAT(formatStepLine(report),
              HasSubstr("step:[    1/  100], loss:  None, per_step_time:"));
}

TEST(LossMonitorTest, PartsFollowTheirSum) {
  StepReport report = makeReport();
  report.lossParts = {{"mtp_10_loss", 0.5F},
                      {"mtp_2_loss", std::nanf("")},
                      {"load_balancing_loss", 1.0F},
                      {"lm_loss", 5.6244F}};
  sortLossParts(report.lossParts);
  EXPECT_THAT(formatStepLine(report),
              HasSubstr("loss: 10.653, lm_loss: 5.624, load_balancing_loss: "
                        "1.000, mtp_2_loss:   nan, mtp_10_loss: 0.500, "
                        "per_step_time:"));
  EXPECT_TRUE(isLossPart("aux_loss"));
  EXPECT_FALSE(isLossPart("loss"));
}

TEST(LossMonitorTest, GlobalNormPrintsAsANumPyArray) {
  auto norm = [](float value) {
    StepReport report = makeReport();
    report.globalNorm = value;
    report.teraflopsPerRank.reset();
    const std::string line = formatStepLine(report);
    return line.substr(line.find("global_norm: ") + 13);
  };
  EXPECT_EQ(norm(1), "[1.]");
  EXPECT_EQ(norm(0), "[0.]");
  EXPECT_EQ(norm(1.6408012F), "[1.6408012]");
  EXPECT_EQ(norm(123.5F), "[123.5]");
  EXPECT_EQ(norm(99999.99F), "[99999.99]");
  EXPECT_EQ(norm(16777216), "[16777216.]");
  EXPECT_EQ(norm(1e8F), "[1.e+08]");
  EXPECT_EQ(norm(1.5e-5F), "[1.5e-05]");
  EXPECT_EQ(norm(0.012345678F), "[0.01234568]");
  EXPECT_EQ(norm(std::numeric_limits<float>::infinity()), "[inf]");
  EXPECT_EQ(norm(std::nanf("")), "[nan]");
}

TEST(LossMonitorTest, ShortestFloatsReadBack) {
  EXPECT_EQ(formatFloat32(1), "1.0");
  EXPECT_EQ(formatFloat32(-2.5F), "-2.5");
  EXPECT_EQ(formatFloat32(-0.0F), "-0.0");
  EXPECT_EQ(formatFloat32(0.001F), "0.001");
  EXPECT_EQ(formatFloat32(1e-4F), "1e-04");
  EXPECT_EQ(formatFloat32(3.5842294e-08F), "3.5842294e-08");
  EXPECT_EQ(formatFloat32(2.2e-4F), "0.00022");
  EXPECT_EQ(formatFloat32(1e15F), "1000000000000000.0");
  EXPECT_EQ(formatFloat32(1e16F), "1e+16");
  EXPECT_EQ(formatFloat32(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(formatFloat32(-std::nanf("")), "nan");
  std::mt19937 random = makeRandom(3);
  for (int i = 0; i < 20000; ++i) {
    const float value = std::ldexp(static_cast<float>(random()),
                                   static_cast<int>(random() % 200) - 140);
    EXPECT_EQ(std::strtof(formatFloat32(value).c_str(), nullptr), value);
  }
}

TEST(LossMonitorTest, ProgressLine) {
  StepReport report = makeReport();
  report.stepMilliseconds = 2000;
  report.step = 50;
  EXPECT_EQ(formatProgressLine(report, 8),
            "INFO -   25.0% |"
            "\u2588\u2588\u2588\u2588\u2588\u2588\u2588"
            "\u2588\u2588\u2588\u2588\u2588" +
                std::string(38, ' ') + "| 4.00000 samples/s/p  0:05:00 }");
  report.epoch = 2;
  report.step = 100;
  EXPECT_THAT(formatProgressLine(report, 8), HasSubstr("  100.0% |\u2588"));
  EXPECT_THAT(formatProgressLine(report, 8), HasSubstr("  0:00:00 }"));
  report.stepMilliseconds = 0;
  EXPECT_THAT(formatProgressLine(report, 8), HasSubstr("samples/s/p"));
  report.epoch = 1;
  report.step = 1;
  report.numEpochs = 1;
  report.stepsPerEpoch = 100001;
  report.stepMilliseconds = 1000;
  EXPECT_THAT(formatProgressLine(report, 8), HasSubstr("1 day, 3:46:40 }"));
  report.stepsPerEpoch = 300001;
  EXPECT_THAT(formatProgressLine(report, 8), HasSubstr("3 days, 11:20:00 }"));
}

} // namespace
