//===- LatentNameTable.cpp - Names of latent attention --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The names of latent attention, and of the layers that predict additional
// tokens, which the same models have. MindSpore Transformers:
// research/deepseek3/deepseek2_model.py and deepseek3_model_train.py,
// multi_latent_attention.py and multi_token_prediction.py of
// parallel_core/training_graph/transformer; Hugging Face: DeepSeek-V2 and V3.
//
//===----------------------------------------------------------------------===//

#include "NameSchemeSets.h"
#include "ParameterNameTable.h"

using namespace llvm;

namespace mf {

namespace {

using Part = ParameterPart;

constexpr uint8_t anyLatent = 0b110;
constexpr uint8_t latentQueries = 0b010;
constexpr uint8_t directQueries = 0b100;

/// Returns a pattern with rows as in MindSpore Transformers' older classes: the
/// two halves of the rotated part follow each other.
constexpr ParameterPattern halves(uint32_t schemes, const char *name,
                                  PartList parts) {
  return {schemes,          name,     parts, RowOrder::Contiguous,
          TensorForm::Rows, anyLatent};
}

/// Returns a pattern with rows as in DeepSeek: pairs are rotated, and parts are
/// stored together head by head if `order` is Grouped.
constexpr ParameterPattern pairs(uint32_t schemes, const char *name,
                                 PartList parts,
                                 RowOrder order = RowOrder::Contiguous,
                                 uint8_t kinds = anyLatent) {
  return {schemes, name, parts, order, TensorForm::Rows, kinds, true};
}

constexpr ParameterPattern patterns[] = {
    halves(llamaExperts, "model.layers.#.attention.q2l_proj.weight",
           Part::QueryDown),
    halves(llamaExperts, "model.layers.#.attention.lq_norm.weight",
           Part::QueryDownNorm),
    halves(llamaExperts, "model.layers.#.attention.l2q_nope_proj.weight",
           Part::QueryNope),
    halves(llamaExperts, "model.layers.#.attention.l2q_pe_proj.weight",
           Part::QueryRope),
    halves(llamaExperts, "model.layers.#.attention.kv2l_latent_kv.weight",
           Part::KeyValueDown),
    halves(llamaExperts, "model.layers.#.attention.kv2l_k_pe.weight",
           Part::KeyRope),
    halves(llamaExperts, "model.layers.#.attention.lkv_norm.weight",
           Part::KeyValueDownNorm),
    halves(llamaExperts, "model.layers.#.attention.lkv2kv_k_nope.weight",
           Part::KeyNope),
    halves(llamaExperts, "model.layers.#.attention.lkv2kv_v.weight",
           Part::ValueUp),
    // Names of the mcore training graph, whose rows are in DeepSeek's order.
    pairs(mcoreConcatenated,
          "decoder.layers.#.self_attention.linear_qkv.weight",
          {Part::QueryDown, Part::KeyValueDown, Part::KeyRope},
          RowOrder::Contiguous, latentQueries),
    pairs(mcore, "decoder.layers.#.self_attention.q_layernorm.weight",
          Part::QueryDownNorm),
    pairs(mcoreConcatenated,
          "decoder.layers.#.self_attention.k_layernorm.weight",
          Part::KeyValueDownNorm),
    pairs(mcoreConcatenated, "decoder.layers.#.self_attention.linear_qb.weight",
          {Part::QueryNope, Part::QueryRope}, RowOrder::Grouped, latentQueries),
    pairs(mcoreConcatenated,
          "decoder.layers.#.self_attention.linear_kvb.weight",
          {Part::KeyNope, Part::ValueUp}, RowOrder::Grouped),
    pairs(mcoreSeparate,
          "decoder.layers.#.self_attention.linear_q_down_proj.weight",
          Part::QueryDown),
    pairs(mcoreSeparate,
          "decoder.layers.#.self_attention.linear_q_up_proj.weight",
          {Part::QueryNope, Part::QueryRope}, RowOrder::Grouped, latentQueries),
    pairs(mcoreSeparate, "decoder.layers.#.self_attention.linear_q_proj.weight",
          {Part::QueryNope, Part::QueryRope}, RowOrder::Grouped, directQueries),
    pairs(mcoreSeparate,
          "decoder.layers.#.self_attention.linear_kv_down_proj.weight",
          {Part::KeyValueDown, Part::KeyRope}),
    pairs(mcoreSeparate, "decoder.layers.#.self_attention.kv_layernorm.weight",
          Part::KeyValueDownNorm),
    pairs(mcoreSeparate,
          "decoder.layers.#.self_attention.linear_kv_up_proj.weight",
          {Part::KeyNope, Part::ValueUp}, RowOrder::Grouped),
    // Names of Hugging Face's DeepSeek models.
    pairs(hfDeepSeek, "model.layers.#.self_attn.q_a_proj.weight",
          Part::QueryDown),
    pairs(hfDeepSeek, "model.layers.#.self_attn.q_a_layernorm.weight",
          Part::QueryDownNorm),
    pairs(hfDeepSeek, "model.layers.#.self_attn.q_b_proj.weight",
          {Part::QueryNope, Part::QueryRope}, RowOrder::Grouped, latentQueries),
    pairs(hfDeepSeek, "model.layers.#.self_attn.q_proj.weight",
          {Part::QueryNope, Part::QueryRope}, RowOrder::Grouped, directQueries),
    pairs(hfDeepSeek, "model.layers.#.self_attn.kv_a_proj_with_mqa.weight",
          {Part::KeyValueDown, Part::KeyRope}),
    pairs(hfDeepSeek, "model.layers.#.self_attn.kv_a_layernorm.weight",
          Part::KeyValueDownNorm),
    pairs(hfDeepSeek, "model.layers.#.self_attn.kv_b_proj.weight",
          {Part::KeyNope, Part::ValueUp}, RowOrder::Grouped),
};

/// Returns a pattern of parts that are side by side in one tensor.
constexpr ParameterPattern columns(uint32_t schemes, const char *name,
                                   PartList parts) {
  return {schemes, name, parts, RowOrder::Contiguous, TensorForm::Columns};
}

constexpr ParameterPattern predictionPatterns[] = {
    {llamaExperts, "model.mtp_hidden_fusers.%.norm.weight",
     Part::PredictionHiddenNorm},
    {llamaExperts, "model.mtp_hidden_fusers.%.norm_emb.weight",
     Part::PredictionEmbeddingNorm},
    columns(llamaExperts, "model.mtp_hidden_fusers.%.dense.weight",
            {Part::PredictionFromHidden, Part::PredictionFromEmbedding}),
    {llamaExperts, "model.mtp_norms.%.weight", Part::PredictionNorm},
    {mcore, "mtp.layers.%.hnorm.weight", Part::PredictionHiddenNorm},
    {mcore, "mtp.layers.%.enorm.weight", Part::PredictionEmbeddingNorm},
    columns(mcore, "mtp.layers.%.eh_proj.weight",
            {Part::PredictionFromEmbedding, Part::PredictionFromHidden}),
    {mcore, "mtp.layers.%.final_layernorm.weight", Part::PredictionNorm},
    {hfDeepSeek, "model.layers.#.hnorm.weight", Part::PredictionHiddenNorm},
    {hfDeepSeek, "model.layers.#.enorm.weight", Part::PredictionEmbeddingNorm},
    columns(hfDeepSeek, "model.layers.#.eh_proj.weight",
            {Part::PredictionFromEmbedding, Part::PredictionFromHidden}),
    {hfDeepSeek, "model.layers.#.shared_head.norm.weight",
     Part::PredictionNorm},
    {hfDeepSeek, "model.layers.#.embed_tokens.weight",
     Part::PredictionEmbedding},
    {hfDeepSeek, "model.layers.#.shared_head.head.weight",
     Part::PredictionHead},
};

} // namespace

ArrayRef<ParameterPattern> getLatentPatterns() { return patterns; }

ArrayRef<ParameterPattern> getPredictionPatterns() {
  return predictionPatterns;
}

} // namespace mf
