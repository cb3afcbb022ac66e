//===- ExpertSpecTest.cpp - Experts as YAMLs describe them ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ReadModel.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Import/ModelReader.h"
#include "gmock/gmock.h"

using namespace mf;

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

//===----------------------------------------------------------------------===//
// Small files
//===----------------------------------------------------------------------===//

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

/// Returns the room for a rank that sends `extra` rows beside its choices.
static int64_t getRoom(int64_t experts, int64_t chosen, int64_t parts,
                       int64_t tokens, int64_t extra = 0) {
  ExpertSpec spec;
  spec.numExperts = experts;
  spec.router.numChosen = chosen;
  spec.numParts = parts;
  spec.rowLength = tokens;
  spec.dropless.emplace();
  return getExpertRoom(spec, spec.getNumChoices() + extra);
}

TEST(ExpertSpecTest, RoomIsWhatABalancedRouterNeeds) {
  // 8448 + 0.12 * 8192 + 6 * sqrt(8192 * 7/8 * 248/255) = 9932.003.
  EXPECT_EQ(getRoom(256, 8, 8, 1024, 256), 9933);
  // 8192 + 983.04 + 6 * sqrt(8192 * 1/2 * 4/7) = 9465.32.
  EXPECT_EQ(getRoom(8, 4, 2, 2048), 9466);
  // 2048 + 245.76 + 6 * sqrt(2048 * 3/4 * 3/3) = 2528.91.
  EXPECT_EQ(getRoom(4, 1, 4, 2048), 2529);
  // Tokens that choose all experts leave nothing to chance.
  EXPECT_EQ(getRoom(4, 4, 4, 1024), 4588);
}

TEST(ExpertSpecTest, FewRowsHaveMoreRoom) {
  EXPECT_EQ(getRoom(8, 2, 8, 100), 1024);
  // No more than all.
  EXPECT_EQ(getRoom(8, 2, 4, 100), 800);
  EXPECT_EQ(getRoom(2, 1, 2, 1000), 1255);
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
  EXPECT_TRUE(experts.router.lossesCountScores);
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
  EXPECT_FALSE(experts.router.lossesCountScores);
  EXPECT_EQ(experts.router.groups->numSummed, 2);
  EXPECT_FALSE(experts.router.groups->keepsTies);
  EXPECT_EQ(experts.sharedWidth, 96);
  EXPECT_TRUE(experts.dropless->safeTokens);
  EXPECT_FALSE(experts.hasLayer(1));
  EXPECT_TRUE(experts.hasLayer(2));
  EXPECT_EQ(experts.router.losses.size(), 1u);
}

ExpertSpec readDynamic(const std::string &model, int sequences,
                       const std::string &parallelism) {
  DiagnosticList diagnostics;
  TrainingConfig config = parseTrainingConfig(
      "training: {local_batch_size: " + std::to_string(sequences) +
          ", global_batch_size: " + std::to_string(sequences) +
          "}\nparallelism: {" + parallelism +
          "}\nmodel: {model_type: deepseek_v3, architectures: "
          "DeepseekV3ForCausalLM, seq_length: 1024, num_hidden_layers: 4, "
          "hidden_dropout: 0.0, attention_dropout: 0.0, moe_aux_loss_coeff: "
          "0.5, " +
          model + "}\n",
      "t.yaml", diagnostics);
  std::optional<ModelSpec> spec = readModelSpec(config, {}, diagnostics);
  EXPECT_TRUE(spec && spec->experts) << diagnostics.str();
  return spec && spec->experts ? *spec->experts : ExpertSpec();
}

TEST(ExpertSpecTest, LossesOfTheDynamicGraphCountScores) {
  ExpertSpec experts = readDynamic("moe_router_load_balancing_type: aux_loss",
                                   2, "data_parallel_shard: 1");
  EXPECT_TRUE(experts.router.bias && experts.router.groups);
  EXPECT_TRUE(experts.router.lossesCountScores);
  EXPECT_EQ(experts.lossRowLength, 2048);
}

TEST(ExpertSpecTest, SequencesOfTheDynamicGraphHaveTheirOwnLoss) {
  // Ranks and sequences, the tokens of a row of the losses, and the rows of a
  // sequence.
  const std::tuple<const char *, int, int64_t, int64_t> cases[] = {
      {"tensor_parallel: 1", 1, 1024, 1}, {"tensor_parallel: 1", 3, 1024, 1},
      {"tensor_parallel: 4", 1, 256, 4},  {"tensor_parallel: 4", 2, 512, 2},
      {"tensor_parallel: 2", 4, 1024, 1}, {"tensor_parallel: 2", 3, 512, 2},
  };
  for (const auto &[ranks, sequences, length, rows] : cases) {
    setenv("RANK_SIZE", llvm::StringRef(ranks).take_back(1).str().c_str(), 1);
    ExpertSpec experts =
        readDynamic("moe_router_load_balancing_type: seq_aux_loss", sequences,
                    std::string(ranks) + ", sequence_parallel: True");
    EXPECT_EQ(experts.lossRowLength, length) << ranks << " " << sequences;
    ASSERT_EQ(experts.router.losses.size(), 1U);
    EXPECT_EQ(experts.router.losses[0].numSharedRows, rows);
  }
  unsetenv("RANK_SIZE");
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
