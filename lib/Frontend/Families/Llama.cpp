//===- Llama.cpp - Llama and the classes derived from it ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// models/llama, research/internlm2, research/qwen, research/telechat2 and
// research/deepseek3 of MindSpore Transformers; MoEV2, whose experts have a
// fixed capacity, and MoEV3, whose experts are grouped
// (modules/transformer/moe.py, moev3.py).
//
//===----------------------------------------------------------------------===//

#include "Records.h"

namespace mf {
namespace llama {

using Part = ParameterPart;

constexpr Stored allOfHead = {{Part::Query, Part::Key, Part::Value},
                              RowOrder::Grouped};

constexpr CellRow rmsNorm(llvm::StringLiteral cell, Part part) {
  return {cell, "norm cast rcast", part};
}

//===----------------------------------------------------------------------===//
// Feed forward and experts
//===----------------------------------------------------------------------===//

constexpr CellRow feedForward[] = {
    {"", "mul cast reshape w13_concat"},
    {"", "swiglu expand_dims", {}, Fact::FusedSwiglu},
    linear("w1", Part::Gate),
    {"w1.activation", "silu", {}, !Fact::FusedSwiglu},
    linear("w2", Part::Down, {}, Fact::DownBias),
    linear("w3", Part::Up),
};

constexpr CellRow concatenatedFeedForward[] = {
    {"", "mul cast reshape split"},
    linear("w_gate_hidden", {{Part::Gate, Part::Up}, RowOrder::Grouped}),
    {"activate", "silu"},
    linear("w2", Part::Down, {}, Fact::DownBias),
};

constexpr CellRow telechatFeedForward[] = {
    {"", "mul cast"},
    linear("w1", Part::Gate),
    {"w1.activation", "silu"},
    dropout("w1.dropout"),
    linear("w3", Part::Up),
    dropout("w3.dropout"),
    linear("w2", Part::Down, {}, Fact::DownBias),
    dropout("w2.dropout"),
};

/// Dense, the linear layer of routers.
constexpr llvm::StringLiteral routerDense = "reshape shape_op matmul";

/// MoEV2 without its feed forward and router.
constexpr llvm::StringLiteral capacityLeaves =
    "add_loss reshape shape cast transpose_4dim_dp1 transpose_4dim_dp0 "
    "transpose_5dim_ep2 concat_dp stride_slice stride_slice_dp stride_slice_ep "
    "stride_slice_dp_mp stride_slice_ep_mp stride_slice_outer_dp_mp "
    "stride_slice_outer_ep_mp stride_slice_outer_ep stride_slice_outer_dp "
    "transpose_5dim_ep1 transpose_mp1 transpose_mp2 stride_slice_allgather";

/// Its router with TopkRouterV2.
constexpr CellRow capacityRouter[] = {
    {"", "mul cast"},
    {"dense", routerDense, Part::Router},
    {"router",
     "sign gate_gather afb_add afb_sub afb_add_topk_bias assign afb_mul "
     "afb_reduce_mean afb_topk assign_add tc_topk tc_sum",
     {},
     Fact::RouterBias},
    {"router", "cast reshape shape gating_activation topk argmax onehot_2d "
               "onehot_3d cumsum mul_2d_1d mul_2d mul_3d mul_4d add_2d add_3d "
               "less gt reduce_sum transpose_3d transpose slice slice_range "
               "bmm_range add_eps reduce_sum_keep div_3d concat_3d zeros_op "
               "not_equal add_one add_range sub_range mul_range sort_range mod "
               "print tile mul reduce_mean reduce_mean_2d add_scalar add sub "
               "mod_expert tensor2scalar dispatch_gather concat zeros_op_4d "
               "combine_gather mul_router_coeff sum_router_coeff"},
    {"router.z_loss_func", "mean_ops sum_ops exp ln square cast mul"},
    parameter("router.topk_bias", Part::RouterBias),
};

/// The standard deviation of routers and MoEV3, which ignore init_method_std.
constexpr double routerRange = 0.01;

constexpr ExpertClasses expertClasses = {
    /*areOfOwnWidth=*/false, /*canBeDropless=*/true, /*addsLosses=*/false,
    routerRange};
constexpr ExpertClasses telechatExpertClasses = {
    /*areOfOwnWidth=*/false, /*canBeDropless=*/false, /*addsLosses=*/true,
    routerRange};
constexpr ExpertClasses deepSeekExpertClasses = {/*areOfOwnWidth=*/true};

constexpr CellRow capacityExperts[] = {
    {"", capacityLeaves},
    inside("ffn", feedForward, !Fact::GateUp, FeedForwardUse::Experts),
    inside("ffn", concatenatedFeedForward, Fact::GateUp,
           FeedForwardUse::Experts),
    inside("router", capacityRouter),
};

constexpr CellRow telechatExperts[] = {
    {"", capacityLeaves},
    inside("ffn", telechatFeedForward, {}, FeedForwardUse::Experts),
    inside("router", capacityRouter),
};

/// MoEV3.
constexpr CellRow droplessExperts[] = {
    {"", "shape reshape cast gating_activation topk mul transpose_3d sort mod "
         "gather_sort onehot cumsum transpose_unsort_map gather_unsort "
         "mul_router_coeff sum_router_coeff reduce_sum_keep add_eps div_3d "
         "reduce_mean_aux_3d reduce_mean_aux_2d mul_aux_2d onehot_aux "
         "mul_noshard add_loss"},
    {"",
     "gate_gather assign_add onehot_2d reduce_mean afb_reduce_mean afb_topk "
     "afb_add_topk_bias",
     {},
     Fact::RouterBias},
    {"", "stride_slice"},
    {"ffn", "cast"},
    {"ffn",
     "op_sort_safe_tokens op_gather_safe_tokens op_add_safe_tokens "
     "op_concat_safe_tokens op_concat_safe_tokens_expert_ids "
     "op_stridedslice_safe_tokens",
     {},
     Fact::SafeTokens},
    {"ffn", "hook_ffn_forward"},
    {"router_dense", routerDense, Part::Router},
    parameter("topk_bias", Part::RouterBias),
    parameter("ffn.w1", {{Part::ExpertGate, Part::ExpertUp},
                         RowOrder::Contiguous,
                         TensorForm::StackedTransposed}),
    parameter("ffn.w2", {Part::ExpertDown, TensorForm::StackedTransposed}),
};

constexpr CellRow routedExperts[] = {
    inside("", droplessExperts, Fact::Dropless),
    inside("", capacityExperts, !Fact::Dropless),
};

constexpr CellRow experts[] = {
    {"", "cast sigmoid mul add reshape", {}, Fact::Shared},
    inside("", routedExperts, !Fact::Shared),
    inside("routed_experts", routedExperts, Fact::Shared),
    inside("shared_experts", feedForward, Fact::Shared, FeedForwardUse::Shared),
    {"shared_experts_gate", routerDense, Part::SharedRouter,
     Fact::Shared & Fact::SharedGate},
};

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

constexpr CellRow attention[] = {
    {"", "shape reshape cast"},
    {"", "split_qkv", {}, Fact::QueryKeyValue},
    {"",
     "transpose merger_head_transpose batch_matmul batch_matmul_q_k mul add"},
    {"", "add_alibi", {}, Fact::Alibi},
    {"", "softmax cast_attn tile_kv"},
    linear("w_qkv", allOfHead, Fact::QueryKeyValue & !Fact::ShortProjection,
           Fact::QueryKeyValueBias),
    linear("w", allOfHead, Fact::QueryKeyValue &Fact::ShortProjection,
           Fact::QueryKeyValueBias),
    linear("wq", Part::Query, !Fact::QueryKeyValue, Fact::QueryKeyValueBias),
    linear("wk", Part::Key, !Fact::QueryKeyValue, Fact::QueryKeyValueBias),
    linear("wv", Part::Value, !Fact::QueryKeyValue, Fact::QueryKeyValueBias),
    linear("wo", Part::AttentionOutput, {}, Fact::OutputBias),
    {"apply_rotary_emb",
     "add bmm_swap mul mul_inc mul_with_batch_freqs neg slice concat shape "
     "cast",
     {},
     Fact::Rotary},
    {"apply_rotary_emb", "rope", {}, Fact::Rotary & Fact::FusedRotary},
    {"flash_attention", "flash_attention", {}, Fact::Flash},
};

constexpr CellRow telechatAttention[] = {
    {"", "shape cast reshape split_kv transpose merger_head_transpose "
         "batch_matmul batch_matmul_q_k mul add softmax cast_attn tile_kv"},
    linear("wq", Part::Query, {}, Fact::QueryKeyValueBias),
    dropout("wq.dropout"),
    linear("wk_v", {{Part::Key, Part::Value}, RowOrder::Grouped}, {},
           Fact::QueryKeyValueBias),
    dropout("wk_v.dropout"),
    linear("wo", Part::AttentionOutput, {}, Fact::OutputBias),
    dropout("wo.dropout"),
    {"apply_rotary_emb", "add bmm_swap mul mul_inc mul_with_batch_freqs neg "
                         "slice concat shape cast"},
    {"apply_rotary_emb", "rope", {}, Fact::FusedRotary},
    dropout("attention_dropout"),
    {"flash_attention", "flash_attention drop_gen_mask", {}, Fact::Flash},
};

constexpr CellRow latentAttention[] = {
    {"", "shape cast reshape transpose dp_only_transpose merger_head_transpose "
         "batch_matmul batch_matmul_q_k mul add softmax cast_attn tile_kv "
         "slice_qkv dim_slice_4d dim_slice_3d pe_concat value_concat sum_test "
         "mul_zeros"},
    linear("q2l_proj", Part::QueryDown),
    rmsNorm("lq_norm", Part::QueryDownNorm),
    linear("l2q_nope_proj", Part::QueryNope),
    linear("l2q_pe_proj", Part::QueryRope),
    linear("kv2l_k_pe", Part::KeyRope),
    linear("kv2l_latent_kv", Part::KeyValueDown),
    rmsNorm("lkv_norm", Part::KeyValueDownNorm),
    linear("lkv2kv_k_nope", Part::KeyNope),
    linear("lkv2kv_v", Part::ValueUp),
    linear("wo", Part::AttentionOutput),
    {"apply_rotary_emb", "reshape transpose add bmm_swap mul mul_inc neg slice "
                         "concat shape cast gather"},
    {"apply_rotary_emb",
     "expand_dims0 expand_dims1 rope",
     {},
     Fact::FusedRotary},
    {"flash_attention", "flash_attention", {}, Fact::Flash},
};

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

constexpr CellRow layer[] = {
    {"", "cast shape reshape add"},
    rmsNorm("ffn_norm", Part::FeedForwardNorm),
    rmsNorm("attention_norm", Part::AttentionNorm),
    inside("attention", attention, Fact::Heads),
    inside("attention", latentAttention, Fact::Latent),
    inside("feed_forward", experts, Fact::Experts),
    inside("feed_forward", feedForward, !Fact::Experts & !Fact::GateUp),
    inside("feed_forward", concatenatedFeedForward,
           !Fact::Experts & Fact::GateUp),
};

constexpr CellRow telechatLayer[] = {
    {"", "shape reshape cast add"},
    rmsNorm("ffn_norm", Part::FeedForwardNorm),
    rmsNorm("attention_norm", Part::AttentionNorm),
    inside("attention", telechatAttention),
    inside("feed_forward", telechatExperts, Fact::Experts),
    inside("feed_forward", telechatFeedForward, !Fact::Experts),
};

constexpr CellRow model[] = {
    parameter("model.tok_embeddings.embedding_weight", Part::Embedding),
    tensor("model.norm_out", Part::FinalNorm),
    tensor("lm_head", Part::Head),
};

constexpr CellRow qwenModel[] = {
    parameter("transformer.wte.embedding_weight", Part::Embedding),
    tensor("transformer.ln_f", Part::FinalNorm),
    tensor("lm_head", Part::Head),
};

constexpr CellRow deepSeekModel[] = {
    inside("", model),
    tensor("model.mtp_norms.%", Part::PredictionNorm),
};

/// The layer that joins a hidden state with the embedding of a later token.
constexpr CellRow join[] = {
    {"", "concat cast"},
    rmsNorm("norm", Part::PredictionHiddenNorm),
    rmsNorm("norm_emb", Part::PredictionEmbeddingNorm),
    linear("dense",
           {{Part::PredictionFromHidden, Part::PredictionFromEmbedding},
            RowOrder::Contiguous,
            TensorForm::Columns}),
};

//===----------------------------------------------------------------------===//
// Names of operators
//===----------------------------------------------------------------------===//

constexpr LatentNames getLatent() {
  LatentNames names;
  names.reshape = "reshape";
  names.transpose = "transpose";
  names.tile = "tile_kv";
  names.join = "pe_concat";
  names.padValue = "value_concat";
  names.cutResult = "dim_slice_4d";
  names.rotary = {"apply_rotary_emb",
                  "apply_rotary_emb.cast",
                  "slice",
                  "neg",
                  "concat",
                  "mul",
                  "add"};
  names.flash = "flash_attention.flash_attention";
  names.mergeTranspose = "merger_head_transpose";
  names.mergeReshape = "reshape";
  return names;
}

/// Returns the names of TopkRouterV2 of MoEV2.
constexpr RouterNames getCapacityRouter() {
  RouterNames names;
  names.product = "router.dense.matmul";
  names.cast = "router.cast";
  names.activation = "router.router.gating_activation";
  names.choose = "router.router.topk";
  names.addBias = "router.router.afb_add_topk_bias";
  names.chooseBiased = "router.router.afb_topk";
  names.gatherGate = "router.router.gate_gather";
  names.chooseGroups = "router.router.tc_topk";
  names.sumGroup = "router.router.tc_sum";
  names.compareGroups = "router.router.gt";
  names.maskGroups = "router.router.mul_4d";
  names.sum = "router.router.reduce_sum_keep";
  names.addEpsilon = "router.router.add_eps";
  names.divide = "router.router.div_3d";
  names.scale = "router.router.mul";
  names.oneHot = "router.router.onehot_2d";
  names.meanShares = "router.router.reduce_mean";
  names.meanScores = "router.router.reduce_mean";
  names.lossProduct = "router.router.mul_2d";
  names.lossMean = "router.router.reduce_mean_2d";
  names.lossFactor = "router.router.mul";
  names.addLoss = "add_loss";
  names.shares = "router.router.fi_parameter";
  return names;
}

constexpr DroplessNames getDropless() {
  DroplessNames names;
  names.transposeChoices = "transpose_3d";
  names.reshape = "reshape";
  names.cast = "cast";
  names.sort = "sort";
  names.remainder = "mod";
  names.gather = "gather_sort";
  names.oneHot = "onehot";
  names.transposePlaces = "transpose_unsort_map";
  names.safeIds = "ffn.op_concat_safe_tokens_expert_ids";
  names.safeSort = "ffn.op_sort_safe_tokens";
  names.safeGather = "ffn.op_gather_safe_tokens";
  names.safeCounts = "ffn.op_add_safe_tokens";
  names.safeSlice = "ffn.op_stridedslice_safe_tokens";
  names.castWeight = "ffn.cast";
  names.morph = "ffn.hook_ffn_forward";
  names.gatherBack = "gather_unsort";
  names.weigh = "mul_router_coeff";
  names.sum = "sum_router_coeff";
  return names;
}

constexpr OperatorNames getOperators() {
  OperatorNames names;
  names.gather = "tok_embeddings.gather";
  names.normCastOut = "rcast";

  AttentionNames &attention = names.attention;
  attention.cell = "attention";
  attention.splitKeyValue = "split_kv";
  attention.rotary = {"apply_rotary_emb",
                      "apply_rotary_emb.cast",
                      "slice",
                      "neg",
                      "concat",
                      "mul",
                      "add"};
  attention.flash = "flash_attention.flash_attention";
  attention.scores = {"tile_kv", "batch_matmul_q_k", "mul",
                      "add",     "cast_attn",        "softmax",
                      "cast",    "batch_matmul",     "add_alibi"};
  attention.castResult = "attention.cast";

  FeedForwardNames &feedForward = names.feedForward;
  feedForward.cell = "feed_forward";
  feedForward.cast = "cast";
  feedForward.reshape = "reshape";
  feedForward.split = "split";
  feedForward.activation = "w1.activation.silu";
  feedForward.concatenatedActivation = "activate.silu";
  feedForward.multiply = "mul";
  feedForward.castResult = "cast";

  names.latent = getLatent();

  ExpertNames &experts = names.experts;
  experts.cell = "feed_forward";
  experts.swiglu = "swiglu";
  experts.routed = "routed_experts";
  experts.cast = "cast";
  experts.castGate = "cast";
  experts.activateGate = "sigmoid";
  experts.applyGate = "mul";
  experts.castResult = "cast";
  // MoEV3 is its own router.
  experts.router = getDroplessRouter("");
  experts.router.product = "router_dense.matmul";
  experts.capacityRouter = getCapacityRouter();
  experts.dropless = getDropless();
  return names;
}

constexpr OperatorNames getQwenOperators() {
  OperatorNames names = getOperators();
  names.gather = "wte.gather";
  return names;
}

constexpr OperatorNames getTelechatOperators() {
  OperatorNames names = getOperators();
  names.linearDropout = "dropout.dropout";
  names.embeddingDropout = "tok_embeddings.dropout.dropout";
  names.attention.scores.dropout = "attention_dropout.dropout";
  return names;
}

constexpr OperatorNames getDeepSeekOperators() {
  OperatorNames names = getOperators();
  names.nextTokens.embedding = "model.mtp_embeddings";
  names.nextTokens.table = "embedding_weight";
  return names;
}

} // namespace llama

static constexpr FamilyRecord makeLlama() {
  FamilyRecord family = {"llama",
                         {"model.layers", llama::model, llama::layer},
                         llama::getOperators()};
  family.prefix = PrefixHeads::Queries;
  family.huggingFaceExperts = NameScheme::HuggingFaceMixtral;
  family.experts = &llama::expertClasses;
  return family;
}
constexpr FamilyRecord llamaFamily = makeLlama();

constexpr FamilyRecord internLm2Family = {"internlm2", llamaFamily.cells,
                                          llama::getOperators(),
                                          Fact::ShortProjection};

static constexpr FamilyRecord makeQwen() {
  FamilyRecord family = {"qwen",
                         {"transformer.layers", llama::qwenModel, llama::layer},
                         llama::getQwenOperators()};
  family.huggingFace = NameScheme::HuggingFaceQwen;
  return family;
}
constexpr FamilyRecord qwenFamily = makeQwen();

static constexpr FamilyRecord makeTelechat() {
  FamilyRecord family = {"telechat",
                         {"model.layers", llama::model, llama::telechatLayer},
                         llama::getTelechatOperators()};
  family.huggingFace = NameScheme::HuggingFaceTelechat;
  family.experts = &llama::telechatExpertClasses;
  return family;
}
constexpr FamilyRecord telechatFamily = makeTelechat();

static constexpr FamilyRecord makeDeepSeek() {
  FamilyRecord family = {"deepseek",
                         {"model.layers", llama::deepSeekModel, llama::layer,
                          "model.mtp_hidden_fusers", llama::join},
                         llama::getDeepSeekOperators()};
  family.keepsRows = true;
  family.experts = &llama::deepSeekExpertClasses;
  return family;
}
constexpr FamilyRecord deepSeekFamily = makeDeepSeek();

} // namespace mf
