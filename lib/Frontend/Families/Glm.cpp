//===- Glm.cpp - The first generation of GLM ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Records.h"

namespace mf {
namespace glm {

using Part = ParameterPart;

/// Heads follow each other, each with its query, key and value.
constexpr CellRow attention[] = {
    {"", "matmul reduce_max split merger_head_transpose concat_query "
         "concat_key"},
    {"rotary_emb", "stride_slice mul add squeeze concat"},
    biasedLinear("query_key_value",
                 {{Part::Query, Part::Key, Part::Value}, RowOrder::Grouped}),
    dropout("attention_dropout"),
    biasedLinear("dense", Part::AttentionOutput),
    dropout("output_dropout"),
    {"softmax", "softmax"},
};

constexpr CellRow layer[] = {
    layerNorm("input_layernorm", Part::AttentionNorm),
    inside("attention", attention),
    layerNorm("post_attention_layernorm", Part::FeedForwardNorm),
    {"mlp.activation_func", "gelu"},
    biasedLinear("mlp.dense_h_to_4h", Part::Up),
    biasedLinear("mlp.dense_4h_to_h", Part::Down),
    dropout("mlp.dropout"),
    {"", "mul mul_4"},
};

constexpr CellRow model[] = {
    parameter("transformer.word_embeddings.embedding_table", Part::Embedding),
    tensor("transformer.final_layernorm", Part::FinalNorm),
    tensor("lm_head", Part::Head),
};

/// The class of THUDM, whose layers have the same names.
constexpr CellRow theirModel[] = {
    tensor("transformer.word_embeddings", Part::Embedding),
    tensor("transformer.final_layernorm", Part::FinalNorm),
    tensor("lm_head", Part::Head),
};

} // namespace glm

constexpr ModelCells glmCells = {
    "transformer.layers", glm::model, glm::layer, "", {}, "~"};
constexpr ModelCells huggingFaceGlmCells = {
    "transformer.layers", glm::theirModel, glm::layer, "", {}, "*"};

} // namespace mf
