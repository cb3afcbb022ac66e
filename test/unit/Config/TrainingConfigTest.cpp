//===- TrainingConfigTest.cpp - Sections as typed values ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ParsedConfigs.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mf;
using testing::HasSubstr;

namespace {

TEST(TrainingConfigTest, AnEmptyFileIsTheTemplate) {
  ParsedConfig parsed = parse("");
  const TrainingConfig &config = parsed.config;
  EXPECT_TRUE(parsed.diagnostics.empty());
  EXPECT_FALSE(config.recompute.recompute.isTruthy());
  EXPECT_TRUE(config.recompute.mpCommRecompute);
  EXPECT_FALSE(config.swap.swap);
  EXPECT_EQ(config.parallel.gradientAggregationGroup, 4);
  EXPECT_TRUE(config.parallel.vocabEmbDp);
  EXPECT_EQ(config.parallel.parallelMode, ParallelMode::SemiAuto);
  EXPECT_EQ(config.wrapper.useClipGrad, true);
  EXPECT_EQ(config.wrapper.scaleSense.kind, LossScaleConfig::Kind::Dynamic);
  EXPECT_EQ(config.wrapper.scaleSense.value, 65536.0);
  EXPECT_EQ(config.optimizer.eps, 1e-8);
  EXPECT_EQ(config.optimizer.learningRate, 5e-5);
  EXPECT_EQ(findLrScheduleKind(config.lrSchedule.type), LrScheduleKind::Cosine);
  EXPECT_EQ(config.lrSchedule.warmupRatio, 0.0);
  EXPECT_EQ(config.context.maxDeviceMemory, int64_t(58) << 30);
}

TEST(TrainingConfigTest, APresentWrapperTakesItsClassDefaults) {
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

TEST(TrainingConfigTest, ThePipelineSections) {
  ParsedConfig parsed = parse("parallel_config: {pipeline_stage: 2}\n"
                              "parallel:\n"
                              "  parallel_mode: 'SEMI_AUTO_PARALLEL'\n"
                              "  pipeline_config: {pipeline_interleave: True, "
                              "pipeline_scheduler: 'seqpipe'}\n"
                              "micro_batch_interleave_num: 2\n");
  EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics.str();
  EXPECT_TRUE(parsed.config.parallel.pipelineInterleave);
  EXPECT_EQ(parsed.config.parallel.pipelineScheduler, "seqpipe");
  EXPECT_FALSE(parsed.config.parallel.vocabEmbDp);
  EXPECT_EQ(parsed.config.parallel.microBatchInterleaveNum, 2);
}

TEST(TrainingConfigTest, RecomputeSettingsInEveryForm) {
  ParsedConfig parsed = parse("recompute_config:\n"
                              "  recompute: [[2, True], False]\n"
                              "  select_recompute:\n"
                              "    'a\\.b': True\n    c: [1, 2]\n"
                              "  select_comm_recompute: ['x\\.y', 'z']\n"
                              "  select_recompute_exclude: [True, 1]\n"
                              "  select_comm_recompute_exclude: []\n");
  EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics.str();
  const RecomputeConfig &config = parsed.config.recompute;
  EXPECT_EQ(config.recompute.selection.repr(), "[[2, True], False]");
  ASSERT_EQ(config.selectRecompute.patterns.size(), 2U);
  EXPECT_EQ(config.selectRecompute.patterns[0].text, "a\\.b");
  EXPECT_EQ(config.selectRecompute.patterns[1].layers.repr(), "[1, 2]");
  EXPECT_EQ(config.selectRecompute.patterns[1].location.str(), "t.yaml:5:5");
  EXPECT_EQ(config.selectCommRecompute.kind, LayerSetting::Kind::Patterns);
  EXPECT_EQ(config.selectRecomputeExclude.selection.repr(), "[True, 1]");
  EXPECT_FALSE(config.selectCommRecomputeExclude.isTruthy());
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

TEST(TrainingConfigTest, StrictSectionsRejectUnknownKeys) {
  expectMessage("recompute_config: {recomputee: True}",
                "t.yaml:1:20: error: unknown key 'recomputee' in "
                "recompute_config; did you mean 'recompute'?");
  expectMessage("swap_config: {prefetch: 3}", "error: unknown key 'prefetch'");
  expectMessage("runner_config: {batchsize: 3}", "'batch_size'");
  expectMessage("moe_config: {experts: 3}", "error: unknown key");
  expectMessage("parallel_config: {zz: 3}", "error: unknown key");
}

TEST(TrainingConfigTest, OpenSectionsWarnAboutUnknownKeys) {
  expectMessage("parallel: {gradient_mean: True}",
                "warning: unknown key 'gradient_mean' in parallel; did you "
                "mean 'gradients_mean'?");
  expectMessage("recompute_confg: {}", "did you mean 'recompute_config'?");
  expectMessage("context: {mode: 1}", "t.yaml:1:11: warning: 'mode'");
  EXPECT_TRUE(
      parse("context: {mode: 0, save_graphs: True}").diagnostics.empty());
  // Release 1.5 has two more keys than later ones.
  EXPECT_TRUE(parse("callbacks: [{type: TopkBiasBalanceCallback, "
                    "balance_via_topk_bias: True, topk_bias_update_rate: 0.1, "
                    "expert_num: 8, num_layers: 4, mtp_depth: 1}]")
                  .diagnostics.empty());
}

TEST(TrainingConfigTest, WrongValuesAreErrorsAtTheirPlace) {
  expectMessage("recompute_config: {recompute: 2}",
                "t.yaml:1:31: error: expected a bool, a list of ints (layers "
                "per stage) or a list of such lists (one per interleave) for "
                "'recompute', but got an int, 2");
  expectMessage("recompute_config: {recompute: {a: True}}", "a map");
  expectMessage("recompute_config: {recompute: null}", "null");
  expectMessage("recompute_config: {recompute: [1.0]}", "a float, 1.0");
  expectMessage("recompute_config: {recompute: [1, [1, 0]]}", "each row");
  expectMessage("recompute_config: {select_recompute: ['a', 1]}", "a string");
  expectMessage("recompute_config: {mp_comm_recompute: 1}", "a bool");
  expectMessage("recompute_config: [1]", "expected a map for");
  expectMessage("parallel_config: {gradient_aggregation_group: 0}",
                "an int of at least 1");
  expectMessage("parallel_config: {data_parallel: 99999999999999999999}",
                "an int from 1 to 1048576");
  expectMessage("parallel: {parallel_mode: 7}", "'parallel_mode'");
  expectMessage("runner_wrapper: {max_grad_norm: 0}", "positive");
  expectMessage("runner_wrapper: {scale_sense: {type: X}}",
                "DynamicLossScaleUpdateCell");
  expectMessage("optimizer: {betas: [0.9]}", "two numbers");
  expectMessage("lr_schedule: {warmup_ratio: 2.0}", "from 0 to 1");
  expectMessage("context: {max_device_memory: 58}", "'58GB'");
  expectMessage("context:\n  memory_optimize_level=O0\n",
                "note: write 'memory_optimize_level: O0'");
  expectMessage("parallel: {pipeline_config: {pipeline_scheduler: 1f1}}",
                "unknown pipeline_scheduler '1f1'; did you mean '1f1b'?");
  expectMessage("parallel_config: {context_parallel_algo: hybird_cp}",
                "t.yaml:1:42: error: unknown context_parallel_algo "
                "'hybird_cp'; did you mean 'hybrid_cp'?");
  expectMessage("- 1\n", "expected a map of sections");
}

TEST(TrainingConfigTest, AnEmptySectionIsAMissingOne) {
  ParsedConfig parsed = parse("runner_wrapper: {}\noptimizer:\n");
  EXPECT_TRUE(parsed.diagnostics.empty());
  EXPECT_EQ(parsed.config.wrapper.useClipGrad, true);
  EXPECT_EQ(parsed.config.optimizer.learningRate, 5e-5);
}

TEST(TrainingConfigTest, SwapWantsTheMemoryLevelThatTheDocumentsName) {
  expectMessage("swap_config: {swap: True}\n"
                "context: {memory_optimize_level: O1}\n",
                "t.yaml:2:34: warning: swap needs memory_optimize_level 'O0'");
}

TEST(TrainingConfigTest, SwapListsAreCheckedWithSwapOffToo) {
  expectMessage("swap_config: {layer_swap: [{layers: [0]}]}",
                "missing 'backward_prefetch'");
  EXPECT_TRUE(parse("swap_config: {layer_swap: [{backward_prefetch: -1, "
                    "layers: [[0], [1]]}]}")
                  .diagnostics.empty());
}

TEST(TrainingConfigTest, WrongSwapListsAreErrors) {
  auto expectSwap = [](llvm::StringRef body, llvm::StringRef expected) {
    expectMessage(("swap_config:\n  swap: True\n" + body).str(), expected);
  };
  expectSwap("  layer_swap: [{backward_prefetch: 5, layers: True}, "
             "{backward_prefetch: 4, layers: [0]}]\n",
             "different values of 'backward_prefetch'");
  expectSwap("  layer_swap: [{layers: [0]}]\n", "missing 'backward_prefetch'");
  expectSwap("  layer_swap: [{backward_prefetch: 1}]\n", "missing 'layers'");
  expectSwap("  layer_swap: [{backward_prefetch: 1, layers: [True]}]\n",
             "a layer index");
  expectSwap("  layer_swap: [{backward_prefetch: -2, layers: [0]}]\n",
             "at least 1");
  expectSwap("  layer_swap: 3\n", "a list of maps");
  expectSwap("  op_swap: [{op_name: 3, backward_prefetch: 1, layers: [0]}]\n",
             "'op_name'");
  expectSwap("  op_swap: [{op_name: a, backward_prefetch: 1, layers: 0}]\n",
             "a bool or a list of layer indices");
  expectSwap("  default_prefetch: '10'\n", "'default_prefetch'");
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

TEST(TrainingConfigTest, EveryRealYamlReadsWithoutErrors) {
  int files = 0;
  for (const char *folder : {"yamls", "throughput_yamls"}) {
    std::error_code code;
    std::string path = std::string(MF_TEST_DATA) + "/mindformers/" + folder;
    for (llvm::sys::fs::directory_iterator at(path, code), end;
         at != end && !code; at.increment(code)) {
      DiagnosticList diagnostics;
      TrainingConfig config = parseTrainingConfigFile(at->path(), diagnostics);
      EXPECT_FALSE(diagnostics.hasErrors()) << at->path() << "\n"
                                            << diagnostics.str();
      EXPECT_TRUE(config.model.config.isMap()) << at->path();
      EXPECT_FALSE(config.model.arch.empty() &&
                   config.model.config["architectures"].isUndefinedOrNull())
          << at->path();
      ++files;
    }
  }
  EXPECT_EQ(files, 38);
}

TEST(TrainingConfigTest, Telechat115b) {
  DiagnosticList diagnostics;
  TrainingConfig config = parseTrainingConfigFile(
      MF_TEST_DATA "/mindformers/yamls/finetune_telechat_115b.yaml",
      diagnostics);
  EXPECT_EQ(diagnostics.str(), "");
  EXPECT_EQ(config.parallel.getDeviceCount(), 512);
  EXPECT_TRUE(config.parallel.pipelineInterleave);
  EXPECT_EQ(config.context.maxDeviceMemory, int64_t(54.5 * (int64_t(1) << 30)));
  EXPECT_EQ(config.recompute.selectCommRecompute.selection.repr(),
            "[8, 8, 10, 11, 10, 7, 5, 4]");
  EXPECT_EQ(config.model.arch, "TelechatForCausalLM");
}

} // namespace
