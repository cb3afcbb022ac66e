//===- HuggingFace.cpp - Relatives of Llama in Hugging Face ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The state dicts of the model classes in transformers, and of the classes in
// the models' own repositories.
//
//===----------------------------------------------------------------------===//

#include "Records.h"

namespace mf {
namespace hugging_face {

using Part = ParameterPart;

constexpr CellRow model[] = {
    tensor("model.embed_tokens", Part::Embedding),
    tensor("model.norm", Part::FinalNorm),
    tensor("lm_head", Part::Head),
};

constexpr CellRow common[] = {
    tensor("input_layernorm", Part::AttentionNorm),
    tensor("self_attn.o_proj", Part::AttentionOutput),
    tensor("post_attention_layernorm", Part::FeedForwardNorm),
    tensor("mlp.gate_proj", Part::Gate),
    tensor("mlp.up_proj", Part::Up),
    tensor("mlp.down_proj", Part::Down),
};

constexpr CellRow dense[] = {
    inside("", common),
    tensor("self_attn.q_proj", Part::Query, Fact::Heads),
    tensor("self_attn.k_proj", Part::Key),
    tensor("self_attn.v_proj", Part::Value),
    tensor("self_attn.q_norm", Part::QueryNorm),
    tensor("self_attn.k_norm", Part::KeyNorm),
};

constexpr CellRow experts[] = {
    tensor("mlp.gate", Part::Router),
    tensor("mlp.experts.@.gate_proj", Part::ExpertGate),
    tensor("mlp.experts.@.up_proj", Part::ExpertUp),
    tensor("mlp.experts.@.down_proj", Part::ExpertDown),
};

constexpr CellRow layer[] = {inside("", dense), inside("", experts)};

constexpr CellRow mixtralLayer[] = {
    inside("", dense),
    tensor("block_sparse_moe.gate", Part::Router),
    tensor("block_sparse_moe.experts.@.w1", Part::ExpertGate),
    tensor("block_sparse_moe.experts.@.w3", Part::ExpertUp),
    tensor("block_sparse_moe.experts.@.w2", Part::ExpertDown),
};

constexpr CellRow qwen2MoeLayer[] = {
    inside("", layer),
    tensor("mlp.shared_expert.gate_proj", Part::SharedGate),
    tensor("mlp.shared_expert.up_proj", Part::SharedUp),
    tensor("mlp.shared_expert.down_proj", Part::SharedDown),
    tensor("mlp.shared_expert_gate", Part::SharedRouter),
};

constexpr Stored pairs(PartList parts, RowOrder order = RowOrder::Contiguous) {
  Stored stored(parts, order);
  stored.rotatesPairs = true;
  return stored;
}

constexpr CellRow deepSeekLatent[] = {
    tensor("q_a_proj", pairs(Part::QueryDown)),
    tensor("q_a_layernorm", pairs(Part::QueryDownNorm)),
    tensor("q_b_proj",
           pairs({Part::QueryNope, Part::QueryRope}, RowOrder::Grouped),
           Fact::LatentQuery),
    tensor("q_proj",
           pairs({Part::QueryNope, Part::QueryRope}, RowOrder::Grouped),
           !Fact::LatentQuery),
    tensor("kv_a_proj_with_mqa", pairs({Part::KeyValueDown, Part::KeyRope})),
    tensor("kv_a_layernorm", pairs(Part::KeyValueDownNorm)),
    tensor("kv_b_proj",
           pairs({Part::KeyNope, Part::ValueUp}, RowOrder::Grouped)),
};

constexpr CellRow deepSeekLayer[] = {
    inside("", layer),
    parameter("mlp.gate.e_score_correction_bias", Part::RouterBias),
    parameter("mlp.gate.tid2eid", Part::TokenExperts),
    tensor("mlp.shared_experts.gate_proj", Part::SharedGate),
    tensor("mlp.shared_experts.up_proj", Part::SharedUp),
    tensor("mlp.shared_experts.down_proj", Part::SharedDown),
    inside("self_attn", deepSeekLatent, Fact::Latent),
    tensor("hnorm", Part::PredictionHiddenNorm),
    tensor("enorm", Part::PredictionEmbeddingNorm),
    tensor("eh_proj",
           {{Part::PredictionFromEmbedding, Part::PredictionFromHidden},
            RowOrder::Contiguous,
            TensorForm::Columns}),
    tensor("shared_head.norm", Part::PredictionNorm),
    tensor("embed_tokens", Part::PredictionEmbedding),
    tensor("shared_head.head", Part::PredictionHead),
};

constexpr CellRow baichuanLayer[] = {
    inside("", common),
    tensor("self_attn.W_pack", PartList(Part::Query, Part::Key, Part::Value)),
};

//===----------------------------------------------------------------------===//
// The first Qwen and TeleChat
//===----------------------------------------------------------------------===//

/// The activation is applied to the result of w2.
constexpr CellRow qwenLayer[] = {
    tensor("ln_1", Part::AttentionNorm),
    tensor("attn.c_attn", PartList(Part::Query, Part::Key, Part::Value),
           Fact::Heads),
    tensor("attn.c_proj", Part::AttentionOutput),
    tensor("ln_2", Part::FeedForwardNorm),
    tensor("mlp.w2", Part::Gate),
    tensor("mlp.w1", Part::Up),
    tensor("mlp.c_proj", Part::Down),
};

constexpr CellRow qwenModel[] = {
    tensor("transformer.wte", Part::Embedding),
    tensor("transformer.ln_f", Part::FinalNorm),
    tensor("lm_head", Part::Head),
};

constexpr CellRow telechatLayer[] = {
    tensor("input_layernorm", Part::AttentionNorm),
    tensor("self_attention.query", Part::Query),
    tensor("self_attention.key_value",
           {{Part::Key, Part::Value}, RowOrder::Grouped}),
    tensor("self_attention.dense", Part::AttentionOutput),
    tensor("post_attention_layernorm", Part::FeedForwardNorm),
    tensor("mlp.gate_proj", Part::Gate),
    tensor("mlp.up_proj", Part::Up),
    tensor("mlp.down_proj", Part::Down),
};

constexpr CellRow telechatModel[] = {
    tensor("transformer.word_embeddings", Part::Embedding),
    tensor("transformer.ln_f", Part::FinalNorm),
    tensor("lm_head", Part::Head),
};

} // namespace hugging_face

constexpr ModelCells huggingFaceCells = {"model.layers", hugging_face::model,
                                         hugging_face::layer};
constexpr ModelCells huggingFaceQwen2MoeCells = {
    "model.layers", hugging_face::model, hugging_face::qwen2MoeLayer};
constexpr ModelCells huggingFaceBaichuanCells = {
    "model.layers", hugging_face::model, hugging_face::baichuanLayer};
constexpr ModelCells huggingFaceQwenCells = {
    "transformer.h", hugging_face::qwenModel, hugging_face::qwenLayer};
constexpr ModelCells huggingFaceTelechatCells = {
    "transformer.h", hugging_face::telechatModel, hugging_face::telechatLayer};
constexpr ModelCells huggingFaceMixtralCells = {
    "model.layers", hugging_face::model, hugging_face::mixtralLayer};
constexpr ModelCells huggingFaceDeepSeekCells = {
    "model.layers", hugging_face::model, hugging_face::deepSeekLayer};

} // namespace mf
