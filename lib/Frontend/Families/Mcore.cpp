//===- Mcore.cpp - The mcore training graph -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// parallel_core/training_graph of MindSpore Transformers, with
// multi_latent_attention.py, transformer/moe and multi_token_prediction.py.
// Rows of latent attention are in DeepSeek's order.
//
//===----------------------------------------------------------------------===//

#include "Records.h"

namespace mf {
namespace mcore {

using Part = ParameterPart;

constexpr CellRow norm(llvm::StringLiteral cell, Stored stored,
                       When when = {}) {
  return {cell, "norm cast", stored, when};
}

/// ColumnParallelLinear, with the rows of latents that are rotated by pairs.
constexpr CellRow column(llvm::StringLiteral cell, Stored stored,
                         When when = {}) {
  return {cell, "cast matmul transpose add reshape", stored, when};
}

constexpr Stored pairs(PartList parts, RowOrder order = RowOrder::Contiguous) {
  Stored stored(parts, order);
  stored.rotatesPairs = true;
  return stored;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

constexpr CellRow headProjections[] = {
    column("linear_qkv", PartList(Part::Query, Part::Key, Part::Value)),
    norm("q_layernorm", Part::QueryNorm, Fact::HeadNorms),
    norm("k_layernorm", Part::KeyNorm, Fact::HeadNorms),
};

constexpr CellRow projectionsTogether[] = {
    norm("q_layernorm", pairs(Part::QueryDownNorm),
         Fact::LatentNorms &Fact::LatentQuery),
    column("linear_qb",
           pairs({Part::QueryNope, Part::QueryRope}, RowOrder::Grouped),
           Fact::LatentQuery),
    column("linear_qkv",
           pairs({Part::QueryDown, Part::KeyValueDown, Part::KeyRope}),
           Fact::LatentQuery),
    // No checkpoint of another kind has queries and latents in one tensor.
    column("linear_qkv", {}, !Fact::LatentQuery),
    norm("k_layernorm", pairs(Part::KeyValueDownNorm), Fact::LatentNorms),
    column("linear_kvb",
           pairs({Part::KeyNope, Part::ValueUp}, RowOrder::Grouped)),
};

constexpr CellRow projectionsApart[] = {
    column("linear_q_proj",
           pairs({Part::QueryNope, Part::QueryRope}, RowOrder::Grouped),
           !Fact::LatentQuery),
    column("linear_q_down_proj", pairs(Part::QueryDown), Fact::LatentQuery),
    column("linear_q_up_proj",
           pairs({Part::QueryNope, Part::QueryRope}, RowOrder::Grouped),
           Fact::LatentQuery),
    column("linear_kv_down_proj", pairs({Part::KeyValueDown, Part::KeyRope})),
    column("linear_kv_up_proj",
           pairs({Part::KeyNope, Part::ValueUp}, RowOrder::Grouped)),
    norm("q_layernorm", pairs(Part::QueryDownNorm),
         Fact::LatentNorms &Fact::LatentQuery),
    norm("kv_layernorm", pairs(Part::KeyValueDownNorm), Fact::LatentNorms),
};

constexpr llvm::StringLiteral rotary =
    "add add_input_is_parallel mul mul_input_is_parallel cos sin neg "
    "neg_input_is_parallel split split_input_is_parallel tnd_split cat "
    "cat_input_is_parallel stack slice reshape";

constexpr CellRow attention[] = {
    {"",
     "split_qkv shape cast reshape merge_head_transpose tile_kv cat "
     "reshape_concat",
     {},
     !Fact::Latent},
    {"",
     "shape reshape bs_transpose tnd_transpose tile value_concat dim_slice "
     "cast split tile_kv pe_concat pe_tnd_concat",
     {},
     Fact::Latent},
    {"core_attention",
     "flash_attention bnsd_transpose bsh_transpose merge_head_transpose shape "
     "reshape fa_out_transpose",
     {},
     Fact::Flash},
    {"core_attention",
     "bmm_qk bmm_qkv mul add softmax cast bnsd_transpose shape reshape "
     "fa_out_transpose",
     {},
     !Fact::Flash},
    {"linear_proj", "cast transpose matmul reshape", Part::AttentionOutput},
    {"apply_rotary_pos_emb", rotary, {}, !Fact::Latent},
    {"apply_rotary_pos_emb", "rope", {}, !Fact::Latent & Fact::FusedRotary},
    {"apply_rotary_emb", rotary, {}, Fact::Latent},
    inside("", headProjections, Fact::Heads),
    inside("", projectionsTogether, Fact::Latent &Fact::DownTogether),
    inside("", projectionsApart, Fact::Latent & !Fact::DownTogether),
};

/// The Cells that all layers of DeepSeek-V4 have. Those of entries are in the
/// names of a layer's operators.
constexpr CellRow hybridAttention[] = {
    {"", "query_norm reshape transpose"},
    {"core_attention",
     "gather bmm_qk mul add softmax bmm_pv",
     {},
     !Fact::FusedHybrid},
    {"core_attention", "hybrid_attention", {}, Fact::FusedHybrid},
    {"core_attention.rotary_pos_emb", "slice"},
    {"linear_proj", "cast matmul"},
    {"rotary_pos_emb", "reshape"},
    {"apply_rotary_emb", "rope"},
    {"linear_q_down_proj", "cast matmul"},
    {"q_layernorm", "norm cast"},
    {"linear_q_up_proj", "cast matmul"},
    {"linear_kv_proj", "cast matmul"},
    {"kv_layernorm", "norm cast"},
};

//===----------------------------------------------------------------------===//
// Feed forward and experts
//===----------------------------------------------------------------------===//

constexpr CellRow feedForward[] = {
    {"", "mul split reshape add"},
    {"", "cast", {}, Fact::Experts},
    {"", "sigmoid mul_shared_gate", {}, Fact::SharedGate},
    {"linear_fc1", "cast matmul transpose reshape",
     PartList(Part::Gate, Part::Up)},
    {"activation_func", "slice", {}, Fact::ActivationMultiplies},
    {"activation_func", "silu"},
    {"activation_func", "mul", {}, Fact::ActivationMultiplies},
    {"activation_func", "swiglu", {}, Fact::FusedSwiglu & !Fact::Experts},
    {"linear_fc2", "cast transpose matmul reshape", Part::Down},
};

constexpr CellRow experts[] = {
    {"", "add reshape shape add_loss transpose transpose2"},
    {"router",
     "shape reshape cast mul reduce_sum_keep add_eps div_3d gating_activation "
     "topk",
     Part::Router},
    {"router",
     "gate_gather assign_add onehot_2d reduce_mean afb_reduce_mean afb_topk "
     "afb_add_topk_bias",
     {},
     Fact::RouterBias},
    {"router", "reduce_mean_aux_3d reduce_mean_aux_2d mul_aux_2d onehot_aux "
               "mul_noshard add_loss"},
    {"experts", "morphed_forward cast_op reshape"},
    inside("shared_experts", feedForward, Fact::Shared, FeedForwardUse::Shared),
    {"shared_experts.shared_experts_gate", "reshape shape_op matmul",
     Part::SharedRouter, Fact::Shared & Fact::SharedGate},
    parameter("router.expert_bias", Part::RouterBias),
    parameter("router.tid2eid", Part::TokenExperts),
    parameter("experts.weight1", {{Part::ExpertGate, Part::ExpertUp},
                                  RowOrder::Contiguous,
                                  TensorForm::StackedTransposed}),
    parameter("experts.weight2",
              {Part::ExpertDown, TensorForm::StackedTransposed}),
};

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

/// A place where several residual streams are mixed.
constexpr CellRow mixing[] = {
    {"", "cast norm mul add sigmoid slice"},
    {"mapping_proj", "matmul"},
    {"_sinkhorn_op", "sinkhorn"},
    {"output_cell", "mix share add cast"},
};

/// The same with fused kernels, which compute what two of the Cells would.
constexpr CellRow fusedMixing[] = {
    {"", "mul cat mhc_pre mapping_proj _sinkhorn_op"},
    {"output_cell", "mhc_post"},
};

constexpr CellRow layer[] = {
    {"", "add add_bias"},
    norm("input_layernorm", Part::AttentionNorm),
    inside("self_attention", attention, !Fact::Hybrid),
    inside("self_attention", hybridAttention, Fact::Hybrid),
    // Two Cells of this layer contain no primitives.
    {"", "pre_cross_attn_layernorm cross_attention"},
    norm("pre_mlp_layernorm", Part::FeedForwardNorm),
    inside("mlp", experts, Fact::Experts),
    inside("mlp", feedForward, !Fact::Experts),
    dropout("hidden_states_dropout"),
    inside("attn_hc", mixing, Fact::Streams & !Fact::FusedStreams),
    inside("attn_hc", fusedMixing, Fact::FusedStreams),
    inside("ffn_hc", mixing, Fact::Streams & !Fact::FusedStreams),
    inside("ffn_hc", fusedMixing, Fact::FusedStreams),
};

/// What select_recompute covers if it names no operators.
constexpr llvm::StringRef selection[] = {
    "mlp\\.shared_experts\\.mul",
    "mlp\\.shared_experts\\.activation_func\\.silu", "mlp\\.mul",
    "mlp\\.activation_func\\.silu"};

constexpr CellRow model[] = {
    tensor("embedding.word_embeddings", Part::Embedding),
    tensor("decoder.final_layernorm", Part::FinalNorm),
    tensor("output_layer", Part::Head),
};

constexpr CellRow join[] = {
    {"", "concat concat_mp cast reshape"},
    norm("enorm", Part::PredictionEmbeddingNorm),
    norm("hnorm", Part::PredictionHiddenNorm),
    column("eh_proj",
           {{Part::PredictionFromEmbedding, Part::PredictionFromHidden},
            RowOrder::Contiguous,
            TensorForm::Columns}),
    inside("transformer_layer", layer, Fact::JoinsNext),
    norm("final_layernorm", Part::PredictionNorm),
};

//===----------------------------------------------------------------------===//
// Names of operators
//===----------------------------------------------------------------------===//

constexpr LatentNames getLatent() {
  LatentNames names;
  names.split = "split";
  names.reshape = "reshape";
  names.transpose = "core_attention.bnsd_transpose";
  names.tile = "tile_kv";
  names.join = "pe_concat";
  names.padValue = "value_concat";
  names.cutResult = "dim_slice";
  names.pairReshape = "apply_rotary_emb.reshape";
  names.pairSlice = "apply_rotary_emb.slice";
  names.pairConcat = "apply_rotary_emb.cat";
  names.rotary = {
      "apply_rotary_emb", "cast", "split", "neg", "cat", "mul", "add"};
  names.flash = "core_attention.flash_attention";
  names.largestLogits = "core_attention.max_logits_val";
  names.mergeTranspose = "core_attention.fa_out_transpose";
  names.mergeReshape = "core_attention.reshape";
  return names;
}

/// Returns the names of mcore's TopKRouter. Its product with the weight is a
/// function without a name of its own, so it has the name of its user. The
/// later releases that limit tokens to groups have no names for the groups
/// here.
constexpr RouterNames getRouter() {
  RouterNames names = getDroplessRouter("router.");
  names.product = names.activation;
  names.chooseGroups = names.choose;
  names.sumGroup = names.sum;
  names.compareGroups = "router.onehot_2d";
  names.maskGroups = names.scale;
  return names;
}

/// All operators from the sort to the sum are one Morph.
constexpr DroplessNames getDropless() {
  DroplessNames names;
  for (llvm::StringRef *name :
       {&names.transposeChoices, &names.reshape, &names.cast, &names.sort,
        &names.remainder, &names.gather, &names.oneHot, &names.transposePlaces,
        &names.safeIds, &names.safeSort, &names.safeGather, &names.safeCounts,
        &names.safeSlice, &names.morph, &names.gatherBack, &names.weigh,
        &names.sum})
    *name = "experts.morphed_forward";
  names.castWeight = "experts.cast_op";
  return names;
}

constexpr OperatorNames getOperators() {
  OperatorNames names;
  names.residualDropout = "hidden_states_dropout.dropout";
  names.streamsHead = "decoder.hc_head";
  names.gather = "word_embeddings.gather";
  names.biasAdd = "add";

  AttentionNames &attention = names.attention;
  attention.cell = "self_attention";
  attention.transposeHeads = "core_attention.bnsd_transpose";
  attention.rotary = {
      "apply_rotary_pos_emb", "cast", "split", "neg", "cat", "mul", "add"};
  attention.flash = "core_attention.flash_attention";
  attention.scores = {"tile_kv",
                      "core_attention.bmm_qk",
                      "core_attention.mul",
                      "core_attention.add",
                      "core_attention.cast",
                      "core_attention.softmax",
                      "core_attention.cast",
                      "core_attention.bmm_qkv"};
  attention.mergeTranspose = "core_attention.fa_out_transpose";
  attention.mergeReshape = "core_attention.reshape";
  attention.castResult = "self_attention.linear_proj.cast";

  FeedForwardNames &feedForward = names.feedForward;
  feedForward.cell = "mlp";
  feedForward.reshape = "reshape";
  feedForward.split = "split";
  feedForward.concatenatedActivation = "activation_func.silu";
  feedForward.multiply = "mul";
  feedForward.activationSplit = "activation_func.slice";
  feedForward.activationMultiply = "activation_func.mul";
  feedForward.castResult = "mlp.linear_fc2.cast";

  NextTokenNames &next = names.nextTokens;
  next.embedding = "mtp.embeddings";
  next.table = "word_embeddings.weight";
  next.layer = "transformer_layer";
  next.streamsHead = "hc_head";

  names.latent = getLatent();

  ExpertNames &experts = names.experts;
  experts.cell = "mlp";
  experts.tokenTable = "router.tid2eid";
  experts.cast = "experts.cast_op";
  experts.castGate = "shared_experts.cast";
  experts.activateGate = "shared_experts.sigmoid";
  experts.applyGate = "shared_experts.mul_shared_gate";
  experts.castResult = "mlp.experts.cast_op";
  experts.router = getRouter();
  experts.dropless = getDropless();
  return names;
}

} // namespace mcore

static constexpr FamilyRecord makeMcore() {
  FamilyRecord family = {
      "mcore",
      {"decoder.layers", mcore::model, mcore::layer, "mtp.layers", mcore::join},
      mcore::getOperators()};
  // A model may be wrapped in one more Cell.
  family.cells.extraPrefix = "model.";
  family.keepsRows = true;
  family.isMcore = true;
  family.joinsAfterNorm = true;
  family.selection = mcore::selection;
  return family;
}
constexpr FamilyRecord mcoreFamily = makeMcore();

} // namespace mf
