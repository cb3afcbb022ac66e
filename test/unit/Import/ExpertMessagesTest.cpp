//===- ExpertMessagesTest.cpp - Errors and warnings about experts ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "ReadModel.h"
#include "gmock/gmock.h"

using namespace mf;
using testing::HasSubstr;

static std::string getMessages(llvm::StringRef keys,
                               llvm::StringRef sections = "",
                               const char *arch = "TelechatForCausalLM") {
  DiagnosticList diagnostics;
  readModelConfig("seq_length: 1024\nuse_flash_attention: True", diagnostics,
                  arch, {}, getSections(keys) + sections.str());
  return diagnostics.str();
}

namespace {
struct MessageCase {
  const char *keys;
  const char *message;
  const char *sections = "";
  const char *arch = "TelechatForCausalLM";
};
} // namespace

TEST(ExpertMessagesTest, ErrorsNameKeyAndLine) {
  static const MessageCase cases[] = {
      {"capacity_factor: 1.0",
       "train.yaml:7:13: error: expected TopkRouterV2 for 'routing_policy' of "
       "experts with a capacity, but got 'TopkRouterV1'"},
      {"routing_policy: TopkRouterV2, expert_model_parallel: 2",
       "expected 1 or model_parallel 4 for 'expert_model_parallel', but got 2",
       "parallel_config: {model_parallel: 4, use_seq_parallel: True}\n"},
      {"routing_policy: TopkRouterV2",
       "expected 'expert_parallel' 4 times model_parallel 4 to divide the 8 "
       "experts, which are distributed whole over both; "
       "moe_config.ep_extend_tp "
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
       "parallel over which experts are distributed, but got 4",
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

TEST(ExpertMessagesTest, KeysWithoutEffectAreWarnings) {
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
TEST(ExpertMessagesTest, FusionsWithoutEffectAreNoWarningsOfTheModel) {
  EXPECT_THAT(
      getMessages("routing_policy: TopkRouterV2, use_fused_ops_permute: True"),
      testing::Not(HasSubstr("use_fused_ops_permute")));
  EXPECT_THAT(getMessages("use_gmm: True, use_fused_ops_topkrouter: True", "",
                          "LlamaForCausalLM"),
              testing::Not(HasSubstr("use_fused_ops_topkrouter")));
}

TEST(ExpertMessagesTest, BadOverridesAreErrors) {
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

TEST(ExpertMessagesTest, McoreErrors) {
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
