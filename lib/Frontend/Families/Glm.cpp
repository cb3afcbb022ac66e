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

//===----------------------------------------------------------------------===//
// Names of operators
//===----------------------------------------------------------------------===//

constexpr OperatorNames getOperators() {
  OperatorNames names;
  names.embeddingDropout = "embedding_dropout.dropout";
  names.gather = "word_embeddings.gather";
  names.residualScale = "mul";

  AttentionNames &attention = names.attention;
  attention.cell = "attention";
  attention.rotary = {"rotary_emb", "rotary_emb.cast",
                      "slice",      "neg",
                      "concat",     "mul",
                      "add",        "",
                      "",           "",
                      "split",      "concat_query"};
  attention.scores.product = "matmul";
  attention.scores.scale = "div";
  attention.scores.mask = "masked_fill";
  attention.scores.castIn = "cast";
  attention.scores.softmax = "softmax.softmax";
  attention.scores.castOut = "cast";
  attention.scores.weightedSum = "matmul";
  attention.scores.dropout = "attention_dropout.dropout";
  attention.scores.scaleHeads = "div";
  attention.scores.scaleLayer = "mul";
  attention.dropout = "output_dropout.dropout";
  attention.castResult = "attention.dense.cast";

  FeedForwardNames &feedForward = names.feedForward;
  feedForward.cell = "mlp";
  feedForward.activation = "activation_func.gelu";
  feedForward.dropout = "dropout.dropout";
  feedForward.castResult = "mlp.dense_4h_to_h.cast";
  return names;
}

} // namespace glm

static constexpr FamilyRecord makeGlm() {
  FamilyRecord family = {
      "glm",
      {"transformer.layers", glm::model, glm::layer, "", {}, "~"},
      glm::getOperators()};
  family.huggingFace = NameScheme::HuggingFaceGlm;
  return family;
}
constexpr FamilyRecord glmFamily = makeGlm();

constexpr ModelCells huggingFaceGlmCells = {
    "transformer.layers", glm::theirModel, glm::layer, "", {}, "*"};

} // namespace mf
