//===- ModelBuilderTest.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Import/ModelBuilder.h"
#include "ReadModel.h"
#include "dialects/mf/MfOps.h"
#include "mf/Exec/Data/ParameterNames.h"
#include "mf/Frontend/Import/CellNames.h"
#include "mlir/IR/Verifier.h"
#include "gmock/gmock.h"

using namespace mf;

namespace {
class ModelBuilderTest : public testing::Test {
protected:
  ModelBuilderTest() { context.loadDialect<ir::MfDialect>(); }

  mlir::OwningOpRef<mlir::ModuleOp> build(const ModelSpec &spec) {
    auto module = buildModel(&context, spec);
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
    return module;
  }

  mlir::MLIRContext context;
};
} // namespace

/// Elements of the parameters that are trained, tied ones once; statistics are
/// not trained.
static int64_t countParameters(mlir::ModuleOp module) {
  int64_t count = 0;
  module.walk([&](ir::ParamOp param) {
    if (!param.getFrozen() && !param.getTied() && !param.getUpdateRule())
      count += param.getTensorType().getNumElements();
  });
  return count;
}

static const char *const variants[][2] = {
    {"LlamaForCausalLM", ""},
    {"LlamaForCausalLM", "qkv_concat: True\nqkv_has_bias: True"},
    {"LlamaForCausalLM", "tie_word_embeddings: True\nattn_proj_has_bias: True"},
    {"Baichuan7BV2ForCausalLM", "use_flash_attention: True"},
    {"Baichuan13BV2ForCausalLM", "compute_dtype: bfloat16"},
    {"InternLMForCausalLM", "use_flash_attention: True"},
    {"QwenForCausalLM", "use_flash_attention: True"},
    {"TelechatForCausalLM", "n_kv_heads: 8\nres_dtype: float32"},
    {"ChatGLM2ForConditionalGeneration", ""},
    {"ChatGLM2ForConditionalGeneration",
     "qkv_concat: False\nmlp_concat: False"},
    {"GLMForPreTraining", ""},
    {"GPT2LMHeadModel", ""},
    {"GPT2LMHeadModel", "use_flash_attention: True\ncompute_dtype: bfloat16"},
    {"IFlytekSparkModelForCasualLM", "seq_length: 4096"},
    {"Qwen3ForCausalLM", "attention_bias: True\nuse_flash_attention: False"},
    {"Qwen3ForCausalLM", "fp32_residual_connection: True\nqk_layernorm: False"},
};

TEST_F(ModelBuilderTest, ParametersAreThoseOfTheSpecification) {
  for (const char *const *variant : variants) {
    ModelSpec spec = readModelConfig(variant[1], variant[0]);
    EXPECT_EQ(countParameters(*build(spec)), getParameterCount(spec))
        << variant[0] << ": " << variant[1];
  }
}

static const char *const expertVariants[][3] = {
    {"LlamaForCausalLM", "", "routing_policy: TopkRouterV2"},
    {"LlamaForCausalLM", "compute_dtype: bfloat16",
     "routing_policy: TopkRouterV2, enable_sdrop: True, shared_expert_num: 2, "
     "use_shared_expert_gating: True, use_gating_sigmoid: True, "
     "balance_via_topk_bias: True, topk_method: noaux_tc, n_group: 2, "
     "topk_group: 1"},
    {"LlamaForCausalLM", "param_init_type: float32", "use_gmm: True"},
    {"LlamaForCausalLM", "compute_dtype: bfloat16",
     "use_gmm: True, enable_gmm_safe_tokens: True, shared_expert_num: 1, "
     "balance_via_topk_bias: True, router_dense_type: bfloat16"},
    {"TelechatForCausalLM", "",
     "routing_policy: TopkRouterV2, aux_loss_types: [expert, device, comm], "
     "aux_loss_factors: [0.1, 0.2, 0.3], expert_group_size: 4, "
     "z_loss_factor: 0.1, callback_moe_droprate: True, capacity_factor: 0, "
     "router_dense_type: bfloat16, topk_method: group_limited_greedy, "
     "n_group: 4, topk_group: 2"},
    {"Qwen3MoeForCausalLM",
     "num_experts: 8\nrouted_scaling_factor: 2.5\nscoring_func: sigmoid\n"
     "moe_router_enable_expert_bias: True\nfirst_k_dense_replace: 2\n"
     "n_group: 4\ntopk_group: 2\nnum_experts_per_tok: 4\nn_shared_experts: 1\n"
     "use_shared_expert_gating: True\nmoe_aux_loss_coeff: 0.1\n"
     "moe_router_load_balancing_type: seq_aux_loss\nuse_pad_tokens: True",
     ""},
};

/// A model whose experts four ranks share out, and one for a single rank.
static ModelSpec readExpertVariant(const char *const *variant, bool isCut) {
  std::string sections =
      (llvm::Twine("moe_config: {expert_num: 8, num_experts_chosen: 2, ") +
       variant[2] + "}\n")
          .str();
  if (isCut)
    sections += "runner_config: {batch_size: 2}\n"
                "parallel_config: {data_parallel: 4, model_parallel: 2, "
                "expert_parallel: 4, use_seq_parallel: True}\n";
  ModelSpec spec = readModelConfig(variant[1], variant[0], sections);
  spec.numLayers = 3;
  return spec;
}

TEST_F(ModelBuilderTest, ParametersOfExpertsAreThoseOfTheSpecification) {
  for (const char *const *variant : expertVariants) {
    for (bool isCut : {false, true}) {
      ModelSpec spec = readExpertVariant(variant, isCut);
      ASSERT_TRUE(spec.experts.has_value());
      EXPECT_EQ(countParameters(*build(spec)), getParameterCount(spec))
          << variant[0] << ": " << variant[2];
    }
  }
}

/// Checkpoints have a name for the gate of shared experts, and it is in the
/// tree.
TEST_F(ModelBuilderTest, GateOfSharedExpertsIsThatOfCheckpoints) {
  for (size_t index : {1, 5}) {
    ModelSpec spec = readExpertVariant(expertVariants[index], false);
    const std::vector<std::string> tree = getCellNames(spec, true);
    std::vector<std::string> gates;
    auto module = build(spec);
    module->walk([&](ir::ParamOp param) {
      std::optional<ParameterName> name =
          parseParameterName(param.getSymName());
      if (name && name->parts == PartList(ParameterPart::SharedRouter).get())
        gates.push_back(param.getSymName().str());
    });
    EXPECT_FALSE(gates.empty()) << index;
    bool hasProduct = false;
    module->walk([&](ir::ComputeOpInterface op) {
      llvm::StringRef name = op.getCellName();
      if (!name.contains("shared_experts_gate"))
        return;
      EXPECT_THAT(tree, testing::Contains(name.str()));
      hasProduct |= name.ends_with("shared_experts_gate.matmul");
    });
    EXPECT_TRUE(hasProduct) << index;
  }
}

TEST_F(ModelBuilderTest, LayersWithExpertsHaveTheirLossAndTree) {
  ModelSpec spec = readExpertVariant(expertVariants[5], false);
  auto module = build(spec);
  std::vector<std::string> layers;
  module->walk([&](ir::LayerOp layer) {
    if (layer.getKind() == ir::LayerKind::Body)
      layers.push_back(layer.getCellTree()->str() + " " +
                       std::to_string(layer.getFunctionType().getNumResults()));
  });
  EXPECT_EQ(layers,
            (std::vector<std::string>{"cells 1", "cells 1", "expert_cells 2"}));
}

TEST_F(ModelBuilderTest, OnlyCastsIntoANormArePresetToRecompute) {
  for (const char *const *variant : variants) {
    ModelSpec spec = readModelConfig(variant[1], variant[0]);
    spec.numLayers = 1;
    spec.residualType = spec.computeType;
    unsigned marked = 0;
    build(spec)->walk([&](ir::ComputeOpInterface op) {
      if (!op.getRecomputeMark())
        return;
      EXPECT_EQ(op.getRecomputeMark(), ir::RecomputeKind::Preset);
      EXPECT_TRUE(llvm::StringRef(op.getCellName()).ends_with("norm.cast") ||
                  op.getCellName() == "cast");
      EXPECT_TRUE(llvm::isa<ir::RmsNormOp>(*op->user_begin()));
      ++marked;
    });
    EXPECT_EQ(marked, spec.usesLayerNorm        ? 0u
                      : spec.normalizesQueryKey ? 5u
                                                : 3u)
        << variant[0];
  }
}
