//===- ExpertMessagesTest.cpp - Errors and warnings about experts ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "ReadModel.h"
#include "gmock/gmock.h"

using namespace mf;
using testing::HasSubstr;

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
