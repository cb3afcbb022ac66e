//===- DeepSeekSpec.cpp - DeepseekV2Config and DeepseekV3Config -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "FamilyReaders.h"
#include <cmath>

namespace mf {

void setLatentHeads(ModelSpec &spec) {
  spec.numKeyValueHeads = spec.numHeads;
  spec.headSize = spec.latent->getKeySize();
}

void checkLatentHeads(SpecReader &reader, const ModelSpec &spec,
                      SpecReader::Keys heads) {
  if (spec.latent->rotarySize % 2 != 0)
    reader.error({"qk_rope_head_dim", "qk_pos_emb_head_dim"},
                 "rotary embedding needs an even 'qk_rope_head_dim', but got " +
                     llvm::Twine(spec.latent->rotarySize));
  checkHeadParts(reader, spec.numHeads, spec.ranks.getHeadParts(), heads);
}

/// The class pads values with zeros of the width of the rotated dimensions.
static void readPadding(SpecReader &reader, ModelSpec &spec) {
  LatentAttentionSpec &latent = *spec.latent;
  const bool isRagged = reader.readBool({"enable_fa_var_len"}, false);
  latent.padsValues = !isRagged;
  if (spec.usesFlashAttention && latent.padsValues &&
      latent.valueSize != latent.plainSize)
    reader.error(
        {"v_head_dim"},
        "expected " + llvm::Twine(latent.plainSize) +
            " for 'v_head_dim', as for 'qk_nope_head_dim', but got " +
            llvm::Twine(latent.valueSize) +
            ": flash attention gets values padded by qk_rope_head_dim; set "
            "enable_fa_var_len: True for others");
}

/// Returns the factor by which scaling_factor, for a longer context, scales the
/// scores before the softmax.
static double readSharpness(SpecReader &reader) {
  Node scaling = reader.getNode()["scaling_factor"];
  if (!scaling.isMap())
    return 1.0;
  const double factor = scaling["factor"].getFloat().value_or(1.0);
  const double scale = scaling["mscale_all_dim"].getFloat().value_or(0.0);
  const double sharpness = getYarnScale(factor, scale);
  return scale == 0 ? 1.0 : sharpness * sharpness;
}

static void readLatentAttention(SpecReader &reader, ModelSpec &spec) {
  LatentAttentionSpec &latent = spec.latent.emplace();
  latent.layout = LatentLayout::Separate;
  latent.queryRank = reader.readSize({"q_lora_rank"}, std::nullopt);
  latent.keyValueRank = reader.readSize({"kv_lora_rank"}, std::nullopt);
  latent.plainSize = reader.readSize({"qk_nope_head_dim"}, std::nullopt);
  latent.rotarySize = reader.readSize({"qk_rope_head_dim"}, std::nullopt);
  latent.valueSize = reader.readSize({"v_head_dim"}, std::nullopt);
  latent.rotatesCopies = true;
  reader.markRead({"n_kv_heads"});
  setLatentHeads(spec);
  readPadding(reader, spec);
  readRotary(reader, spec, {"theta"}, latent.rotarySize, "YARN");
  latent.scale = readSharpness(reader) /
                 std::sqrt(static_cast<double>(latent.getKeySize()));
  checkLatentHeads(reader, spec, {"num_heads"});
}

static void readNextTokens(SpecReader &reader, ModelSpec &spec) {
  NextTokenSpec &next = spec.nextTokens;
  next.joinsHeads = true;
  next.depth = reader.readInt({"mtp_depth"}, 0);
  next.lossFactor = reader.readPositive({"mtp_loss_factor"}, 0.3);
  if (next.depth >= 0 && next.depth < spec.sequenceLength)
    return;
  reader.error({"mtp_depth"}, "expected from 0 to fewer than the " +
                                  llvm::Twine(spec.sequenceLength) +
                                  " tokens of a sequence for 'mtp_depth', but "
                                  "got " +
                                  llvm::Twine(next.depth));
  next.depth = 0;
}

void readDeepSeek(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::DeepSeek;
  spec.sequenceLength = reader.readSize({"seq_length"}, 2048);
  spec.vocabSize = reader.readSize({"vocab_size"}, std::nullopt);
  spec.hiddenSize = reader.readSize({"hidden_size"}, std::nullopt);
  spec.numLayers = reader.readSize({"num_layers"}, std::nullopt);
  spec.numHeads = reader.readSize({"num_heads"}, std::nullopt);
  spec.feedForwardSize = reader.readSize({"intermediate_size"}, std::nullopt);
  reader.markRead({"multiple_of"});
  spec.padTokenId = reader.readInt({"pad_token_id"}, 0);
  spec.ignoreTokenId = reader.readInt({"ignore_token_id"}, -100);
  spec.normEpsilon = reader.readPositive({"rms_norm_eps"}, 1e-5);
  spec.tiesWordEmbeddings = reader.readBool({"tie_word_embeddings"}, false);
  spec.usesFlashAttention = reader.readBool({"use_flash_attention"}, false);
  spec.initializerRange =
      reader.readPositive({"initializer_range", "init_method_std"}, 0.006);
  spec.parallelOptimizerTable = true;
  readElementTypes(reader, spec);
  readLatentAttention(reader, spec);
  readNextTokens(reader, spec);
}

} // namespace mf
