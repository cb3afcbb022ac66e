//===- Gpt2.cpp - GPT-2 ---------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The weights after attention and in the feed forward are [in, out], as in
// Hugging Face's class.
//
//===----------------------------------------------------------------------===//

#include "Records.h"

namespace mf {
namespace gpt2 {

using Part = ParameterPart;

constexpr CellRow attention[] = {
    {"", "transpose merger_head_transpose reshape concat_k concat_v "
         "batch_matmul real_div sub sub_sa mul add softmax_cast "
         "softmax_reshape expand_dims"},
    biasedLinear("projection", Part::AttentionOutput),
    dropout("dropout"),
    dropout("prob_dropout"),
    {"softmax", "softmax"},
    {"softmax_3d", "softmax"},
    biasedLinear("dense1", Part::Query),
    biasedLinear("dense2", Part::Key),
    biasedLinear("dense3", Part::Value),
    {"flash_attention", "flash_attention", {}, Fact::Flash},
};

constexpr CellRow layer[] = {
    {"", "add add_3d reshape"},
    layerNorm("layernorm1", Part::AttentionNorm),
    layerNorm("layernorm2", Part::FeedForwardNorm),
    inside("attention", attention),
    {"output", "cast"},
    biasedLinear("output.mapping", Part::Up),
    {"output.mapping.activation", "fast_gelu", {}, Fact::FastGelu},
    {"output.mapping.activation", "gelu", {}, !Fact::FastGelu},
    biasedLinear("output.projection", Part::Down),
    dropout("output.dropout"),
    dropout("output.dropout_3d"),
    dropout("output.dropout_4d"),
};

constexpr CellRow model[] = {
    parameter("backbone.embedding.word_embedding.embedding_table",
              Part::Embedding),
    parameter("backbone.embedding.position_embedding.embedding_table",
              Part::Positions),
    tensor("backbone.layernorm", Part::FinalNorm),
    tensor("head", Part::Head, Fact::TransposedHeads),
};

/// The class in transformers, whose head is the table of embeddings.
constexpr CellRow theirLayer[] = {
    tensor("ln_1", Part::AttentionNorm),
    tensor("attn.c_attn",
           {{Part::Query, Part::Key, Part::Value},
            RowOrder::Contiguous,
            TensorForm::Transposed},
           Fact::TransposedHeads),
    tensor("attn.c_proj", Part::AttentionOutput),
    tensor("ln_2", Part::FeedForwardNorm),
    tensor("mlp.c_fc", Part::Up),
    tensor("mlp.c_proj", Part::Down),
};

constexpr CellRow theirModel[] = {
    tensor("transformer.wte", Part::Embedding),
    tensor("transformer.wpe", Part::Positions),
    tensor("transformer.ln_f", Part::FinalNorm),
    tensor("lm_head", Part::Head),
};

//===----------------------------------------------------------------------===//
// Names of operators
//===----------------------------------------------------------------------===//

constexpr OperatorNames getOperators() {
  OperatorNames names;
  names.embeddingDropout = "embedding.dropout.dropout";
  names.positionAdd = "embedding.add";
  names.gather = "embedding.word_embedding.gather";

  AttentionNames &attention = names.attention;
  attention.cell = "attention";
  attention.flash = "flash_attention.flash_attention";
  attention.scores.product = "batch_matmul";
  attention.scores.mask = "add";
  attention.scores.castIn = "softmax_cast";
  attention.scores.softmax = "softmax.softmax";
  attention.scores.castOut = "cast";
  attention.scores.weightedSum = "batch_matmul";
  attention.scores.dropout = "prob_dropout.dropout";
  attention.scores.scaleHeads = "real_div";
  attention.dropout = "dropout.dropout";
  attention.castResult = "attention.cast";

  FeedForwardNames &feedForward = names.feedForward;
  feedForward.cell = "output";
  feedForward.cast = "cast";
  feedForward.activation = "mapping.activation.gelu";
  feedForward.fastActivation = "mapping.activation.fast_gelu";
  feedForward.dropout = "dropout.dropout";
  feedForward.castResult = "output.cast";
  return names;
}

} // namespace gpt2

static constexpr FamilyRecord makeGpt2() {
  FamilyRecord family = {
      "gpt2",
      {"backbone.blocks", gpt2::model, gpt2::layer, "", {}, "~"},
      gpt2::getOperators(),
      Fact::TransposedHeads};
  family.huggingFace = NameScheme::HuggingFaceGpt2;
  return family;
}
constexpr FamilyRecord gpt2Family = makeGpt2();

/// The files of the first release are those of the model without a head.
constexpr ModelCells huggingFaceGpt2Cells = {"transformer.h",
                                             gpt2::theirModel,
                                             gpt2::theirLayer,
                                             "",
                                             {},
                                             "*",
                                             /*extraPrefix=*/"",
                                             /*missingPrefix=*/"transformer."};

} // namespace mf
