//===- Gpt2Spec.cpp - GPT2Config ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FamilyReaders.h"

namespace mf {

static Activation readGpt2Activation(SpecReader &reader) {
  const std::string activation = reader.readString({"hidden_act"}, "gelu");
  if (activation == "fast_gelu")
    return Activation::FastGelu;
  if (activation != "gelu")
    reader.error({"hidden_act"},
                 "expected 'gelu' or 'fast_gelu' for 'hidden_act', but got " +
                     quote(activation));
  return Activation::Gelu;
}

/// Rejects options of GPT2Config that no published file uses.
static void rejectGpt2Variants(SpecReader &reader) {
  if (reader.readBool({"post_layernorm_residual"}, false))
    reader.error({"post_layernorm_residual"},
                 "expected False for 'post_layernorm_residual': "
                 "norms after the residual addition are not "
                 "supported");
}

static void readGpt2Sizes(SpecReader &reader, ModelSpec &spec) {
  spec.sequenceLength = reader.readSize({"seq_length"}, 1024);
  spec.vocabSize = reader.readSize({"vocab_size"}, 50257);
  spec.hiddenSize = reader.readSize({"hidden_size"}, 768);
  spec.numLayers = reader.readSize({"num_layers"}, 12);
  spec.numHeads = reader.readSize({"num_heads"}, 12);
  spec.numKeyValueHeads = spec.numHeads;
  spec.headSize = divideHidden(reader, spec);
  const int64_t ratio = reader.readSize({"expand_ratio"}, 4);
  if (__builtin_mul_overflow(spec.hiddenSize, ratio, &spec.feedForwardSize))
    reader.error({"expand_ratio"}, "the feed forward size overflows");
  spec.padTokenId = reader.readInt({"pad_token_id"}, 50256);
}

void readGpt2(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::Gpt2;
  readGpt2Sizes(reader, spec);
  rejectGpt2Variants(reader);
  spec.usesLayerNorm = true;
  spec.learnsPositions = true;
  spec.gatesFeedForward = false;
  spec.activation = readGpt2Activation(reader);
  spec.storesInputRows = true;
  spec.queryKeyValueBias = true;
  spec.attentionOutputBias = true;
  spec.feedForwardInputBias = true;
  spec.feedForwardOutputBias = true;
  spec.tiesWordEmbeddings = true;
  spec.scalesHeads = true;
  spec.usesFlashAttention = reader.readBool({"use_flash_attention"}, false);
  constexpr double rate = 0.1;
  spec.dropout.embedding = reader.readShare({"embedding_dropout_prob"}, rate);
  spec.dropout.hidden = reader.readShare({"hidden_dropout_rate"}, rate);
  spec.dropout.attention = reader.readShare({"attention_dropout_rate"}, rate);

  spec.computeType = reader.readType({"compute_dtype"}, DType::F16);
  spec.paramType = reader.readType({"param_init_type"}, DType::F32);
  spec.normType = reader.readType({"layernorm_compute_type"}, DType::F32);
  spec.softmaxType = reader.readType({"softmax_compute_type"}, DType::F32);
  // The tables are fp32 regardless of param_init_type.
  spec.embeddingType = DType::F32;
  spec.residualType = spec.computeType;
  if (spec.tableCut != VocabularyCut::None)
    spec.tableCut = VocabularyCut::Model;
  checkHeadParts(reader, spec.numHeads, spec.ranks.getHeadParts(),
                 {"num_heads"});
  rejectContextParallel(reader, spec, "GPT-2");
}

} // namespace mf
