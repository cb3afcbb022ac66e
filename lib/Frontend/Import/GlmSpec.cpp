//===- GlmSpec.cpp - GLMConfig --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FamilyReaders.h"
#include <cmath>

namespace mf {

/// Rejects options of GLMConfig that no published file uses.
static void rejectGlmVariants(SpecReader &reader) {
  const std::string activation = reader.readString({"activation_func"}, "GELU");
  if (activation != "GELU")
    reader.error({"activation_func"},
                 "expected 'GELU' for 'activation_func', but got " +
                     quote(activation));
  const std::string order = reader.readString({"layernorm_order"}, "post");
  if (order == "sandwich")
    reader.error({"layernorm_order"},
                 "expected 'post' for 'layernorm_order': layers "
                 "with four norms are not supported");
  for (llvm::StringLiteral key : {llvm::StringLiteral("position_encoding_2d"),
                                  llvm::StringLiteral("use_final_layernorm")})
    if (!reader.readBool({key}, true))
      reader.error({key}, "expected True for " + quote(key) +
                              ": a model without is not supported");
}

static void readGlmSizes(SpecReader &reader, ModelSpec &spec) {
  spec.sequenceLength = reader.readSize({"seq_length"}, 512);
  spec.vocabSize = reader.readSize({"vocab_size"}, 130528);
  spec.hiddenSize = reader.readSize({"hidden_size"}, 4096);
  spec.numLayers = reader.readSize({"num_layers"}, 28);
  spec.numHeads = reader.readSize({"num_heads"}, 32);
  spec.numKeyValueHeads = spec.numHeads;
  spec.headSize = divideHidden(reader, spec);
  if (std::optional<int64_t> size =
          reader.readOptionalSize({"hidden_size_per_attention_head"}))
    spec.headSize = *size;
  spec.feedForwardSize = reader.readSize({"inner_hidden_size"}, 16384);
  if (spec.headSize % 4 != 0)
    reader.error({"num_heads"}, "expected a multiple of 4 dimensions per head, "
                                "but there are " +
                                    llvm::Twine(spec.headSize));
  spec.padTokenId = reader.readInt({"pad_token_id"}, 3);
  spec.prefixEnd = reader.readInt({"bos_token_id"}, 130004);
  spec.normEpsilon = reader.readPositive({"layernorm_epsilon"}, 1e-5);
  reader.markRead({"mask_token_id", "gmask_token_id", "is_enhanced_encoder"});
}

static void readGlmTypes(SpecReader &reader, ModelSpec &spec) {
  spec.computeType = reader.readType({"compute_dtype"}, DType::F16);
  spec.paramType = reader.readType({"param_init_type"}, DType::F16);
  spec.normType = reader.readType({"layernorm_compute_type"}, DType::F32);
  spec.softmaxType = reader.readType({"softmax_compute_type"}, DType::F32);
  spec.headType = spec.computeType;
  spec.rotaryType = spec.computeType;
  // The table, and thus the residual stream, is fp32 regardless of the keys.
  spec.embeddingType = DType::F32;
  spec.residualType = DType::F32;
}

void readGlm(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::Glm;
  readGlmSizes(reader, spec);
  rejectGlmVariants(reader);
  spec.usesLayerNorm = true;
  spec.castsNormInput = false;
  spec.residualScale = std::sqrt(2.0 * static_cast<double>(spec.numLayers));
  spec.projections = ProjectionLayout::QueryKeyValue;
  spec.gatesFeedForward = false;
  spec.activation = Activation::Gelu;
  spec.widensActivation = true;
  spec.queryKeyValueBias = true;
  spec.attentionOutputBias = true;
  spec.feedForwardInputBias = true;
  spec.feedForwardOutputBias = true;
  spec.scalesByLayer = true;
  spec.rotary.isTwoDimensional = true;
  spec.rotary.size = spec.headSize / 2;
  spec.dropout.embedding = reader.readShare({"embedding_dropout_prob"});
  spec.dropout.hidden = reader.readShare({"hidden_dropout_rate"});
  spec.dropout.attention = reader.readShare({"attention_dropout_rate"});
  readGlmTypes(reader, spec);
  if (spec.tableCut != VocabularyCut::None)
    spec.tableCut = VocabularyCut::Model;
  checkHeadParts(reader, spec.numHeads, spec.ranks.getHeadParts(),
                 {"num_heads"});
  rejectContextParallel(reader, spec, "GLM");
}

} // namespace mf
