//===- Spark.cpp - iFlytekSpark -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Records.h"

namespace mf {
namespace spark {

using Part = ParameterPart;

constexpr CellRow attention[] = {
    biasedLinear("q_proj", Part::Query),
    biasedLinear("k_proj", Part::Key),
    biasedLinear("v_proj", Part::Value),
    {"core_attention", "bmm_q_k bmm cast1 cast2 transpose "
                       "merger_head_transpose expand_dims add mul softmax "
                       "shape real_div"},
    {"core_attention.rotary_embedding", "bmm add mul shape"},
    dropout("core_attention.attention_dropout"),
    {"core_attention.flash_attention", "flash_attention"},
    biasedLinear("out_proj", Part::AttentionOutput),
};

constexpr CellRow layer[] = {
    {"", "add"},
    layerNorm("layer_norm", Part::AttentionNorm),
    inside("attention", attention),
    layerNorm("final_layer_norm", Part::FeedForwardNorm),
    {"mlp", "mul activation_fn"},
    biasedLinear("mlp.fc0", Part::Gate),
    biasedLinear("mlp.fc1", Part::Up),
    biasedLinear("mlp.fc2", Part::Down),
    dropout("dropout"),
};

constexpr CellRow model[] = {
    parameter("transformer.embedding.word_embeddings.embedding_table",
              Part::Embedding),
    tensor("transformer.transformer.layernorm", Part::FinalNorm),
    tensor("lm_head", Part::Head),
};

//===----------------------------------------------------------------------===//
// Names of operators
//===----------------------------------------------------------------------===//

constexpr OperatorNames getOperators() {
  OperatorNames names;
  names.residualDropout = "dropout.dropout";
  names.embeddingDropout = "embedding.embedding_dropout.dropout";
  names.gather = "embedding.word_embeddings.gather";

  AttentionNames &attention = names.attention;
  attention.cell = "attention";
  attention.splitHeads = "core_attention.reshape";
  attention.transposeHeads = "core_attention.transpose";
  // The class swaps halves by a product with a constant matrix.
  attention.rotary = {"core_attention.rotary_embedding",
                      "core_attention.rotary_embedding.cast",
                      "bmm",
                      "bmm",
                      "bmm",
                      "mul",
                      "add"};
  attention.flash = "core_attention.flash_attention.flash_attention";
  attention.mergeTranspose = "core_attention.merger_head_transpose";
  attention.mergeReshape = "core_attention.reshape";
  attention.castResult = "attention.cast";

  FeedForwardNames &feedForward = names.feedForward;
  feedForward.cell = "mlp";
  feedForward.activation = "activation_fn";
  feedForward.multiply = "mul";
  feedForward.castResult = "mlp.cast";
  return names;
}

} // namespace spark

constexpr FamilyRecord sparkFamily = {
    "spark",
    {"transformer.transformer.layers", spark::model, spark::layer, "", {}, "~"},
    spark::getOperators()};

} // namespace mf
