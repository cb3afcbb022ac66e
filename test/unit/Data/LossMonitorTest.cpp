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

StepMeasurement makeStep() {
  StepMeasurement step;
  step.loss = 10.6534F;
  step.seconds = 1.2349;
  step.learningRate = 1e-5F;
  step.globalNorm = 1.234F;
  return step;
}

std::string formatLine(const StepMeasurement &step,
                       std::optional<double> teraflopsPerRank = {}) {
  StepPrintOptions options;
  options.steps = 100;
  options.teraflopsPerRank = teraflopsPerRank;
  return formatStepLine(step, options);
}

TEST(LossMonitorTest, StepLineIsThatOfMindSporeTransformers) {
  StepMeasurement step = makeStep();
  EXPECT_EQ(formatLine(step, 12.3451),
            "INFO - { Epoch:[  1/  1], step:[    1/  100], loss: 10.653, "
            "per_step_time: 1234ms, lr: 1e-05, overflow cond: False, "
            "loss_scale: 1.0, global_norm: [1.234], "
            "train_throughput_per_npu: 12.345T");
  step.globalNorm.reset();
  step.overflow = true;
  step.lossScale = 65536;
  step.learningRate = 0;
  step.loss = std::nanf("");
  EXPECT_EQ(formatLine(step),
            "INFO - { Epoch:[  1/  1], step:[    1/  100], loss:   nan, "
            "per_step_time: 1234ms, lr: 0.0, overflow cond: True, "
            "loss_scale: 65536.0, global_norm: None");
}

TEST(LossMonitorTest, ProgramWithoutALossHasNoneToPrint) {
  StepMeasurement step = makeStep();
  step.loss.reset();
  EXPECT_THAT(formatLine(step),
              HasSubstr("step:[    1/  100], loss:  None, per_step_time:"));
}

TEST(LossMonitorTest, PartsFollowTheirSum) {
  StepMeasurement step = makeStep();
  step.lossParts = {{"mtp_10_loss", 0.5F},
                    {"mtp_2_loss", std::nanf("")},
                    {"load_balancing_loss", 1.0F},
                    {"lm_loss", 5.6244F}};
  sortLossParts(step.lossParts);
  EXPECT_THAT(formatLine(step),
              HasSubstr("loss: 10.653, lm_loss: 5.624, load_balancing_loss: "
                        "1.000, mtp_2_loss:   nan, mtp_10_loss: 0.500, "
                        "per_step_time:"));
  EXPECT_TRUE(isLossPart("aux_loss"));
  EXPECT_FALSE(isLossPart("loss"));
}

TEST(LossMonitorTest, GlobalNormPrintsAsANumPyArray) {
  auto norm = [](float value) {
    StepMeasurement step = makeStep();
    step.globalNorm = value;
    const std::string line = formatLine(step);
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
  StepMeasurement step;
  step.seconds = 2;
  step.step = 50;
  EXPECT_EQ(formatProgressLine(step, 200, 8),
            "INFO -   25.0% |"
            "\u2588\u2588\u2588\u2588\u2588\u2588\u2588"
            "\u2588\u2588\u2588\u2588\u2588" +
                std::string(38, ' ') + "| 4.00000 samples/s/p  0:05:00 }");
  step.step = 200;
  EXPECT_THAT(formatProgressLine(step, 200, 8), HasSubstr("  100.0% |\u2588"));
  EXPECT_THAT(formatProgressLine(step, 200, 8), HasSubstr("  0:00:00 }"));
  step.seconds = 0;
  EXPECT_THAT(formatProgressLine(step, 200, 8), HasSubstr("samples/s/p"));
  step.step = 1;
  step.seconds = 1;
  EXPECT_THAT(formatProgressLine(step, 100001, 8),
              HasSubstr("1 day, 3:46:40 }"));
  EXPECT_THAT(formatProgressLine(step, 300001, 8),
              HasSubstr("3 days, 11:20:00 }"));
}

} // namespace
