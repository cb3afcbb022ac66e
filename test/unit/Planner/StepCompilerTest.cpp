//===- StepCompilerTest.cpp - The planner and mf-opt as one compiler ------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Settings/StepCompiler.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <set>

using namespace mf;
using namespace mf::planner;

namespace {

/// A model on two stages with parameters of another type than what is computed,
/// so that each option has something to do.
constexpr char config[] = R"(
use_parallel: True
trainer: {model_name: small}
runner_config: {batch_size: 1}
runner_wrapper: {type: MFTrainOneStepCell, scale_sense: 1024.0, use_clip_grad: True}
optimizer: {type: AdamW}
lr_schedule: {type: ConstantWarmUpLR, learning_rate: 1.e-3}
parallel: {parallel_mode: 1, full_batch: True}
parallel_config: {pipeline_stage: 2, micro_batch_num: 2}
context: {max_device_memory: 1MB}
model:
  model_config:
    {type: LlamaConfig, seq_length: 16, hidden_size: 32, num_layers: 2, num_heads: 2,
     vocab_size: 64, intermediate_size: 64, compute_dtype: bfloat16,
     param_init_type: float32, use_flash_attention: True}
  arch: {type: LlamaForCausalLM}
)";

class StepCompilerTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("mf-step", folder));
    yaml = getPath("step.yaml"), model = getPath("model.mlir");
    std::error_code error;
    llvm::raw_fd_ostream(yaml, error) << config;
    ASSERT_FALSE(error);
    run(MF_TRANSLATE, {"--import-mindformers", yaml, "-o", model});
  }
  void TearDown() override {
    EXPECT_FALSE(llvm::sys::fs::remove_directories(folder));
  }

  std::string getPath(llvm::StringRef name) const {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }

  static void run(llvm::StringRef program, std::vector<std::string> arguments) {
    std::vector<llvm::StringRef> words = {program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::string error;
    EXPECT_EQ(llvm::sys::ExecuteAndWait(program, words, std::nullopt, {}, 0, 0,
                                        &error),
              0)
        << error;
  }

  /// The program that mf-opt writes.
  std::string compile(const passes::LoweringOptions &lowering) const {
    const std::string output = getPath("step.mlir");
    auto say = [](llvm::StringRef name, bool value) {
      return llvm::formatv("--{0}={1}", name, value ? "true" : "false").str();
    };
    run(MF_OPT, {"--quiet", "--hbm=none", "--recompute-config=" + yaml, model,
                 "-o", output, say("cast-once", lowering.castOnce),
                 say("fold-gradient-scales", lowering.foldGradientScales),
                 say("fuse-accumulation", lowering.fuseAccumulation),
                 say("fuse-elementwise", lowering.fuseElementwise)});
    auto text = llvm::MemoryBuffer::getFile(output);
    return text ? (*text)->getBuffer().str() : text.getError().message();
  }

  /// The program that the planner makes of the YAML alone.
  std::string compileToPlan(const passes::LoweringOptions &lowering) const {
    CompilerInput input;
    input.fileName = yaml;
    input.lowering = lowering;
    input.certify = true;
    mlir::MLIRContext context;
    llvm::Expected<LoweredStep> step =
        lowerStep(input, config, PlanEffort::Full, context);
    if (!step)
      return llvm::toString(step.takeError());
    std::string text;
    llvm::raw_string_ostream os(text);
    step->module->print(os, mlir::OpPrintingFlags().useLocalScope());
    // As mf-opt ends a file.
    os << "\n\n";
    return text;
  }

private:
  llvm::SmallString<128> folder;
  std::string yaml, model;
};

TEST_F(StepCompilerTest, IsMfOptForTheSameOptions) {
  std::set<std::string> programs;
  for (unsigned bits = 0; bits < 16; ++bits) {
    const passes::LoweringOptions lowering{(bits & 1) != 0, (bits & 2) != 0,
                                           (bits & 4) != 0, (bits & 8) != 0};
    const std::string program = compile(lowering);
    EXPECT_TRUE(compileToPlan(lowering) == program) << "options " << bits;
    programs.insert(program);
  }
  // Each option changes the program, whatever the others are.
  EXPECT_EQ(programs.size(), 16U);
}

} // namespace
