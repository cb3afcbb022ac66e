//===- TrainingConfigTest.cpp - Sections as typed values ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ParsedConfigs.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "test/unit/CaseTable.h"

using namespace mf;
using testing::HasSubstr;

namespace {

/// An empty section is a missing one, which is that of the template.
TEST(TrainingConfigTest, APresentWrapperTakesItsClassDefaults) {
  for (const char *empty : {"", "runner_wrapper: {}\noptimizer:\n"}) {
    ParsedConfig missing = parse(empty);
    EXPECT_TRUE(missing.diagnostics.empty());
    EXPECT_EQ(missing.config.wrapper.useClipGrad, true);
    EXPECT_EQ(missing.config.optimizer.learningRate, 5e-5);
    EXPECT_TRUE(missing.config.parallel.vocabEmbDp);
  }
  ParsedConfig parsed = parse("runner_wrapper:\n  scale_sense: 1.0\n");
  EXPECT_EQ(parsed.config.wrapper.useClipGrad, std::nullopt);
  EXPECT_EQ(parsed.config.wrapper.scaleSense.kind,
            LossScaleConfig::Kind::Constant);
  parsed = parse("runner_wrapper:\n"
                 "  scale_sense: {type: DynamicLossScaleUpdateCell,"
                 " loss_scale_value: 4096, scale_window: 10}\n"
                 "  max_grad_norm: 0.5\n  use_clip_grad: yes\n");
  EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics.str();
  EXPECT_EQ(parsed.config.wrapper.scaleSense.value, 4096.0);
  EXPECT_EQ(parsed.config.wrapper.scaleSense.update.window, 10);
  EXPECT_EQ(parsed.config.wrapper.clipping.maxNorm, 0.5);
  EXPECT_EQ(parsed.config.wrapper.useClipGrad, true);
}

TEST(TrainingConfigTest, LossScales) {
  auto read = [](const std::string &scale) {
    return parse("runner_wrapper: {scale_sense: " + scale + "}\n");
  };
  EXPECT_FALSE(read("1024").config.wrapper.scaleSense.followsOverflows());
  const LossScaleConfig fixed =
      read("{type: FixedLossScaleUpdateCell, loss_scale_value: 128}")
          .config.wrapper.scaleSense;
  EXPECT_EQ(fixed.value, 128.0);
  EXPECT_FALSE(fixed.followsOverflows());
  EXPECT_THAT(read("{type: FixedLossScaleUpdateCell, scale_window: 10}")
                  .diagnostics.str(),
              HasSubstr("warning: 'scale_window' has no effect: the scale of "
                        "'FixedLossScaleUpdateCell' stays"));
  const ParsedConfig adaptive = read("{type: AdaptiveLossScaleUpdateCell}");
  EXPECT_TRUE(adaptive.config.wrapper.scaleSense.followsOverflows());
  EXPECT_THAT(adaptive.diagnostics.str(),
              HasSubstr("window of 'AdaptiveLossScaleUpdateCell' is not"));
  for (const char *wrong :
       {"0", "1.0e39", "{type: FixedLossScaleUpdateCell, loss_scale_value: -1}",
        "{type: DynamicLossScaleUpdateCell, scale_factor: 0}"})
    EXPECT_TRUE(read(wrong).diagnostics.hasErrors()) << wrong;
}

TEST(TrainingConfigTest, SwapListsMergeAndKeepTheirOrder) {
  ParsedConfig parsed = parse("swap_config:\n  swap: True\n  layer_swap: []\n"
                              "  op_swap:\n"
                              "    - {op_name: [b, a], backward_prefetch: 2, "
                              "layers: [0, 1]}\n"
                              "    - {op_name: b, backward_prefetch: 2, "
                              "layers: True}\n");
  EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics.str();
  const SwapConfig &swap = parsed.config.swap;
  ASSERT_TRUE(swap.layerSwap && swap.opSwap);
  EXPECT_TRUE(swap.layerSwap->empty());
  ASSERT_EQ(swap.opSwap->size(), 2U);
  EXPECT_EQ((*swap.opSwap)[0].pattern, "b");
  ASSERT_EQ((*swap.opSwap)[0].entries.size(), 1U);
  EXPECT_TRUE((*swap.opSwap)[0].entries[0].covers(77));
  EXPECT_FALSE((*swap.opSwap)[1].entries[0].covers(2));
}

/// A YAML in each line, and what is said of it.
constexpr llvm::StringLiteral said = R"(
# Strict sections reject unknown keys, others warn.
swap_config: {prefetch: 3} => t.yaml:1:15: error: unknown key 'prefetch'
runner_config: {batchsize: 3} => 'batch_size'
moe_config: {experts: 3} => error: unknown key
parallel_config: {zz: 3} => error: unknown key
parallel: {gradient_mean: True} => warning: unknown key 'gradient_mean' in parallel; did you mean 'gradients_mean'?
recompute_confg: {} => did you mean 'recompute_config'?
context: {mode: 1} => t.yaml:1:11: warning: 'mode'
# Wrong values are errors at their place.
recompute_config: {recompute: 2} => t.yaml:1:31: error: expected a bool, a list of ints (layers per stage) or a list of such lists (one per interleave) for 'recompute', but got an int, 2
recompute_config: {recompute: null} => null
recompute_config: {recompute: [1.0]} => a float, 1.0
recompute_config: {recompute: [1, [1, 0]]} => each row
recompute_config: {select_recompute: ['a', 1]} => a string
recompute_config: {mp_comm_recompute: 1} => a bool
recompute_config: [1] => expected a map for
parallel_config: {gradient_aggregation_group: 0} => an int of at least 1
parallel_config: {data_parallel: 99999999999999999999} => an int from 1 to 1048576
parallel: {parallel_mode: 7} => 'parallel_mode'
runner_wrapper: {max_grad_norm: 0} => positive
runner_wrapper: {scale_sense: {type: X}} => DynamicLossScaleUpdateCell
optimizer: {betas: [0.9]} => two numbers
lr_schedule: {warmup_ratio: 2.0} => from 0 to 1
context: {max_device_memory: 58} => '58GB'
context: memory_optimize_level=O0 => note: write 'memory_optimize_level: O0'
parallel: {pipeline_config: {pipeline_scheduler: 1f1}} => unknown pipeline_scheduler '1f1'; did you mean '1f1b'?
parallel_config: {context_parallel_algo: hybird_cp} => t.yaml:1:42: error: unknown context_parallel_algo 'hybird_cp'; did you mean 'hybrid_cp'?
- 1 => expected a map of sections
# Swap, which is checked where it is off, too.
{swap_config: {swap: True}, context: {memory_optimize_level: O1}} => t.yaml:1:62: warning: swap needs memory_optimize_level 'O0'
swap_config: {layer_swap: [{layers: [0]}]} => missing 'backward_prefetch'
swap_config: {swap: True, layer_swap: [{backward_prefetch: 5, layers: True}, {backward_prefetch: 4, layers: [0]}]} => different values of 'backward_prefetch'
swap_config: {swap: True, layer_swap: [{layers: [0]}]} => missing 'backward_prefetch'
swap_config: {swap: True, layer_swap: [{backward_prefetch: 1}]} => missing 'layers'
swap_config: {swap: True, layer_swap: [{backward_prefetch: 1, layers: [True]}]} => a layer index
swap_config: {swap: True, layer_swap: [{backward_prefetch: -2, layers: [0]}]} => at least 1
swap_config: {swap: True, layer_swap: 3} => a list of maps
swap_config: {swap: True, op_swap: [{op_name: 3, backward_prefetch: 1, layers: [0]}]} => 'op_name'
swap_config: {swap: True, op_swap: [{op_name: a, backward_prefetch: 1, layers: 0}]} => a bool or a list of layer indices
swap_config: {swap: True, default_prefetch: '10'} => 'default_prefetch'
# Nothing is said of these. Release 1.5 has two more keys of its callback than later ones.
context: {mode: 0, save_graphs: True} =>
callbacks: [{type: TopkBiasBalanceCallback, balance_via_topk_bias: True, topk_bias_update_rate: 0.1, expert_num: 8, num_layers: 4, mtp_depth: 1}] =>
swap_config: {layer_swap: [{backward_prefetch: -1, layers: [[0], [1]]}]} =>
)";

TEST(TrainingConfigTest, SaysWhatIsWrong) {
  for (const auto &[yaml, message] : readTable(said)) {
    expectMessage(yaml, message);
    EXPECT_EQ(parse(yaml).diagnostics.empty(), message.empty()) << yaml.str();
  }
}

TEST(TrainingConfigTest, ManyNamesInOpSwapAreReadInLinearTime) {
  std::string names;
  for (int i = 0; i < 60000; ++i)
    names += (i ? ", n" : "n") + std::to_string(i);
  ParsedConfig parsed = parse("swap_config:\n  op_swap: [{op_name: [" + names +
                              "], backward_prefetch: 1, layers: True}]\n");
  EXPECT_TRUE(parsed.diagnostics.empty());
  EXPECT_EQ(parsed.config.swap.opSwap->size(), 60000U);
}

} // namespace
