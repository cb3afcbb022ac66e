//===- InterpreterTest.cpp - Models run as they are -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Interpreter/Interpreter.h"
#include "LoweredSteps.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mf::interpreter;
using testing::HasSubstr;

namespace ir = mf::ir;

namespace {

/// A model of one layer, whose result is `loss`: a table's row of each token,
/// 2 wide, in two labelled positions. `body` may name %x, the rows.
std::string makeModel(llvm::StringRef body, llvm::StringRef before = "") {
  return (R"(
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 2 : i64, vocab_size = 2 : i64} {
  mf.param @table : tensor<2x2xf32> init <constant, value = 0.5>
  )" + before +
          R"(
  mf.layer @embedding embedding (%tokens: tensor<1x2xi32>) -> tensor<1x2x2xf32> {
    %table = mf.get_param @table : tensor<2x2xf32>
    %x = mf.embedding %table, %tokens : (tensor<2x2xf32>, tensor<1x2xi32>) -> tensor<1x2x2xf32>
    mf.return %x : tensor<1x2x2xf32>
  }
  mf.layer @head head (%x: tensor<1x2x2xf32>, %labels: tensor<2xi32>) -> tensor<f32> {
    )" + body +
          R"(
    %loss, %lse, %count = mf.cross_entropy %logits, %labels : (tensor<2x2xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
})")
      .str();
}

constexpr llvm::StringLiteral reshape =
    "%logits = mf.reshape %x : (tensor<1x2x2xf32>) -> tensor<2x2xf32>";

struct InterpreterTest : testing::Test {
  mf::tools::QuietContext quiet;
  OwningOpRef<ModuleOp> module;

  FailureOr<std::unique_ptr<Interpreter>>
  create(llvm::StringRef text, const mf::ranks::TrainingOptions &options = {}) {
    quiet.context.allowUnregisteredDialects();
    module = parseSourceString<ModuleOp>(text, &quiet.context);
    if (!module)
      return failure();
    return Interpreter::create(*module->getOps<ir::ModelOp>().begin(), options);
  }

  /// The loss of one step, or none.
  std::optional<float> run(llvm::StringRef text,
                           llvm::ArrayRef<int32_t> tokens = {0, 1},
                           llvm::ArrayRef<int32_t> labels = {1, 0},
                           const mf::ranks::TrainingOptions &options = {}) {
    FailureOr<std::unique_ptr<Interpreter>> interpreter = create(text, options);
    if (failed(interpreter))
      return std::nullopt;
    mf::ranks::StepInput input;
    input.tokens = tokens;
    input.labels = labels;
    llvm::Expected<mf::ranks::StepOutput> output =
        (*interpreter)->runStep(input, nullptr);
    if (output)
      return output->loss;
    llvm::consumeError(output.takeError());
    return std::nullopt;
  }
};

TEST_F(InterpreterTest, LayersComputeTheLoss) {
  // All scores are equal.
  EXPECT_FLOAT_EQ(run(makeModel(reshape)).value_or(0), std::log(2.0F))
      << quiet.messages;
}

TEST_F(InterpreterTest, TheLossIsTheMeanOverMicroBatches) {
  mf::ranks::TrainingOptions options;
  options.microBatches = 2;
  options.changeParameter = [](llvm::StringRef, const mf::TensorShape &,
                               llvm::MutableArrayRef<uint8_t> bytes) {
    const float values[] = {0, 3, 0, 0};
    std::memcpy(bytes.data(), values, sizeof(values));
    return llvm::Error::success();
  };
  // Token 0 has scores 0 and 3, token 1 equal ones.
  const float certain = std::log1p(std::exp(-3.0F)), even = std::log(2.0F);
  EXPECT_FLOAT_EQ(
      run(makeModel(reshape), {0, 0, 1, 1}, {1, 1, 1, 1}, options).value_or(0),
      (certain + even) / 2)
      << quiet.messages;
}

TEST_F(InterpreterTest, AnUnknownOperatorIsAnErrorAtItsPlace) {
  std::string text =
      makeModel(
          (R"(%z = "test.op"(%x) : (tensor<1x2x2xf32>) -> tensor<1x2x2xf32>
    )" + reshape)
              .str());
  EXPECT_EQ(run(text), std::nullopt);
  EXPECT_THAT(quiet.messages,
              HasSubstr("'test.op' op cannot be run: it is neither a tensor "
                        "operator nor one on parameters"));
}

TEST_F(InterpreterTest, AKernelThatDoesNotFitIsAnErrorAtItsOperator) {
  std::string text = makeModel(
      R"(%y = mf.scale %x {value = 2.0 : f64} : (tensor<1x2x2xf32>) -> tensor<1x2x2xf32>
    %logits = mf.matmul %y, %y : (tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<2x2xf32>)");
  EXPECT_EQ(run(text), std::nullopt);
  EXPECT_THAT(quiet.messages, HasSubstr("'mf.matmul' op"));
}

TEST_F(InterpreterTest, AStepWithOtherDataThanTheModelsIsAnError) {
  EXPECT_EQ(run(makeModel(reshape), {0, 1, 0}, {1, 0, 1}), std::nullopt);
  EXPECT_THAT(quiet.messages,
              HasSubstr("cannot be run: wants micro-batch 0 of 2 tokens, but a "
                        "step has 3 in 1 micro-batches"));
}

TEST_F(InterpreterTest, AModelWithoutLayersIsAnError) {
  EXPECT_EQ(run("mf.model @m attributes {micro_batch_size = 1 : i64, "
                "sequence_length = 2 : i64, vocab_size = 2 : i64} {}"),
            std::nullopt);
  EXPECT_THAT(quiet.messages, HasSubstr("has no layers to run"));
}

TEST_F(InterpreterTest, AStageThatDoesNotExistIsAnError) {
  std::string text = makeModel(reshape);
  const llvm::StringRef signature = "tensor<2xi32>) -> tensor<f32>";
  text.replace(text.find(signature), signature.size(),
               (signature + " attributes {placement = #mf.placement<stage = "
                            "1000000, chunk = 0>}")
                   .str());
  EXPECT_EQ(run(text), std::nullopt);
  EXPECT_THAT(quiet.messages, HasSubstr("is on stage 1000000, but there are no "
                                        "more than 2 stages"));
}

TEST_F(InterpreterTest, ATiedParameterHasItsOwnersValue) {
  std::string text = makeModel(
      R"(%w = mf.get_param @tied : tensor<2x2xf32>
    %y = mf.matmul %x, %w : (tensor<1x2x2xf32>, tensor<2x2xf32>) -> tensor<1x2x2xf32>
    %logits = mf.reshape %y : (tensor<1x2x2xf32>) -> tensor<2x2xf32>)",
      "mf.param @tied : tensor<2x2xf32> init <normal, value = 1.0> tied to "
      "@table");
  mf::ranks::TrainingOptions options;
  std::set<std::string> names;
  options.changeParameter = [&](llvm::StringRef name, const mf::TensorShape &,
                                llvm::MutableArrayRef<uint8_t>) {
    names.insert(name.str());
    return llvm::Error::success();
  };
  EXPECT_NE(run(text, {0, 1}, {1, 0}, options), std::nullopt) << quiet.messages;
  EXPECT_THAT(names, testing::ElementsAre("table"));
}

TEST_F(InterpreterTest, OverflowLeavesParametersAsTheyAre) {
  mf::tools::LoweredSteps steps(
      "runner_wrapper: {type: MFTrainOneStepCell, scale_sense: 1.0}");
  for (const mf::tools::Snapshot &snapshot : steps.snapshots) {
    if (snapshot.pass != "mf-build-schedule")
      continue;
    ModuleOp lowered = *snapshot.module;
    ir::ModelOp model = *lowered.getOps<ir::ModelOp>().begin();
    mf::ranks::TrainingOptions options;
    options.changeParameter = [](llvm::StringRef name, const mf::TensorShape &,
                                 llvm::MutableArrayRef<uint8_t> bytes) {
      const float infinite = std::numeric_limits<float>::infinity();
      if (name == "lm_head.weight")
        std::memcpy(bytes.data(), &infinite, sizeof(infinite));
      return llvm::Error::success();
    };
    auto interpreter = Interpreter::create(model, options);
    ASSERT_TRUE(succeeded(interpreter));
    mf::ranks::StepInput input;
    const std::vector<int32_t> tokens = {1, 2, 3, 4};
    input.tokens = input.labels = tokens;
    input.learningRates = {1};
    llvm::Expected<mf::ranks::StepOutput> output =
        (*interpreter)->runStep(input, nullptr);
    ASSERT_TRUE(static_cast<bool>(output)) << steps.messages;
    EXPECT_TRUE(output->overflow);
    const mf::ranks::TensorValues parameters = llvm::cantFail(
        llvm::cantFail((*interpreter)->collectParameters()).get());
    EXPECT_EQ(*reinterpret_cast<const float *>(
                  parameters.at("layers.0.norm.weight").bytes.data()),
              1);
    return;
  }
  FAIL() << steps.messages;
}

} // namespace
