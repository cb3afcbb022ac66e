//===- ExpertSpecTest.cpp - Experts as YAMLs describe them ----------------===//

#include "ReadModel.h"
#include "gmock/gmock.h"

using namespace mf;
using testing::HasSubstr;

//===----------------------------------------------------------------------===//
// Published files
//===----------------------------------------------------------------------===//

TEST(ExpertSpecTest, ParameterCountsOfPublishedModels) {
  struct Case {
    const char *path;
    int64_t count;
  };
  for (const Case &model :
       {Case{"yamls/finetune_mixtral-8x7b.yaml", 46702792704},
        Case{"yamls/pretrain_mixtral-8x7b.yaml", 46702792704},
        Case{"yamls/pretrain_qwen2_57b.yaml", 57408658944},
        Case{"yamls/pretrain_qwen3_30b_a3b_4k.yaml", 30532122624},
        Case{"throughput_yamls/finetune_telechat_39b_a12b@1a7776ab.yaml",
             39330099200}})
    EXPECT_EQ(getParameterCount(readModel(model.path)), model.count)
        << model.path;
  // DeepSeek-V3, and its layer that predicts a later token.
  EXPECT_EQ(getParameterCount(readModel("yamls/pretrain_deepseek3_671b.yaml")),
            671026404352 + 11610067968);
  EXPECT_EQ(getParameterCount(readModelConfig(
                "vocab_size: 151936\nhidden_size: 4096\nnum_layers: 94\n"
                "num_heads: 64\nn_kv_heads: 4\nhead_dim: 128\n"
                "num_experts: 128\nnum_experts_per_tok: 8\n"
                "moe_intermediate_size: 1536\nrouted_scaling_factor: 1.0\n",
                "Qwen3MoeForCausalLM")),
            235093634560);
}

TEST(ExpertSpecTest, MixtralHasPlaces) {
  ExpertSpec experts = *readModel("yamls/pretrain_mixtral-8x7b.yaml").experts;
  EXPECT_EQ(experts.numExperts, 8);
  EXPECT_EQ(experts.width, 14336);
  EXPECT_EQ(experts.router.numChosen, 2);
  EXPECT_EQ(experts.router.score, RouterScore::Softmax);
  EXPECT_TRUE(experts.router.normalizes);
  EXPECT_EQ(experts.router.scale, 1.0);
  EXPECT_EQ(experts.router.initializerRange, 0.01);
  EXPECT_FALSE(experts.router.bias.has_value());
  EXPECT_TRUE(experts.router.losses.empty());
  EXPECT_FALSE(experts.fusions.router);
  EXPECT_FALSE(experts.dropless.has_value());
  ASSERT_TRUE(experts.capacity.has_value());
  EXPECT_TRUE(experts.capacity->byToken);
  EXPECT_TRUE(experts.capacity->cutsExperts);
  EXPECT_EQ(experts.numRows, 8);
  EXPECT_EQ(experts.rowLength, 1024);
  EXPECT_EQ(experts.capacity->places, 282);
  EXPECT_EQ(experts.numParts, 2);
  EXPECT_TRUE(experts.hasLayer(0));
}

TEST(ExpertSpecTest, Qwen2HasGatedSharedExperts) {
  ExpertSpec experts = *readModel("yamls/pretrain_qwen2_57b.yaml").experts;
  EXPECT_EQ(experts.sharedWidth, 20480);
  EXPECT_TRUE(experts.gatesShared);
  EXPECT_TRUE(experts.fusions.router);
  EXPECT_FALSE(experts.router.normalizes);
  EXPECT_EQ(experts.rowLength, 8192);
  EXPECT_EQ(experts.capacity->places, 1127);
}

TEST(ExpertSpecTest, Qwen3TakesAllTokens) {
  ExpertSpec experts =
      *readModel("yamls/pretrain_qwen3_30b_a3b_4k.yaml").experts;
  ASSERT_TRUE(experts.dropless.has_value());
  EXPECT_FALSE(experts.capacity.has_value());
  EXPECT_EQ(experts.numExperts, 128);
  EXPECT_EQ(experts.width, 768);
  EXPECT_EQ(experts.router.numChosen, 8);
  EXPECT_FALSE(experts.router.normalizes);
  EXPECT_EQ(experts.router.scale, 1.5);
  EXPECT_EQ(experts.router.epsilon, 1e-20);
  EXPECT_EQ(experts.numRows, 4);
  EXPECT_EQ(experts.rowLength, 1024);
  EXPECT_EQ(experts.numParts, 4);
  ASSERT_EQ(experts.router.losses.size(), 1u);
  EXPECT_EQ(experts.router.losses[0].factor, 0.001);
  EXPECT_EQ(experts.router.losses[0].numGroups, 128);
  EXPECT_EQ(experts.router.losses[0].numSharedRows, 4);
}

TEST(ExpertSpecTest, TelechatAddsItsLoss) {
  ExpertSpec experts =
      *readModel("throughput_yamls/finetune_telechat_39b_a12b@1a7776ab.yaml")
           .experts;
  EXPECT_FALSE(experts.capacity->byToken);
  EXPECT_TRUE(experts.capacity->hasBias);
  EXPECT_EQ(experts.numRows, 512);
  EXPECT_EQ(experts.rowLength, 2048);
  EXPECT_EQ(experts.capacity->places, 615);
  EXPECT_TRUE(experts.capacity->sharesWhole);
  EXPECT_FALSE(experts.capacity->cutsExperts);
  EXPECT_EQ(experts.numParts, 2);
  ASSERT_EQ(experts.router.losses.size(), 1u);
  EXPECT_EQ(experts.router.losses[0].factor, 0.01);
  EXPECT_EQ(experts.router.losses[0].numGroups, 16);
}

//===----------------------------------------------------------------------===//
// Small files
//===----------------------------------------------------------------------===//

/// moe_config in one line, which is line 7.
static std::string getSections(llvm::StringRef keys) {
  return ("moe_config: {expert_num: 8, num_experts_chosen: 2, " + keys + "}\n")
      .str();
}

static ExpertSpec read(llvm::StringRef keys, llvm::StringRef sections = "",
                       const char *arch = "TelechatForCausalLM",
                       const ModelOverrides &overrides = {}) {
  DiagnosticList diagnostics;
  std::optional<ModelSpec> spec = readModelConfig(
      "seq_length: 1024\nuse_flash_attention: True", diagnostics, arch,
      overrides,
      getSections(("routing_policy: TopkRouterV2, " + keys).str()) +
          sections.str());
  EXPECT_TRUE(spec && spec->experts) << diagnostics.str();
  return spec ? spec->experts.value_or(ExpertSpec()) : ExpertSpec();
}

static std::string getMessages(llvm::StringRef keys,
                               llvm::StringRef sections = "",
                               const char *arch = "TelechatForCausalLM") {
  DiagnosticList diagnostics;
  readModelConfig("seq_length: 1024\nuse_flash_attention: True", diagnostics,
                  arch, {}, getSections(keys) + sections.str());
  return diagnostics.str();
}

TEST(ExpertSpecTest, TelechatSharesWholeExpertsUnlessToldOtherwise) {
  constexpr llvm::StringLiteral ranks =
      "parallel_config: {model_parallel: 4, use_seq_parallel: True}\n";
  EXPECT_TRUE(read("capacity_factor: 1.0", ranks).capacity->sharesWhole);
  CapacitySpec cut = *read("ep_extend_tp: False", ranks).capacity;
  EXPECT_FALSE(cut.sharesWhole);
  EXPECT_TRUE(cut.cutsExperts);
  EXPECT_FALSE(read("ep_extend_tp: True", ranks, "LlamaForCausalLM")
                   .capacity->sharesWhole);
  EXPECT_FALSE(
      read("ep_extend_tp: True", "parallel_config: {model_parallel: 4}\n")
          .capacity->sharesWhole);
}

TEST(ExpertSpecTest, PiecesOfASequenceHaveRowsAndPlacesOfTheirOwn) {
  ExpertSpec experts =
      read("capacity_factor: 1.0, callback_moe_droprate: True, "
           "aux_loss_types: [expert], aux_loss_factors: [0.1]",
           "parallel_config: {data_parallel: 2, expert_parallel: 2, "
           "pipeline_stage: 2, micro_batch_num: 2, seq_split_num: 4}\n",
           "LlamaForCausalLM");
  EXPECT_EQ(experts.numPieces, 4);
  EXPECT_EQ(experts.numRows, 8);
  EXPECT_EQ(experts.rowLength, 256);
  EXPECT_EQ(experts.capacity->places, 64);
  EXPECT_EQ(experts.numParts, 2);
  EXPECT_FALSE(experts.router.recordsLoad);
}

TEST(ExpertSpecTest, PlacesAreRoundedUp) {
  auto getPlaces = [](llvm::StringRef keys) {
    return read(keys).capacity->places;
  };
  EXPECT_EQ(getPlaces(""), 282); // 2 * 1024 * 1.1 / 8 = 281.6
  EXPECT_EQ(getPlaces("capacity_factor: 1.0"), 256);
  EXPECT_EQ(getPlaces("capacity_factor: 1"), 256);
  EXPECT_EQ(getPlaces("capacity_factor: 9.0"), 1024);
  EXPECT_EQ(getPlaces("capacity_factor: 0"), 1024);
  EXPECT_EQ(getPlaces("comp_comm_parallel: True"), 282);
  EXPECT_EQ(getPlaces("comp_comm_parallel: True, "
                      "comp_comm_parallel_degree: 4"),
            284);
}

TEST(ExpertSpecTest, RanksAreRows) {
  ExpertSpec experts =
      read("",
           "parallel_config: {data_parallel: 2, context_parallel: 2, "
           "model_parallel: 4, use_seq_parallel: True, "
           "expert_parallel: 4}\n",
           "LlamaForCausalLM");
  EXPECT_EQ(experts.numRows, 16);
  EXPECT_EQ(experts.rowLength, 128);
  EXPECT_EQ(experts.numParts, 4);
}

TEST(ExpertSpecTest, RowsOfOtherRanksAreEmulated) {
  ModelOverrides overrides;
  overrides.routerRows = 8;
  overrides.expertRoom = 3.5;
  ExpertSpec experts = read("use_gmm: True", "", "LlamaForCausalLM", overrides);
  EXPECT_EQ(experts.numRows, 8);
  EXPECT_EQ(experts.rowLength, 128);
  EXPECT_EQ(experts.dropless->room, 3.5);
}

TEST(ExpertSpecTest, GatesFollowTheRelease) {
  auto readRouter = [](llvm::StringRef keys,
                       std::optional<Release> release = std::nullopt) {
    ModelOverrides overrides;
    overrides.release = release;
    return read(("routed_scaling_factor: 2.5, " + keys).str(), "",
                "LlamaForCausalLM", overrides)
        .router;
  };
  for (std::optional<Release> release :
       {std::optional<Release>(), std::optional(Release{1, 5})}) {
    RouterSpec newest = readRouter("", release);
    EXPECT_TRUE(newest.normalizes);
    EXPECT_FALSE(newest.normalizesKept);
    EXPECT_EQ(newest.scale, 2.5);
  }
  const Release old = {1, 4};
  EXPECT_TRUE(readRouter("", old).normalizesKept);
  EXPECT_EQ(readRouter("", old).scale, 1.0);
  RouterSpec fused = readRouter("use_fused_ops_topkrouter: True", old);
  EXPECT_TRUE(fused.normalizes);
  EXPECT_FALSE(fused.normalizesKept);
  EXPECT_EQ(fused.scale, 1.0);
  RouterSpec scaled = readRouter("norm_topk_prob: False", old);
  EXPECT_FALSE(scaled.normalizes);
  EXPECT_EQ(scaled.scale, 2.5);
  EXPECT_EQ(readRouter("num_experts_chosen: 1", old).scale, 2.5);
  // Experts without places came later.
  EXPECT_EQ(readRouter("use_gmm: True", old).scale, 2.5);
}

TEST(ExpertSpecTest, ReleasesAreRead) {
  EXPECT_EQ(parseRelease("1.4"), (Release{1, 4}));
  EXPECT_EQ(parseRelease("r1.4.0-beta2"), (Release{1, 4}));
  EXPECT_EQ(parseRelease("1.10.1"), (Release{1, 10}));
  EXPECT_LT((Release{1, 4}), (Release{1, 10}));
  for (const char *text : {"", "1", "dev", "1.x", "1.4b"})
    EXPECT_EQ(parseRelease(text), std::nullopt) << text;
}

TEST(ExpertSpecTest, GroupsOfExperts) {
  ExpertSpec experts = read("topk_method: noaux_tc, n_group: 4, topk_group: 2");
  ASSERT_TRUE(experts.router.groups.has_value());
  EXPECT_EQ(experts.router.groups->num, 4);
  EXPECT_EQ(experts.router.groups->numKept, 2);
  EXPECT_EQ(experts.router.groups->numSummed, 2);
  EXPECT_TRUE(experts.router.groups->keepsTies);
  EXPECT_EQ(read("topk_method: group_limited_greedy, n_group: 2, "
                 "topk_group: 1")
                .router.groups->numSummed,
            1);
}

TEST(ExpertSpecTest, CallbackMovesTheBiasBesideSharedExperts) {
  ExpertSpec experts = read("balance_via_topk_bias: True, shared_expert_num: 1",
                            "callbacks:\n"
                            "- {type: TopkBiasBalanceCallback, "
                            "balance_via_topk_bias: True, "
                            "topk_bias_update_rate: 0.01, expert_num: 8, "
                            "micro_batch_num: 4, "
                            "gradient_accumulation_steps: 3}\n",
                            "LlamaForCausalLM");
  ASSERT_TRUE(experts.router.bias.has_value());
  EXPECT_TRUE(experts.router.bias->isUpdated);
  EXPECT_TRUE(experts.router.lossesIgnoreBias);
}

TEST(ExpertSpecTest, McoreReadsTheRouterFromTheModel) {
  DiagnosticList diagnostics;
  std::optional<ModelSpec> spec = readModelConfig(
      "num_experts: 8\nrouted_scaling_factor: 2.5\nscoring_func: sigmoid\n"
      "moe_router_enable_expert_bias: True\nfirst_k_dense_replace: 2\n"
      "n_group: 4\ntopk_group: 2\nnum_experts_per_tok: 4\n"
      "moe_shared_expert_intermediate_size: 96\naux_loss_types: [expert]\n"
      "aux_loss_factors: [0.5]\nuse_pad_tokens: True\n",
      diagnostics, "Qwen3MoeForCausalLM", {},
      "callbacks:\n- {type: TopkBiasBalanceCallback, "
      "balance_via_topk_bias: True, expert_num: 8}\n");
  ASSERT_TRUE(spec && spec->experts) << diagnostics.str();
  EXPECT_EQ(diagnostics.str(), "");
  const ExpertSpec &experts = *spec->experts;
  EXPECT_TRUE(experts.router.bias->isUpdated);
  EXPECT_FALSE(experts.router.lossesIgnoreBias);
  EXPECT_EQ(experts.router.groups->numSummed, 2);
  EXPECT_FALSE(experts.router.groups->keepsTies);
  EXPECT_EQ(experts.sharedWidth, 96);
  EXPECT_TRUE(experts.dropless->safeTokens);
  EXPECT_FALSE(experts.hasLayer(1));
  EXPECT_TRUE(experts.hasLayer(2));
  EXPECT_EQ(experts.router.losses.size(), 1u);
}

TEST(ExpertSpecTest, LayersWithExperts) {
  auto readLayers = [](const char *frequency) {
    std::string lines = "num_experts: 8\nrouted_scaling_factor: 1\n"
                        "num_layers: 4\nmoe_layer_freq: ";
    ModelSpec spec = readModelConfig(lines + frequency, "Qwen3MoeForCausalLM");
    std::string layers;
    for (int64_t i = 0; i < 4; ++i)
      layers += spec.hasExperts(i) ? 'e' : 'd';
    return layers;
  };
  EXPECT_EQ(readLayers("1"), "eeee");
  EXPECT_EQ(readLayers("2"), "eded");
  EXPECT_EQ(readLayers("[0, 1, 1, 0]"), "deed");
}

TEST(ExpertSpecTest, DenseModelsHaveNone) {
  DiagnosticList diagnostics;
  std::optional<ModelSpec> spec =
      readModelConfig("", diagnostics, "LlamaForCausalLM", {},
                      "moe_config: {expert_num: 1, capacity_factor: 1.05, "
                      "aux_loss_factor: 0.05, use_gmm: True}\n");
  ASSERT_TRUE(spec.has_value());
  EXPECT_FALSE(spec->experts.has_value());
  EXPECT_EQ(diagnostics.str(), "");
}

//===----------------------------------------------------------------------===//
// Errors and warnings
//===----------------------------------------------------------------------===//

namespace {
struct MessageCase {
  const char *keys;
  const char *message;
  const char *sections = "";
  const char *arch = "TelechatForCausalLM";
};
} // namespace

TEST(ExpertSpecTest, ErrorsNameKeyAndLine) {
  static const MessageCase cases[] = {
      {"capacity_factor: 1.0",
       "train.yaml:7:13: error: expected TopkRouterV2 for 'routing_policy' of "
       "experts with a capacity, but got 'TopkRouterV1'"},
      {"routing_policy: TopkRouterV2, expert_model_parallel: 2",
       "expected 1 or model_parallel 4 for 'expert_model_parallel', but got 2",
       "parallel_config: {model_parallel: 4, use_seq_parallel: True}\n"},
      {"routing_policy: TopkRouterV2",
       "expected 'expert_parallel' 4 times model_parallel 4 to divide the 8 "
       "experts, which ranks of both share out whole; moe_config.ep_extend_tp "
       "False cuts each expert over model_parallel instead",
       "parallel_config: {data_parallel: 4, expert_parallel: 4, "
       "model_parallel: 4, use_seq_parallel: True}\n"},
      {"routing_policy: TopkRouterV2, aux_loss_types: [token], "
       "aux_loss_factors: [0.1]",
       "train.yaml:7:99: error: expected expert, device or comm in "
       "'aux_loss_types', but got 'token'"},
      {"routing_policy: TopkRouterV2, aux_loss_factor: 1.5",
       "expected a number between 0 and 1 for 'aux_loss_factor', but got 1.5"},
      {"routing_policy: TopkRouterV2, topk_method: noaux_tc, n_group: 3, "
       "topk_group: 1",
       "expected 'n_group' to divide expert_num 8 into groups of at least 2, "
       "but got 3"},
      {"routing_policy: TopkRouterV2, topk_method: noaux_tc",
       "expected 'n_group' in moe_config, which has no default"},
      {"use_gmm: True",
       "train.yaml:8:35: error: expected use_seq_parallel True for experts "
       "with use_gmm and model_parallel above 1",
       "parallel_config: {model_parallel: 4}\n", "LlamaForCausalLM"},
      // Ranks of mp have no rows of their own then.
      {"routing_policy: TopkRouterV2, expert_model_parallel: 1",
       "expected 'expert_parallel' to divide the 2 ranks",
       "parallel_config: {data_parallel: 2, model_parallel: 4, "
       "expert_parallel: 4}\n"},
      {"routing_policy: TopkRouterV2",
       "expected 'expert_parallel' to divide the 2 ranks of data and context "
       "parallel that share experts out, but got 4",
       "parallel_config: {data_parallel: 2, model_parallel: 4, "
       "use_seq_parallel: True, expert_parallel: 4}\n"},
      {"routing_policy: TopkRouterV2",
       "expected a divisor of the 8 experts for 'expert_parallel', but got 3",
       "parallel_config: {data_parallel: 3, expert_parallel: 3}\n"},
      {"use_gmm: True",
       "expected context_parallel 1 with use_gmm: its rows are of data and "
       "model parallel ranks alone",
       "parallel_config: {context_parallel: 2}\n", "LlamaForCausalLM"},
      {"use_gmm: True", "expected seq_split_num 1 for experts with use_gmm",
       "parallel_config: {pipeline_stage: 2, micro_batch_num: 2, "
       "seq_split_num: 2}\n",
       "LlamaForCausalLM"},
      {"routing_policy: TopkRouterV2, aux_loss_types: [expert], "
       "aux_loss_factors: [0.1]",
       "expected seq_split_num 1 for experts whose router adds to the loss",
       "parallel_config: {pipeline_stage: 2, micro_batch_num: 2, "
       "seq_split_num: 2}\n"},
      {"routing_policy: TopkRouterV2",
       "expected a batch_size of 1 for experts in pieces of a sequence",
       "runner_config: {batch_size: 2}\n"
       "parallel_config: {pipeline_stage: 2, micro_batch_num: 2, "
       "seq_split_num: 2}\n"},
      {"shared_expert_num: -1, routing_policy: TopkRouterV2",
       "expected a number of at least 0 for 'shared_expert_num'", "",
       "LlamaForCausalLM"},
      {"max_router_load: 100, routing_policy: TopkRouterV2",
       "expected at least the 2048 choices of a row for 'max_router_load', but "
       "got 100"},
      {"routing_policy: TopkRouterV2",
       "expected 1 for 'expert_num': layers of the chatglm family have no "
       "experts, but got 8",
       "", "ChatGLM2ForConditionalGeneration"},
  };
  for (const MessageCase &test : cases)
    EXPECT_THAT(getMessages(test.keys, test.sections, test.arch),
                HasSubstr(test.message))
        << test.keys;
  EXPECT_THAT(
      [] {
        DiagnosticList diagnostics;
        readModelConfig("", diagnostics, "LlamaForCausalLM", {},
                        "moe_config: {expert_num: 2, num_experts_chosen: 3, "
                        "use_gmm: True}\n");
        return diagnostics.str();
      }(),
      HasSubstr("train.yaml:5:49: error: expected at most the 2 of expert_num "
                "for 'num_experts_chosen', but got 3"));
}

TEST(ExpertSpecTest, KeysWithoutEffectAreWarnings) {
  static const MessageCase cases[] = {
      {"routing_policy: TopkRouterV2, use_gmm: True",
       "'use_gmm' in moe_config has no effect on TeleChat's layers"},
      {"routing_policy: TopkRouterV2, shared_expert_num: 1",
       "'shared_expert_num' in moe_config has no effect on TeleChat's layers"},
      {"routing_policy: TopkRouterV2, enable_gmm_safe_tokens: True",
       "'enable_gmm_safe_tokens' in moe_config has no effect without use_gmm"},
      {"routing_policy: TopkRouterV2, ep_extend_tp: False",
       "'ep_extend_tp' in moe_config has no effect without model_parallel "
       "above 1 and use_seq_parallel"},
      {"routing_policy: TopkRouterV2, ep_extend_tp: False",
       "'ep_extend_tp' in moe_config has no effect on any layer but TeleChat's",
       "", "LlamaForCausalLM"},
      {"routing_policy: TopkRouterV2, n_group: 4",
       "'n_group' in moe_config has no effect with topk_method greedy"},
      {"routing_policy: TopkRouterV2, first_k_dense_replace: 3",
       "'first_k_dense_replace' in moe_config has no effect here"},
      {"routing_policy: TopkRouterV2, callback_moe_droprate: True",
       "'callback_moe_droprate' in moe_config has no effect without 'expert' "
       "among aux_loss_types"},
      {"use_gmm: True, capacity_factor: 1.5",
       "'capacity_factor' in moe_config has no effect with use_gmm", "",
       "LlamaForCausalLM"},
      {"use_gmm: True, topk_method: noaux_tc",
       "'topk_method' in moe_config has no effect with use_gmm", "",
       "LlamaForCausalLM"},
      {"use_gmm: True, aux_loss_types: [device], aux_loss_factors: [0.1]",
       "'device' in aux_loss_types has no effect with use_gmm", "",
       "LlamaForCausalLM"},
      {"use_gmm: True, aux_loss_types: [expert], aux_loss_factors: [0.1]",
       "'aux_loss_factors' in moe_config has no effect here: Llama's layers "
       "compute it and drop it",
       "", "LlamaForCausalLM"},
      {"use_gmm: True, balance_via_topk_bias: True",
       "the bias stays 0: TopkBiasBalanceCallback updates models with shared "
       "experts only",
       "", "LlamaForCausalLM"},
      {"routing_policy: TopkRouterV2, capacity_factor: -1",
       "each expert has a place for every token of a row, 1024"},
  };
  for (const MessageCase &test : cases) {
    std::string messages = getMessages(test.keys, test.sections, test.arch);
    EXPECT_THAT(messages, HasSubstr(test.message)) << test.keys;
    EXPECT_THAT(messages, testing::Not(HasSubstr("error"))) << messages;
  }
}

/// Where operators are fused it is said that there are none.
TEST(ExpertSpecTest, FusionsWithoutEffectAreNoWarningsOfTheModel) {
  EXPECT_THAT(
      getMessages("routing_policy: TopkRouterV2, use_fused_ops_permute: True"),
      testing::Not(HasSubstr("use_fused_ops_permute")));
  EXPECT_THAT(getMessages("use_gmm: True, use_fused_ops_topkrouter: True", "",
                          "LlamaForCausalLM"),
              testing::Not(HasSubstr("use_fused_ops_topkrouter")));
}

TEST(ExpertSpecTest, BadOverridesAreErrors) {
  auto getErrors = [](ModelOverrides overrides) {
    DiagnosticList diagnostics;
    readModelConfig("seq_length: 1024", diagnostics, "LlamaForCausalLM",
                    overrides, getSections("use_gmm: True"));
    return diagnostics.str();
  };
  ModelOverrides overrides;
  overrides.routerRows = 0;
  EXPECT_THAT(getErrors(overrides),
              HasSubstr("error: expected a multiple of the 1 rows of data, "
                        "context and model parallel ranks for --router-rows, "
                        "but got 0"));
  overrides.routerRows = 3;
  EXPECT_THAT(getErrors(overrides),
              HasSubstr("expected the tokens of a micro-batch, 1 times 1024, "
                        "to divide into the 3 rows of routers"));
  overrides = {};
  overrides.expertRoom = 0.5;
  EXPECT_THAT(getErrors(overrides),
              HasSubstr("error: expected a number of at least 1 for "
                        "--expert-room"));
}

TEST(ExpertSpecTest, McoreErrors) {
  auto getErrors = [](const char *line) {
    DiagnosticList diagnostics;
    readModelConfig(
        (llvm::Twine("num_experts: 8\nrouted_scaling_factor: 1\n") + line)
            .str(),
        diagnostics, "Qwen3MoeForCausalLM");
    return diagnostics.str();
  };
  EXPECT_THAT(getErrors("moe_grouped_gemm: False"),
              HasSubstr("train.yaml:7:23: error: expected True for "
                        "'moe_grouped_gemm'"));
  EXPECT_THAT(getErrors("moe_router_enable_expert_bias: True"),
              HasSubstr("expected moe_router_score_function sigmoid"));
  EXPECT_THAT(getErrors("num_experts_per_tok: 9"),
              HasSubstr("expected at most the 8 experts for "
                        "'num_experts_per_tok', but got 9"));
  EXPECT_THAT(getErrors("decoder_sparse_step: 2"),
              HasSubstr("expected 1 for 'decoder_sparse_step'"));
  EXPECT_THAT(getErrors("mlp_only_layers: [1]"),
              HasSubstr("expected [] for 'mlp_only_layers'"));
  EXPECT_THAT(getErrors("moe_layer_freq: [2]"),
              HasSubstr("expected an int of at least 1 or a list of 0 and 1"));
  EXPECT_THAT(getErrors("scoring_func: relu"),
              HasSubstr("expected softmax or sigmoid"));
  EXPECT_THAT(getErrors("aux_loss_types: [device]\naux_loss_factors: [1]"),
              HasSubstr("expected expert in 'aux_loss_types' of the mcore "
                        "training graph, but got 'device'"));
  EXPECT_THAT(getErrors("moe_router_load_balancing_type: none"),
              HasSubstr("expected sub_seq_aux_loss, seq_aux_loss or "
                        "gbs_aux_loss"));
  EXPECT_THAT(getErrors("n_group: 4\ntopk_group: 3"),
              HasSubstr("expected 'topk_group' between 1 and n_group 4"));
  EXPECT_THAT(getErrors("capacity_factor: 1.5"),
              HasSubstr("'capacity_factor' in model_config has no effect on a "
                        "training step"));
}
