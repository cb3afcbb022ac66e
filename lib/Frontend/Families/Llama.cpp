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
    "transpose_5dim_ep2 concat_dp stride_slice stride_slice_dp "
    "stride_slice_ep stride_slice_dp_mp stride_slice_ep_mp "
    "stride_slice_outer_dp_mp stride_slice_outer_ep_mp stride_slice_outer_ep "
    "stride_slice_outer_dp transpose_5dim_ep1 transpose_mp1 transpose_mp2 "
    "stride_slice_allgather";

/// Its router with TopkRouterV2.
constexpr CellRow capacityRouter[] = {
    {"", "mul cast"},
    {"dense", routerDense, Part::Router},
    {"router",
     "sign gate_gather afb_add afb_sub afb_add_topk_bias assign afb_mul "
     "afb_reduce_mean afb_topk assign_add tc_topk tc_sum",
     {},
     Fact::RouterBias},
    {"router",
     "cast reshape shape gating_activation topk argmax onehot_2d onehot_3d "
     "cumsum mul_2d_1d mul_2d mul_3d mul_4d add_2d add_3d less gt reduce_sum "
     "transpose_3d transpose slice slice_range bmm_range add_eps "
     "reduce_sum_keep div_3d concat_3d zeros_op not_equal add_one add_range "
     "sub_range mul_range sort_range mod print tile mul reduce_mean "
     "reduce_mean_2d add_scalar add sub mod_expert tensor2scalar "
     "dispatch_gather concat zeros_op_4d combine_gather mul_router_coeff "
     "sum_router_coeff"},
    {"router.z_loss_func", "mean_ops sum_ops exp ln square cast mul"},
    parameter("router.topk_bias", Part::RouterBias),
};

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
    {"", "transpose merger_head_transpose batch_matmul batch_matmul_q_k mul "
         "add"},
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
    {"apply_rotary_emb",
     "add bmm_swap mul mul_inc mul_with_batch_freqs neg slice concat shape "
     "cast"},
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

} // namespace llama

constexpr ModelCells llamaCells = {"model.layers", llama::model, llama::layer};
constexpr ModelCells telechatCells = {"model.layers", llama::model,
                                      llama::telechatLayer};
constexpr ModelCells qwenCells = {"transformer.layers", llama::qwenModel,
                                  llama::layer};
constexpr ModelCells deepSeekCells = {"model.layers", llama::deepSeekModel,
                                      llama::layer, "model.mtp_hidden_fusers",
                                      llama::join};

} // namespace mf
