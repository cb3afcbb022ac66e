//===- SparkSpec.cpp - IFlytekSparkConfig ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertReader.h"
#include "FamilyReaders.h"

namespace mf {

/// Rejects options of IFlytekSparkConfig that no published file uses.
static void rejectSparkVariants(SpecReader &reader) {
  constexpr llvm::StringLiteral norms[] = {
      "post_layernorm_residual", "apply_residual_connection_post_layernorm"};
  for (llvm::StringLiteral key : norms)
    if (reader.readBool({key}, false))
      reader.error({key}, "expected False for " + quote(key) +
                              ": the other kind of layer is not "
                              "supported");
  warnWithoutEffect(reader, "hidden_act", "'fast_gelu'",
                    "on iFlytekSpark: its feed forward has GELU");
  warnWithoutEffect(reader, "flash_attention_recompute", "False",
                    "here: what flash attention makes is always kept");
}

/// Warns if attention would see only the nearest tokens.
static void readWindow(SpecReader &reader, const ModelSpec &spec) {
  const int64_t window = reader.readSize({"sparse_local_size"}, 8192);
  if (window < spec.sequenceLength)
    reader.warn(
        {"sparse_local_size"},
        "attention to the last " + llvm::Twine(window) +
            " tokens alone ('sparse_local_size') is not modelled; all " +
            llvm::Twine(spec.sequenceLength) + " are seen");
}

static void readSparkTypes(SpecReader &reader, ModelSpec &spec) {
  spec.computeType = reader.readType({"compute_type"}, DType::F16);
  spec.paramType = spec.computeType;
  spec.normType = reader.readType({"layernorm_compute_type"}, DType::F32);
  spec.softmaxType = reader.readType({"softmax_compute_type"}, DType::F16);
  spec.rotaryType = spec.computeType;
  // The table is never stored in bf16, but its result may be bf16.
  spec.residualType = reader.readType({"embedding_init_type"}, DType::F32);
  spec.embeddingType =
      spec.residualType == DType::BF16 ? DType::F32 : spec.residualType;
}

void readSpark(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::Spark;
  spec.sequenceLength = reader.readSize({"seq_length"}, 32768);
  spec.vocabSize = reader.readSize({"vocab_size"}, 60000);
  spec.hiddenSize = reader.readSize({"hidden_size"}, 5120);
  spec.numLayers = reader.readSize({"num_layers"}, 40);
  spec.numHeads = reader.readSize({"num_heads"}, 40);
  spec.numKeyValueHeads = spec.numHeads;
  spec.headSize = divideHidden(reader, spec);
  // The key counts gate and up projection together.
  const int64_t width = reader.readSize({"ffn_hidden_size"}, 28672);
  if (width < 2)
    reader.error({"ffn_hidden_size"},
                 "expected at least 2 for 'ffn_hidden_size', half "
                 "of which is the feed forward's width");
  spec.feedForwardSize = std::max<int64_t>(width / 2, 1);
  spec.padTokenId = reader.readInt({"pad_token_id"}, 0);
  spec.ignoreTokenId = reader.readInt({"ignore_token_id"}, -100);
  spec.normEpsilon = reader.readPositive({"layernorm_epsilon"}, 1e-5);
  rejectSparkVariants(reader);
  readWindow(reader, spec);
  spec.usesLayerNorm = true;
  // Only the weights of the norm are in normType.
  spec.castsNormInput = false;
  spec.activation = Activation::Gelu;
  spec.queryKeyValueBias = true;
  spec.attentionOutputBias = true;
  spec.feedForwardInputBias = true;
  spec.feedForwardOutputBias = true;
  spec.tiesWordEmbeddings = true;
  spec.usesFlashAttention = true;
  spec.initializesXavier = true;
  spec.rotary.size = spec.headSize;
  spec.rotary.base = 1e6;
  spec.dropout.hidden = reader.readShare({"dropout_rate"});
  spec.dropout.embedding = spec.dropout.hidden;
  spec.dropout.attention = spec.dropout.hidden;
  readSparkTypes(reader, spec);
  if (spec.tableCut != VocabularyCut::None)
    spec.tableCut = VocabularyCut::Model;
  checkHeads(reader, spec, {"num_heads"}, {"num_heads"});
  checkHeadParts(reader, spec.numHeads, spec.ranks.getHeadParts(),
                 {"num_heads"});
  rejectContextParallel(reader, spec, "iFlytekSpark");
}

} // namespace mf
