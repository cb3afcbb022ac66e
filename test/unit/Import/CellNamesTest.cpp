//===- CellNamesTest.cpp --------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Names of Cells and operators against test/data/mindformers/
// celltrees_dev.txt, read off MindSpore Transformers.
//
//===----------------------------------------------------------------------===//

#include "mf/Frontend/Import/CellNames.h"
#include "ReadModel.h"
#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Import/ModelBuilder.h"
#include "test/unit/RecordedCells.h"
#include "llvm/ADT/StringSet.h"
#include "gmock/gmock.h"

using namespace mf;

/// The names of one layer kind in their order: primitives, and Cells that have
/// none below them.
static std::vector<std::string> readKind(llvm::StringRef kind) {
  static const auto kinds = readRecordedCells();
  const std::vector<RecordedCell> &cells = kinds.at(kind.str());
  std::vector<std::string> names;
  for (size_t index = 0; index < cells.size(); ++index) {
    const auto &[name, operators] = cells[index];
    const bool hasCells =
        index + 1 < cells.size() &&
        llvm::StringRef(cells[index + 1].name).starts_with(name + ".");
    if (!name.empty() && operators.empty() && !hasCells)
      names.push_back(name);
    llvm::append_range(names, operators);
  }
  return names;
}

namespace {
struct KindCase {
  const char *kind;
  const char *arch;
  const char *lines;
  const char *sections = "";
  /// The part of the tree that is compared, and whether SwiGLU is one kernel.
  const char *part = "";
  bool fusesSwiglu = false;

  ModelSpec read() const {
    ModelSpec spec = readModelConfig(lines, arch, sections);
    if (fusesSwiglu)
      spec.experts->fusions.swiglu = true;
    return spec;
  }
};
} // namespace

static constexpr char deepSeek[] =
    "extend_method: None\nuse_flash_attention: True\nhidden_size: 64\n"
    "num_layers: 1\nnum_heads: 2\nintermediate_size: 96\nvocab_size: 128\n"
    "q_lora_rank: 24\nkv_lora_rank: 16\nqk_nope_head_dim: 16\n"
    "qk_rope_head_dim: 8\nv_head_dim: 16\nmtp_depth: 1\n";
static constexpr char mcoreDeepSeek[] =
    "num_hidden_layers: 1\nmtp_num_layers: 1\nmtp_loss_scaling_factor: 0.3\n"
    "fp32_residual_connection: True\n";
#define CAPACITY                                                               \
  "moe_config: {expert_num: 8, num_experts_chosen: 2, "                        \
  "routing_policy: TopkRouterV2"
#define DROPLESS                                                               \
  "moe_config: {expert_num: 8, num_experts_chosen: 2, use_gmm: True"
#define BALANCED                                                               \
  ", shared_expert_num: 1, balance_via_topk_bias: True}\n"                     \
  "callbacks:\n- {type: TopkBiasBalanceCallback, "                             \
  "balance_via_topk_bias: True, topk_bias_update_rate: 0.001, "                \
  "expert_num: 8}\n"
#define MCORE_BIAS                                                             \
  "num_experts: 8\nnum_experts_per_tok: 2\nmoe_intermediate_size: 512\n"       \
  "routed_scaling_factor: 1.0\nn_shared_experts: 1\n"                          \
  "moe_router_score_function: sigmoid\nmoe_router_enable_expert_bias: True\n"

static const KindCase kinds[] = {
    {"llama", "LlamaForCausalLM", "use_flash_attention: True"},
    {"llama_noflash", "LlamaForCausalLM", "n_kv_heads: 8"},
    {"llama_qkv_concat", "LlamaForCausalLM",
     "use_flash_attention: True\nqkv_concat: True"},
    {"llama_qkv_bias(qwen2)", "LlamaForCausalLM",
     "use_flash_attention: True\nqkv_has_bias: True"},
    {"telechat2", "TelechatForCausalLM",
     "use_flash_attention: True\nn_kv_heads: 8\nres_dtype: float32"},
    {"glm4(ChatGLM2Block)", "ChatGLM2ForConditionalGeneration",
     "use_flash_attention: True"},
    {"mcore_qwen3_dense", "Qwen3ForCausalLM",
     "fp32_residual_connection: True\nattention_bias: True"},
    {"mcore_qwen3_dense_fused", "Qwen3ForCausalLM",
     "fp32_residual_connection: True\nattention_bias: True\n"
     "hidden_act: swiglu"},
    {"deepseek3_dense", "DeepseekV3ForCausalLM", deepSeek},
    {"mcore_deepseek3_dense", "deepseek_v3", mcoreDeepSeek},
    {"llama_moe_v2(mixtral)", "LlamaForCausalLM", "use_flash_attention: True",
     CAPACITY "}"},
    {"llama_moe_gmm", "LlamaForCausalLM", "use_flash_attention: True",
     DROPLESS ", enable_gmm_safe_tokens: True}"},
    {"llama_moe_shared", "LlamaForCausalLM", "use_flash_attention: True",
     CAPACITY ", shared_expert_num: 2}"},
    {"llama_moe_shared_gmm", "LlamaForCausalLM", "use_flash_attention: True",
     DROPLESS ", shared_expert_num: 2}"},
    {"telechat2_moe", "TelechatForCausalLM",
     "use_flash_attention: True\nn_kv_heads: 8\nres_dtype: float32",
     CAPACITY "}"},
    {"deepseek3_moe", "LlamaForCausalLM", "use_flash_attention: True",
     CAPACITY BALANCED, "feed_forward."},
    {"deepseek3_moe_fused", "LlamaForCausalLM", "use_flash_attention: True",
     CAPACITY BALANCED, "feed_forward.", true},
    {"deepseek3_moe_gmm", "LlamaForCausalLM", "use_flash_attention: True",
     DROPLESS BALANCED, "feed_forward."},
    {"deepseek3_moe_gmm_fusedswiglu", "LlamaForCausalLM",
     "use_flash_attention: True", DROPLESS BALANCED, "feed_forward.", true},
    {"mcore_qwen3_moe", "Qwen3MoeForCausalLM",
     "fp32_residual_connection: True\nattention_bias: True\nnum_experts: 8\n"
     "num_experts_per_tok: 2\nrouted_scaling_factor: 1.0\n"},
    {"mcore_deepseek3_moe", "Qwen3MoeForCausalLM", MCORE_BIAS,
     "callbacks: [{type: TopkBiasBalanceCallback}]", "mlp."},
    {"mcore_deepseek3_moe_fused", "Qwen3MoeForCausalLM",
     MCORE_BIAS "hidden_act: swiglu\n",
     "callbacks: [{type: TopkBiasBalanceCallback}]", "mlp."},
};

/// The names that start with `part`.
static std::vector<std::string> getPart(std::vector<std::string> names,
                                        llvm::StringRef part) {
  llvm::erase_if(names, [&](const std::string &name) {
    return !llvm::StringRef(name).starts_with(part);
  });
  return names;
}

TEST(CellNamesTest, NamesOfEachKindInTheirOrder) {
  for (const KindCase &test : kinds) {
    std::vector<std::string> expected = getPart(readKind(test.kind), test.part);
    EXPECT_GT(expected.size(), 30u) << test.kind;
    ModelSpec spec = test.read();
    EXPECT_THAT(getPart(getCellNames(spec, spec.hasExperts(0)), test.part),
                testing::ElementsAreArray(expected))
        << test.kind;
  }
}

/// The members of `names` that begin with `prefix`, or those that do not.
static std::vector<std::string> select(std::vector<std::string> names,
                                       llvm::StringRef prefix,
                                       bool begins = true) {
  llvm::erase_if(names, [&](llvm::StringRef name) {
    return name.starts_with(prefix) != begins;
  });
  return names;
}

TEST(CellNamesTest, LatentAttentionBesideExperts) {
  const std::string fused = std::string(deepSeek) + "use_fused_rope: True\n";
  const std::string apart =
      std::string(mcoreDeepSeek) + "mla_qkv_concat: False";
  const KindCase cases[] = {
      {"deepseek3_moe", "DeepseekV3ForCausalLM", deepSeek},
      {"deepseek3_moe_fused", "DeepseekV3ForCausalLM", fused.c_str()},
      {"mcore_deepseek3_moe", "deepseek_v3", mcoreDeepSeek},
      {"mcore_deepseek3_moe_noconcat", "deepseek_v3", apart.c_str()},
  };
  for (const KindCase &test : cases) {
    const char *prefix =
        llvm::StringRef(test.kind).contains("mcore") ? "self_att" : "attention";
    EXPECT_THAT(
        select(getCellNames(readModelConfig(test.lines, test.arch)), prefix),
        testing::ElementsAreArray(select(readKind(test.kind), prefix)))
        << test.kind;
  }
}

TEST(CellNamesTest, WhatPredictsLaterTokens) {
  EXPECT_THAT(
      getNextTokenCellNames(readModelConfig(deepSeek, "DeepseekV3ForCausalLM")),
      testing::ElementsAreArray(readKind("deepseek3_mtp_hidden_fuser")));
  // The data has experts in this layer.
  const char *experts = "transformer_layer.mlp.";
  EXPECT_THAT(select(getNextTokenCellNames(
                         readModelConfig(mcoreDeepSeek, "deepseek_v3")),
                     experts, /*begins=*/false),
              testing::ElementsAreArray(select(readKind("mcore_mtp_layer"),
                                               experts, /*begins=*/false)));
}

/// The names of the feed forward alone.
TEST(CellNamesTest, NamesOfAFusedFeedForward) {
  std::vector<std::string> names;
  for (llvm::StringRef name :
       getCellNames(readModelConfig("use_fused_swiglu: True")))
    if (name.consume_front("feed_forward."))
      names.push_back(name.str());
  EXPECT_THAT(names,
              testing::ElementsAreArray(readKind("llama_ffn_fused_swiglu")));
}

TEST(CellNamesTest, NamesOfFusedOperatorsAreThere) {
  EXPECT_THAT(getCellNames(readModelConfig("use_fused_rope: True")),
              testing::Contains("attention.apply_rotary_emb.rope"));
  EXPECT_THAT(getCellNames(readModelConfig("apply_rope_fusion: True\n"
                                           "bias_swiglu_fusion: True\n"
                                           "hidden_act: swiglu",
                                           "Qwen3ForCausalLM")),
              testing::IsSupersetOf({"self_attention.apply_rotary_pos_emb.rope",
                                     "mlp.activation_func.swiglu"}));
}

/// Names of the operators of the first body layer.
static std::vector<std::string> getOperatorNames(const ModelSpec &spec) {
  mlir::MLIRContext context;
  context.loadDialect<ir::MfDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module = buildModel(&context, spec);
  std::vector<std::string> names;
  module->walk([&](ir::LayerOp layer) {
    if (layer.getName() != "layers.0")
      return;
    layer.walk([&](ir::ComputeOpInterface op) {
      names.push_back(op.getCellName().str());
    });
  });
  return names;
}

TEST(CellNamesTest, OperatorsHaveNamesOfTheTree) {
  for (const KindCase &test : kinds) {
    std::vector<std::string> tree = readKind(test.kind);
    std::vector<std::string> names =
        getPart(getOperatorNames(test.read()), test.part);
    EXPECT_GT(names.size(), 30u) << test.kind;
    for (const std::string &name : names)
      EXPECT_THAT(tree, testing::Contains(name)) << test.kind;
  }
}
