//===- FamilyNames.cpp - Names of Cells and parameters per family ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "FamilyNames.h"

namespace mf {

static FamilyNames getLlamaNames() {
  FamilyNames names;
  names.embeddingWeight = "model.tok_embeddings.embedding_weight";
  names.layers = "model.layers";
  names.finalNorm = "model.norm_out";
  names.head = "lm_head";
  names.gather = "tok_embeddings.gather";
  names.inputNorm = "attention_norm";
  names.postAttentionNorm = "ffn_norm";
  names.normCastOut = "rcast";
  names.biasAdd = "bias_add";

  AttentionNames &attention = names.attention;
  attention.cell = "attention";
  attention.query = "wq";
  attention.key = "wk";
  attention.value = "wv";
  attention.keyValue = "wk_v";
  attention.splitKeyValue = "split_kv";
  attention.queryKeyValue = "w_qkv";
  attention.splitQueryKeyValue = "split_qkv";
  attention.splitHeads = "reshape";
  attention.transposeHeads = "transpose";
  attention.rotary = {"apply_rotary_emb",
                      "apply_rotary_emb.cast",
                      "slice",
                      "neg",
                      "concat",
                      "mul",
                      "add"};
  attention.flash = "flash_attention.flash_attention";
  attention.scores = {"tile_kv", "batch_matmul_q_k", "mul",
                      "add",     "cast_attn",        "softmax",
                      "cast",    "batch_matmul",     "add_alibi"};
  attention.mergeTranspose = "merger_head_transpose";
  attention.mergeReshape = "reshape";
  attention.output = "wo";
  attention.castResult = "attention.cast";

  FeedForwardNames &feedForward = names.feedForward;
  feedForward.cell = "feed_forward";
  feedForward.cast = "cast";
  feedForward.gate = "w1";
  feedForward.up = "w3";
  feedForward.gateUp = "w_gate_hidden";
  feedForward.reshape = "reshape";
  feedForward.split = "split";
  feedForward.down = "w2";
  feedForward.activation = "w1.activation.silu";
  feedForward.concatenatedActivation = "activate.silu";
  feedForward.multiply = "mul";
  feedForward.castResult = "cast";
  return names;
}

static FamilyNames getDeepSeekNames() {
  FamilyNames names = getLlamaNames();
  NextTokenNames &next = names.nextTokens;
  next.embedding = "model.mtp_embeddings";
  next.table = "embedding_weight";
  next.fuser = "model.mtp_hidden_fusers";
  next.outputNorm = "model.mtp_norms";
  next.hiddenNorm = "norm";
  next.embeddingNorm = "norm_emb";
  next.concat = "concat";
  next.join = "dense";
  return names;
}

static FamilyNames getInternLm2Names() {
  FamilyNames names = getLlamaNames();
  names.attention.queryKeyValue = "w";
  return names;
}

static FamilyNames getTelechatNames() {
  FamilyNames names = getLlamaNames();
  names.linearDropout = "dropout.dropout";
  names.embeddingDropout = "tok_embeddings.dropout.dropout";
  names.attention.scores.dropout = "attention_dropout.dropout";
  return names;
}

static FamilyNames getQwenNames() {
  FamilyNames names = getLlamaNames();
  names.embeddingWeight = "transformer.wte.embedding_weight";
  names.layers = "transformer.layers";
  names.finalNorm = "transformer.ln_f";
  names.gather = "wte.gather";
  return names;
}

static FamilyNames getChatGlmNames() {
  FamilyNames names;
  names.residualDropout = "dropout.dropout";
  names.embeddingWeight = "transformer.embedding.embedding_weight";
  names.layers = "transformer.encoder.layers";
  names.finalNorm = "transformer.encoder.final_layernorm";
  names.head = "transformer.output_layer";
  names.gather = "embedding.gather";
  names.inputNorm = "input_layernorm";
  names.postAttentionNorm = "post_attention_layernorm";
  names.normCastOut = "cast";
  names.biasAdd = "bias_add";

  AttentionNames &attention = names.attention;
  attention.cell = "self_attention";
  attention.query = "wq";
  attention.key = "wk";
  attention.value = "wv";
  attention.queryKeyValue = "query_key_value";
  attention.splitQueryKeyValue = "split_qkv";
  attention.splitHeads = "reshape";
  attention.transposeHeads = "transpose";
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
  attention.mergeTranspose = "merger_head_transpose";
  attention.mergeReshape = "reshape";
  attention.output = "dense";
  attention.castResult = "cast";

  FeedForwardNames &feedForward = names.feedForward;
  feedForward.cell = "mlp";
  feedForward.gate = "dense_left";
  feedForward.up = "dense_right";
  feedForward.gateUp = "dense_h_to_4h";
  feedForward.reshape = "split";
  feedForward.split = "split";
  feedForward.down = "dense_4h_to_h";
  feedForward.activation = "activation_func.silu.silu";
  feedForward.concatenatedActivation = "activation_func.silu.silu";
  feedForward.multiply = "activation_func.mul";
  feedForward.castResult = "cast";
  return names;
}

static FamilyNames getMcoreNames() {
  FamilyNames names;
  names.residualDropout = "hidden_states_dropout.dropout";
  names.embeddingWeight = "embedding.word_embeddings.weight";
  names.layers = "decoder.layers";
  names.streamsHead = "decoder.hc_head";
  names.finalNorm = "decoder.final_layernorm";
  names.head = "output_layer";
  names.gather = "word_embeddings.gather";
  names.inputNorm = "input_layernorm";
  names.postAttentionNorm = "pre_mlp_layernorm";
  names.normCastOut = "cast";
  names.biasAdd = "add";

  AttentionNames &attention = names.attention;
  attention.cell = "self_attention";
  attention.queryKeyValue = "linear_qkv";
  attention.splitQueryKeyValue = "split_qkv";
  attention.queryNorm = "q_layernorm";
  attention.keyNorm = "k_layernorm";
  attention.splitHeads = "reshape";
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
  attention.output = "linear_proj";
  attention.castResult = "self_attention.linear_proj.cast";

  FeedForwardNames &feedForward = names.feedForward;
  feedForward.cell = "mlp";
  feedForward.gateUp = "linear_fc1";
  feedForward.reshape = "reshape";
  feedForward.split = "split";
  feedForward.down = "linear_fc2";
  feedForward.concatenatedActivation = "activation_func.silu";
  feedForward.multiply = "mul";
  feedForward.activationSplit = "activation_func.slice";
  feedForward.activationMultiply = "activation_func.mul";
  feedForward.castResult = "mlp.linear_fc2.cast";

  NextTokenNames &next = names.nextTokens;
  next.embedding = "mtp.embeddings";
  next.table = "word_embeddings.weight";
  next.fuser = "mtp.layers";
  next.hiddenNorm = "hnorm";
  next.embeddingNorm = "enorm";
  next.concat = "concat";
  next.join = "eh_proj";
  next.layer = "transformer_layer";
  next.innerNorm = "final_layernorm";
  next.streamsHead = "hc_head";
  return names;
}

const FamilyNames &getFamilyNames(ModelFamily family) {
  // In the order of ModelFamily.
  static const FamilyNames records[] = {getLlamaNames(),   getInternLm2Names(),
                                        getQwenNames(),    getTelechatNames(),
                                        getChatGlmNames(), getDeepSeekNames(),
                                        getGlmNames(),     getGpt2Names(),
                                        getSparkNames(),   getMcoreNames()};
  return records[static_cast<size_t>(family)];
}

} // namespace mf
