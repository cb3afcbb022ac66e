//===- ChatGlmSpec.cpp - ChatGLM2Config -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertReader.h"
#include "FamilyReaders.h"

namespace mf {

/// Rejects options of ChatGLM2Block that no GLM 2, 3 or 4 uses.
static void rejectVariants(SpecReader &reader) {
  struct Variant {
    llvm::StringLiteral key;
    bool expected;
  };
  for (const Variant &variant :
       {Variant{"rmsnorm", true}, Variant{"post_layer_norm", true},
        Variant{"add_bias_linear", false},
        Variant{"apply_residual_connection_post_layernorm", false}})
    if (reader.readBool({variant.key}, variant.expected) != variant.expected)
      reader.error({variant.key},
                   "expected " +
                       llvm::Twine(variant.expected ? "True" : "False") +
                       " for " + quote(variant.key) +
                       ": the other kind of layer is not supported");
}

/// The head's rows are sharded over all ranks of a stage if their number is
/// divisible.
static VocabularyCut getHeadCut(const ModelSpec &spec) {
  constexpr int64_t longSequence = 32768;
  const RankLayout &ranks = spec.ranks;
  int64_t parts =
      ranks.dataParallel * ranks.contextParallel * ranks.modelParallel;
  if (spec.tableCut != VocabularyCut::None && spec.vocabSize % parts == 0)
    return VocabularyCut::All;
  return ranks.sequenceParallel && spec.sequenceLength < longSequence
             ? VocabularyCut::Model
             : VocabularyCut::None;
}

/// Key and value heads fewer than model-parallel ranks are copied to
/// neighbours.
static void checkRanks(SpecReader &reader, const ModelSpec &spec) {
  int64_t parts = spec.ranks.getHeadParts();
  checkHeadParts(reader, spec.numHeads, parts, {"num_attention_heads"});
  int64_t groups = spec.numKeyValueHeads;
  if (groups >= parts || parts % groups != 0)
    checkHeadParts(reader, groups, parts, {"multi_query_group_num"});
}

void readChatGlm(SpecReader &reader, ModelSpec &spec) {
  warnWithoutEffect(reader, "no_recompute_layers", "[]",
                    "since release 1.2: recompute_config alone says what is "
                    "recomputed");
  spec.family = ModelFamily::ChatGlm;
  spec.sequenceLength = reader.readSize({"seq_length"}, 2048);
  spec.vocabSize = reader.readSize({"padded_vocab_size", "vocab_size"}, 65024);
  spec.hiddenSize = reader.readSize({"hidden_size"}, 4096);
  spec.numLayers = reader.readSize({"num_layers"}, 28);
  spec.numHeads = reader.readSize({"num_attention_heads"}, 32);
  spec.headSize = reader.readSize({"kv_channels"}, 128);
  spec.feedForwardSize = reader.readSize({"ffn_hidden_size"}, 13696);
  int64_t groups = reader.readSize({"multi_query_group_num"}, 2);
  spec.numKeyValueHeads =
      reader.readBool({"multi_query_attention"}, true) ? groups : spec.numHeads;
  spec.padTokenId = reader.readInt({"pad_token_id"}, 0);
  spec.ignoreTokenId = reader.readInt({"ignore_token_id"}, -100);
  spec.normEpsilon = reader.readPositive({"layernorm_epsilon"}, 1e-5);
  spec.queryKeyValueBias = reader.readBool({"add_qkv_bias"}, true);
  bool concatenatesProjections = reader.readBool({"qkv_concat"}, true);
  spec.projections = concatenatesProjections ? ProjectionLayout::QueryKeyValue
                                             : ProjectionLayout::Separate;
  spec.concatenatesFeedForward = reader.readBool({"mlp_concat"}, true);
  spec.usesFlashAttention = reader.readBool({"use_flash_attention"}, false);
  spec.tiesWordEmbeddings = reader.readBool({"tie_word_embeddings"}, false);
  spec.initializerRange = reader.readPositive({"initializer_range"}, 0.02);
  spec.dropout.hidden = reader.readShare({"hidden_dropout"});
  spec.dropout.attention = reader.readShare({"attention_dropout"});
  rejectVariants(reader);

  // Half of each head rotates, as neighbouring pairs; rope_ratio stretches
  // the base.
  readRotary(reader, spec, {"rotary_base"}, spec.headSize);
  spec.rotary.base *= reader.readPositive({"rope_ratio"}, 1.0);
  spec.rotary.size = spec.headSize / 2;
  spec.rotary.rotatesPairs = true;

  spec.computeType = reader.readType({"compute_dtype"}, DType::F16);
  spec.paramType = reader.readType({"param_init_type"}, DType::F16);
  spec.embeddingType = reader.readType({"embedding_init_type"}, spec.paramType);
  spec.normType = reader.readType({"layernorm_compute_type"}, DType::F32);
  spec.rotaryType = reader.readType({"rotary_dtype"}, DType::F32);
  spec.softmaxType = reader.readBool({"attention_softmax_in_fp32"}, true)
                         ? DType::F32
                         : spec.computeType;
  spec.residualType = reader.readBool({"fp32_residual_connection"}, false)
                          ? DType::F32
                          : spec.computeType;
  checkHeads(reader, spec, {"num_attention_heads"}, {"multi_query_group_num"});
  checkRanks(reader, spec);
  spec.headCut = getHeadCut(spec);
  spec.parallelOptimizerTable = true;
}

} // namespace mf
