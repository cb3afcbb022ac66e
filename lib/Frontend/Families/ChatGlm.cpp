//===- ChatGlm.cpp - GLM 2 to 4 -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Records.h"

namespace mf {
namespace chat_glm {

using Part = ParameterPart;

constexpr CellRow inferAttention[] = {
    {"", "transpose reshape merger_head_transpose batch_matmul "
         "batch_matmul_q_k mul add shape tile_kv softmax cast not_equal"},
    {"flash_attention", "flash_attention"},
    {"rotary_embedding", "rotary_embedding_op"},
};

constexpr CellRow attention[] = {
    {"", "split_qkv", {}, Fact::QueryKeyValue},
    {"", "shape reshape transpose kv_transpose transpose_back "
         "kv_transpose_back cast tile_kv cp_transpose_before "
         "cp_transpose_kv_before cp_transpose_after merger_head_transpose"},
    linear("query_key_value", PartList(Part::Query, Part::Key, Part::Value),
           Fact::QueryKeyValue, Fact::QueryKeyValueBias),
    linear("wq", Part::Query, !Fact::QueryKeyValue, Fact::QueryKeyValueBias),
    linear("wk", Part::Key, !Fact::QueryKeyValue, Fact::QueryKeyValueBias),
    linear("wv", Part::Value, !Fact::QueryKeyValue, Fact::QueryKeyValueBias),
    linear("dense", Part::AttentionOutput),
    inside("infer_attention", inferAttention),
    {"core_attention", "mul_mask add batch_matmul_q_k batch_matmul "
                       "merger_head_transpose reshape transpose cast"},
    dropout("core_attention.attention_dropout"),
    {"core_attention.softmax", "softmax"},
    {"apply_rotary_emb_classic", "reshape stack mul sub add concat cast"},
    {"flash_attention", "flash_attention", {}, Fact::Flash},
};

constexpr CellRow feedForward[] = {
    {"", "split", {}, Fact::GateUp},
    linear("dense_h_to_4h", PartList(Part::Gate, Part::Up), Fact::GateUp),
    linear("dense_left", Part::Gate, !Fact::GateUp),
    linear("dense_right", Part::Up, !Fact::GateUp),
    {"activation_func", "mul"},
    {"activation_func.silu", "silu"},
    linear("dense_4h_to_h", Part::Down),
};

constexpr CellRow layer[] = {
    {"", "add cast"},
    {"input_layernorm", "norm cast", Part::AttentionNorm},
    inside("self_attention", attention),
    {"post_attention_layernorm", "norm cast", Part::FeedForwardNorm},
    inside("mlp", feedForward),
    dropout("dropout"),
};

constexpr CellRow model[] = {
    parameter("transformer.embedding.embedding_weight", Part::Embedding),
    tensor("transformer.encoder.final_layernorm", Part::FinalNorm),
    tensor("transformer.output_layer", Part::Head),
};

/// The classes of THUDM, whose layers have the same names.
constexpr CellRow theirModel[] = {
    tensor("transformer.embedding.word_embeddings", Part::Embedding),
    tensor("transformer.encoder.final_layernorm", Part::FinalNorm),
    tensor("transformer.output_layer", Part::Head),
};

//===----------------------------------------------------------------------===//
// Names of operators
//===----------------------------------------------------------------------===//

constexpr OperatorNames getOperators() {
  OperatorNames names;
  names.residualDropout = "dropout.dropout";
  names.gather = "embedding.gather";

  AttentionNames &attention = names.attention;
  attention.cell = "self_attention";
  // The class separates the pairs by indexing, which has no name of its own. It
  // has the name of the preceding reshape.
  attention.rotary = {"apply_rotary_emb_classic",
                      "apply_rotary_emb_classic.cast",
                      "reshape",
                      "sub",
                      "concat",
                      "mul",
                      "add",
                      "reshape",
                      "sub",
                      "stack"};
  attention.flash = "flash_attention.flash_attention";
  attention.scores = {"tile_kv",
                      "core_attention.batch_matmul_q_k",
                      "core_attention.mul_mask",
                      "core_attention.add",
                      "core_attention.cast",
                      "core_attention.softmax.softmax",
                      "core_attention.cast",
                      "core_attention.batch_matmul",
                      "",
                      "core_attention.attention_dropout.dropout"};
  attention.castResult = "cast";

  FeedForwardNames &feedForward = names.feedForward;
  feedForward.cell = "mlp";
  feedForward.reshape = "split";
  feedForward.split = "split";
  feedForward.activation = "activation_func.silu.silu";
  feedForward.concatenatedActivation = "activation_func.silu.silu";
  feedForward.multiply = "activation_func.mul";
  feedForward.castResult = "cast";
  return names;
}

} // namespace chat_glm

static constexpr FamilyRecord makeChatGlm() {
  FamilyRecord family = {
      "chatglm",
      {"transformer.encoder.layers", chat_glm::model, chat_glm::layer},
      chat_glm::getOperators()};
  family.huggingFace = NameScheme::HuggingFaceChatGlm;
  family.prefix = PrefixHeads::Keys;
  family.copiesKeyValueHeads = true;
  family.keepsRows = true;
  family.keepsRowsInHead = true;
  return family;
}
constexpr FamilyRecord chatGlmFamily = makeChatGlm();

constexpr ModelCells huggingFaceChatGlmCells = {
    "transformer.encoder.layers", chat_glm::theirModel, chat_glm::layer};

} // namespace mf
