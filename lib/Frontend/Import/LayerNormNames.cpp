//===- LayerNormNames.cpp - Names of families with LayerNorm --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FamilyNames.h"

namespace mf {

FamilyNames getGlmNames() {
  FamilyNames names;
  names.embeddingDropout = "embedding_dropout.dropout";
  names.embeddingWeight = "transformer.word_embeddings.embedding_table";
  names.layers = "transformer.layers";
  names.finalNorm = "transformer.final_layernorm";
  names.head = "lm_head";
  names.gather = "word_embeddings.gather";
  names.inputNorm = "input_layernorm";
  names.postAttentionNorm = "post_attention_layernorm";
  names.residualScale = "mul";
  names.norm = "layer_norm";
  names.normWeight = "gamma";
  names.normBias = "beta";
  names.normCastOut = "cast";
  names.biasAdd = "bias_add";

  AttentionNames &attention = names.attention;
  attention.cell = "attention";
  attention.queryKeyValue = "query_key_value";
  attention.splitQueryKeyValue = "split_qkv";
  attention.splitHeads = "reshape";
  attention.transposeHeads = "transpose";
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
  attention.mergeTranspose = "merger_head_transpose";
  attention.mergeReshape = "reshape";
  attention.output = "dense";
  attention.dropout = "output_dropout.dropout";
  attention.castResult = "attention.dense.cast";

  FeedForwardNames &feedForward = names.feedForward;
  feedForward.cell = "mlp";
  feedForward.up = "dense_h_to_4h";
  feedForward.down = "dense_4h_to_h";
  feedForward.activation = "activation_func.gelu";
  feedForward.dropout = "dropout.dropout";
  feedForward.castResult = "mlp.dense_4h_to_h.cast";
  return names;
}

FamilyNames getGpt2Names() {
  FamilyNames names;
  names.embeddingDropout = "embedding.dropout.dropout";
  names.embeddingWeight = "backbone.embedding.word_embedding.embedding_table";
  names.positionWeight =
      "backbone.embedding.position_embedding.embedding_table";
  names.positionAdd = "embedding.add";
  names.layers = "backbone.blocks";
  names.finalNorm = "backbone.layernorm";
  names.head = "head";
  names.gather = "embedding.word_embedding.gather";
  names.inputNorm = "layernorm1";
  names.postAttentionNorm = "layernorm2";
  names.norm = "layer_norm";
  names.normWeight = "gamma";
  names.normBias = "beta";
  names.normCastOut = "cast";
  names.biasAdd = "bias_add";

  AttentionNames &attention = names.attention;
  attention.cell = "attention";
  attention.query = "dense1";
  attention.key = "dense2";
  attention.value = "dense3";
  attention.splitHeads = "reshape";
  attention.transposeHeads = "transpose";
  attention.flash = "flash_attention.flash_attention";
  attention.scores.product = "batch_matmul";
  attention.scores.mask = "add";
  attention.scores.castIn = "softmax_cast";
  attention.scores.softmax = "softmax.softmax";
  attention.scores.castOut = "cast";
  attention.scores.weightedSum = "batch_matmul";
  attention.scores.dropout = "prob_dropout.dropout";
  attention.scores.scaleHeads = "real_div";
  attention.mergeTranspose = "merger_head_transpose";
  attention.mergeReshape = "reshape";
  attention.output = "projection";
  attention.dropout = "dropout.dropout";
  attention.castResult = "attention.cast";

  FeedForwardNames &feedForward = names.feedForward;
  feedForward.cell = "output";
  feedForward.cast = "cast";
  feedForward.up = "mapping";
  feedForward.down = "projection";
  feedForward.activation = "mapping.activation.gelu";
  feedForward.fastActivation = "mapping.activation.fast_gelu";
  feedForward.dropout = "dropout.dropout";
  feedForward.castResult = "output.cast";
  return names;
}

FamilyNames getSparkNames() {
  FamilyNames names;
  names.residualDropout = "dropout.dropout";
  names.embeddingDropout = "embedding.embedding_dropout.dropout";
  names.embeddingWeight =
      "transformer.embedding.word_embeddings.embedding_table";
  names.layers = "transformer.transformer.layers";
  names.finalNorm = "transformer.transformer.layernorm";
  names.head = "lm_head";
  names.gather = "embedding.word_embeddings.gather";
  names.inputNorm = "layer_norm";
  names.postAttentionNorm = "final_layer_norm";
  names.norm = "layer_norm";
  names.normWeight = "gamma";
  names.normBias = "beta";
  names.normCastOut = "cast";
  names.biasAdd = "bias_add";

  AttentionNames &attention = names.attention;
  attention.cell = "attention";
  attention.query = "q_proj";
  attention.key = "k_proj";
  attention.value = "v_proj";
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
  attention.output = "out_proj";
  attention.castResult = "attention.cast";

  FeedForwardNames &feedForward = names.feedForward;
  feedForward.cell = "mlp";
  feedForward.gate = "fc0";
  feedForward.up = "fc1";
  feedForward.down = "fc2";
  feedForward.activation = "activation_fn";
  feedForward.multiply = "mul";
  feedForward.castResult = "mlp.cast";
  return names;
}

} // namespace mf
