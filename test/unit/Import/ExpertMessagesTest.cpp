//===- ExpertMessagesTest.cpp - Errors and warnings about experts ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "ReadModel.h"
#include "test/unit/CaseTable.h"
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

/// Keys of the training graph, divided by "; ", and their errors.
constexpr llvm::StringLiteral mcoreErrors = R"(
moe_grouped_gemm: False => train.yaml:7:23: error: expected True for 'moe_grouped_gemm'
moe_router_enable_expert_bias: True => expected moe_router_score_function sigmoid
num_experts_per_tok: 9 => expected at most the 8 experts for 'num_experts_per_tok', but got 9
decoder_sparse_step: 2 => expected 1 for 'decoder_sparse_step'
mlp_only_layers: [1] => expected [] for 'mlp_only_layers'
moe_layer_freq: [2] => expected an int of at least 1 or a list of 0 and 1
scoring_func: relu => expected softmax or sigmoid
aux_loss_types: [device]; aux_loss_factors: [1] => expected expert in 'aux_loss_types' of the mcore training graph, but got 'device'
moe_router_load_balancing_type: none => expected sub_seq_aux_loss, seq_aux_loss or gbs_aux_loss
n_group: 4; topk_group: 3 => expected 'topk_group' between 1 and n_group 4
capacity_factor: 1.5 => 'capacity_factor' in model_config has no effect on a training step
)";

TEST(ExpertMessagesTest, McoreErrors) {
  for (const auto &[keys, message] : readTable(mcoreErrors)) {
    std::string lines = "num_experts: 8\nrouted_scaling_factor: 1";
    llvm::SmallVector<llvm::StringRef> parts;
    keys.split(parts, "; ");
    for (llvm::StringRef part : parts)
      lines += "\n" + part.str();
    DiagnosticList diagnostics;
    readModelConfig(lines, diagnostics, "Qwen3MoeForCausalLM");
    EXPECT_THAT(diagnostics.str(), HasSubstr(message.str())) << keys.str();
  }
}
