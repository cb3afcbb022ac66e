//===- TrainingTest.cpp - The loop over the steps of an engine ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/Training.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::ranks;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

/// An engine without ranks that notes what it is asked for.
class NotedEngine : public RankEngine {
public:
  TrainingProperties properties;
  /// Steps whose gradients are not finite, from 1.
  std::vector<size_t> overflows;
  std::vector<int64_t> stepNumbers;
  std::vector<float> learningRates, lossScales;
  std::vector<std::string> calls;
  std::string failure;

  TrainingProperties getProperties() const override { return properties; }
  llvm::Error check() override {
    calls.emplace_back("check");
    return failure.empty() ? llvm::Error::success()
                           : llvm::createStringError(failure);
  }
  llvm::Error start(NoteUser note) override {
    calls.emplace_back("start");
    return llvm::Error::success();
  }
  llvm::Expected<StepOutput>
  runStep(const StepInput &input,
          llvm::function_ref<llvm::Error()> useGradients) override {
    calls.emplace_back("step");
    stepNumbers.push_back(input.stepNumber);
    learningRates.push_back(input.learningRates.front());
    lossScales.push_back(input.lossScale);
    StepReports reports;
    const bool isFinite = !llvm::is_contained(overflows, stepNumbers.size());
    reports.add(0, "loss", {1, 2});
    reports.add(1, "loss", {4});
    reports.add(0, "overflow", {0, isFinite ? 0.0F : 1.0F});
    return StepOutput(reports);
  }
  llvm::Expected<WholeTensors> collectGradients() const override {
    return WholeTensors(program::Mesh());
  }
  llvm::Expected<WholeTensors> collectParameters() const override {
    return WholeTensors(program::Mesh());
  }
  llvm::Expected<WholeTensors> collectTrained() const override {
    return WholeTensors(program::Mesh());
  }
  void startRecord() override { calls.emplace_back("startRecord"); }
  llvm::Error takeRecord(Time begin, Time end) override {
    calls.emplace_back("takeRecord");
    EXPECT_LE(begin, end);
    return llvm::Error::success();
  }
  llvm::Error agree(llvm::Error own) override {
    calls.emplace_back("agree");
    return own;
  }
};

struct TrainingTest : testing::Test {
  NotedEngine engine;
  TrainingOptions options;
  std::string lines;

  TrainingTest() {
    engine.properties.kind = "program";
    engine.properties.readsData = false;
    engine.properties.lossScale.value = 8;
    engine.properties.lossScale.factor = 2;
    engine.properties.lossScale.window = 100;
    engine.properties.lrSchedule.emplace();
    engine.properties.lrSchedule->type = "LinearWithWarmUpLR";
    engine.properties.lrSchedule->parameters["learning_rate"] = 1.0;
    engine.properties.lrSchedule->parameters["warmup_steps"] = int64_t{4};
    engine.properties.lrSchedule->parameters["total_steps"] = int64_t{100};
    options.steps = 4;
  }

  std::string train() {
    llvm::raw_string_ostream out(lines);
    return llvm::toString(
        ranks::train(engine, options, out, false, [](llvm::StringRef) {}));
  }
};

TEST_F(TrainingTest, CountsStepsThatChangedParameters) {
  engine.overflows = {2};
  EXPECT_EQ(train(), "");
  EXPECT_THAT(engine.stepNumbers, ElementsAre(1, 2, 2, 3));
  EXPECT_THAT(engine.learningRates, ElementsAre(0, 0.25, 0.25, 0.5));
  EXPECT_THAT(engine.lossScales, ElementsAre(8, 8, 4, 4));
  // The sum over the stages of the mean over the ranks of each.
  EXPECT_THAT(lines, HasSubstr("loss: 5.500"));
}

TEST_F(TrainingTest, StaysAtTheFirstUpdateWhereNothingIsUpdated) {
  engine.properties.hasUpdate = false;
  engine.overflows = {1};
  EXPECT_EQ(train(), "");
  EXPECT_THAT(engine.stepNumbers, ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(engine.learningRates, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(engine.lossScales, ElementsAre(8, 8, 8, 8));
}

TEST_F(TrainingTest, RecordsTheLastStep) {
  options.steps = 2;
  options.recordsStep = true;
  EXPECT_EQ(train(), "");
  EXPECT_THAT(engine.calls, ElementsAre("check", "start", "agree", "step",
                                        "startRecord", "step", "takeRecord"));
}

TEST_F(TrainingTest, AgreesOnFailuresBeforeTheFirstStep) {
  engine.failure = "no such option";
  EXPECT_EQ(train(), "no such option");
  EXPECT_THAT(engine.calls, ElementsAre("check", "agree"));
}

TEST_F(TrainingTest, WantsDataForWhatReadsTokens) {
  engine.properties.readsData = true;
  EXPECT_EQ(train(), "the program reads tokens: give a text, .npy or Megatron "
                     "file with --data");
}

TEST_F(TrainingTest, FindsOutBeforeTheFirstStepWhatCannotBeWritten) {
  options.saveParamsPath = "/nowhere/at/all/w.safetensors";
  EXPECT_THAT(train(), HasSubstr("/nowhere/at/all/w.safetensors"));
  EXPECT_THAT(engine.calls, ElementsAre("check", "agree"));
}

} // namespace
