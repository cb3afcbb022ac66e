//===- McoreSpec.cpp - TransformerConfig of the mcore training graph ------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertReader.h"
#include "FamilyReaders.h"
#include <algorithm>
#include <cmath>

namespace mf {

namespace {
/// Defaults in which the config classes differ.
struct McoreDefaults {
  int64_t vocabSize = 151936, hiddenSize = 4096, numLayers = 32, numHeads = 32;
  int64_t feedForwardSize = 22016;
  double normEpsilon = 1e-6;
  /// Whether ranks of tensor parallel have some heads each.
  bool cutsHeads = true;
  /// Activations as messages list them, with gates first and last.
  llvm::ArrayRef<llvm::StringLiteral> activations = allActivations;
  static constexpr llvm::StringLiteral allActivations[] = {"silu", "swiglu",
                                                           "fusedswiglu"};
};
} // namespace

static void readSizes(SpecReader &reader, const McoreDefaults &defaults,
                      ModelSpec &spec) {
  spec.sequenceLength = reader.readSize({"seq_length"}, 4096);
  spec.vocabSize = reader.readSize({"vocab_size"}, defaults.vocabSize);
  spec.hiddenSize = reader.readSize({"hidden_size"}, defaults.hiddenSize);
  spec.numLayers =
      reader.readSize({"num_hidden_layers", "num_layers"}, defaults.numLayers);
  spec.numHeads =
      reader.readSize({"num_attention_heads", "num_heads"}, defaults.numHeads);
  spec.feedForwardSize = reader.readSize(
      {"intermediate_size", "ffn_hidden_size"}, defaults.feedForwardSize);
}

static void readActivation(SpecReader &reader, const McoreDefaults &defaults,
                           ModelSpec &spec) {
  if (reader.readBool({"add_bias_linear"}, false))
    reader.error({"add_bias_linear"},
                 "expected False for 'add_bias_linear': biases in "
                 "all linear layers are not supported");
  std::string activation = reader.readString({"hidden_act"}, "silu");
  spec.activationMultiplies = activation != "silu";
  if (llvm::is_contained(defaults.activations, activation))
    return;
  const std::string others = llvm::join(defaults.activations.drop_back(), ", ");
  reader.error({"hidden_act"},
               "expected " + others + " or " + defaults.activations.back() +
                   " for 'hidden_act', but got " + quote(activation));
}

static void readMcoreTypes(SpecReader &reader, ModelSpec &spec) {
  spec.computeType = reader.readType({"compute_dtype"}, DType::BF16);
  spec.paramType =
      reader.readType({"params_dtype", "param_init_type"}, DType::F32);
  spec.embeddingType = reader.readType({"embedding_init_type"}, spec.paramType);
  spec.normType = reader.readType(
      {"layernorm_compute_dtype", "layernorm_compute_type"}, DType::F32);
  spec.softmaxType = reader.readType(
      {"softmax_compute_dtype", "softmax_compute_type"}, DType::F32);
  spec.rotaryType = reader.readType({"rotary_dtype"}, DType::F32);
  spec.residualType = reader.readBool({"fp32_residual_connection"}, false)
                          ? DType::F32
                          : spec.computeType;
}

/// Reads the common keys of the classes, except those of attention.
static void readMcore(SpecReader &reader, const McoreDefaults &defaults,
                      ModelSpec &spec) {
  spec.family = ModelFamily::Mcore;
  readSizes(reader, defaults, spec);
  spec.padTokenId = reader.readInt({"pad_token_id"}, -1);
  spec.ignoreTokenId = reader.readInt({"ignore_token_id"}, -100);
  spec.normEpsilon = reader.readPositive({"rms_norm_eps", "layernorm_epsilon"},
                                         defaults.normEpsilon);
  spec.initializerRange =
      reader.readPositive({"initializer_range", "init_method_std"}, 0.02);
  // These layers have no other layout than one weight.
  reader.markRead({"qkv_concat"});
  spec.concatenatesFeedForward = true;
  spec.usesFlashAttention = reader.readBool({"use_flash_attention"}, true);
  spec.compressesMask =
      reader.readBool({"use_attn_mask_compression"}, false) ||
      reader.readBool({"use_eod_attn_mask_compression"}, false);
  spec.tiesWordEmbeddings =
      reader.readBool({"tie_word_embeddings"}, false) ||
      !reader.readBool({"untie_embeddings_and_output_weights"}, true);
  spec.dropout.hidden = reader.readShare({"hidden_dropout"});
  spec.dropout.attention = reader.readShare({"attention_dropout"});
  readActivation(reader, defaults, spec);
  readMcoreTypes(reader, spec);
  if (defaults.cutsHeads)
    checkHeadParts(reader, spec.numHeads, spec.ranks.getHeadParts(),
                   {"num_attention_heads", "num_heads"});
  // The converter of configurations drops this key of the legacy classes.
  warnWithoutEffect(reader, "scaling_factor", "1",
                    "on the mcore training graph, which takes the factor of "
                    "rope_scaling");
  // vocab_emb_dp has no effect here.
  spec.tableCut = spec.headCut = VocabularyCut::Model;
  spec.parallelOptimizerTable = true;
}

namespace {
/// Defaults of attention with grouped heads in which the config classes differ.
struct GroupedDefaults {
  int64_t keyValueHeads = 32, headSize = 128;
  bool hasHeadNorms = false;
};
} // namespace

/// Attention has groups only if there are fewer groups than heads. Otherwise
/// each head has keys and values of its own.
static void readGroups(SpecReader &reader, ModelSpec &spec, int64_t missing) {
  SpecReader::Keys keys = {"num_key_value_heads", "n_kv_heads",
                           "num_query_groups"};
  spec.numKeyValueHeads = reader.readSize(keys, missing);
  if (spec.numKeyValueHeads <= spec.numHeads)
    return;
  if (reader.find(keys))
    reader.warn(keys, "attention with " + llvm::Twine(spec.numHeads) +
                          " heads has no more groups than heads: "
                          "'num_key_value_heads' " +
                          llvm::Twine(spec.numKeyValueHeads) +
                          " has the same effect as " +
                          llvm::Twine(spec.numHeads));
  spec.numKeyValueHeads = spec.numHeads;
}

/// Reads all of attention with grouped heads but its rotation.
static void readGroupedHeads(SpecReader &reader, ModelSpec &spec,
                             const GroupedDefaults &defaults) {
  readGroups(reader, spec, defaults.keyValueHeads);
  spec.headSize =
      reader.readSize({"head_dim", "kv_channels"}, defaults.headSize);
  spec.projections = ProjectionLayout::QueryKeyValue;
  spec.queryKeyValueBias =
      reader.readBool({"attention_bias", "add_qkv_bias"}, false);
  spec.normalizesQueryKey =
      reader.readBool({"qk_layernorm"}, defaults.hasHeadNorms);
}

/// The sizes of heads and their rotation must have been read.
static void checkGroupedHeads(SpecReader &reader, const ModelSpec &spec) {
  if (spec.hiddenSize % spec.numHeads != 0)
    reader.error({"hidden_size"}, "expected 'hidden_size' to be a multiple of "
                                  "the " +
                                      llvm::Twine(spec.numHeads) +
                                      " heads, but got " +
                                      llvm::Twine(spec.hiddenSize));
  checkHeads(reader, spec, {"num_attention_heads", "num_heads"},
             {"num_key_value_heads", "n_kv_heads", "num_query_groups"});
  checkHeadParts(reader, spec.numKeyValueHeads, spec.ranks.modelParallel,
                 {"num_key_value_heads", "n_kv_heads", "num_query_groups"});
}

static void readGroupedAttention(SpecReader &reader, ModelSpec &spec,
                                 const GroupedDefaults &defaults) {
  readGroupedHeads(reader, spec, defaults);
  readRotary(reader, spec, {"rope_theta", "rotary_base", "theta"},
             spec.headSize);
  readRopeScaling(reader, spec);
  checkGroupedHeads(reader, spec);
}

void readQwen3(SpecReader &reader, ModelSpec &spec) {
  readMcore(reader, McoreDefaults(), spec);
  readGroupedAttention(reader, spec, {32, 128, /*hasHeadNorms=*/true});
}

//===----------------------------------------------------------------------===//
// Latent attention
//===----------------------------------------------------------------------===//

/// Reads the reach of rotation, from the section itself or from rope_scaling,
/// which is unpacked into it.
static YarnSpec readYarn(SpecReader &reader, const ModelSpec &spec,
                         bool &isYarn) {
  YarnSpec yarn;
  yarn.factor = reader.readPositive({"rotary_scaling_factor"}, 40.0);
  yarn.betaFast = reader.readPositive({"beta_fast"}, 32.0);
  yarn.betaSlow = reader.readPositive({"beta_slow"}, 1.0);
  yarn.scale = reader.readNumber({"mscale"}).value_or(0.707);
  yarn.scaleOfAllDims = reader.readNumber({"mscale_all_dim"}).value_or(0.707);
  yarn.length = reader.readPositive({"max_position_embeddings"},
                                    static_cast<double>(spec.sequenceLength));
  std::string kind = "rope";
  Node scaling = reader.readMap({"rope_scaling", "rope_parameters"});
  if (scaling.isMap()) {
    SpecReader inner(scaling, "rope_scaling", reader.diagnostics);
    kind = inner.readString({"rope_type", "type"}, kind);
    yarn.factor = inner.readPositive({"factor"}, yarn.factor);
    yarn.betaFast = inner.readPositive({"beta_fast"}, yarn.betaFast);
    yarn.betaSlow = inner.readPositive({"beta_slow"}, yarn.betaSlow);
    yarn.scale = inner.readNumber({"mscale"}).value_or(yarn.scale);
    yarn.scaleOfAllDims =
        inner.readNumber({"mscale_all_dim"}).value_or(yarn.scaleOfAllDims);
    yarn.length =
        inner.readPositive({"original_max_position_embeddings"}, yarn.length);
  }
  kind = reader.readString({"position_embedding_type"}, kind);
  isYarn = kind == "yarn";
  if (kind != "rope" && kind != "default" && !isYarn)
    reader.error(
        {"position_embedding_type"},
        "expected rope or yarn for 'position_embedding_type', but got " +
            quote(kind));
  return yarn;
}

/// Reads the rotary tables for `size` dimensions of a head as the classes do
/// that have YaRN. Returns the numbers of YaRN, with their defaults if the
/// tables are those without.
static YarnSpec readYarnRotary(SpecReader &reader, ModelSpec &spec,
                               bool &isYarn) {
  spec.rotary.base =
      reader.readPositive({"rope_theta", "rotary_base", "theta"}, 10000.0);
  const YarnSpec yarn = readYarn(reader, spec, isYarn);
  if (!isYarn)
    return yarn;
  setYarnFrequencies(yarn, spec.rotary);
  // These classes multiply angles by the amplitude.
  spec.rotary.positionScale = getYarnScale(yarn.factor, yarn.scale) /
                              getYarnScale(yarn.factor, yarn.scaleOfAllDims);
  return yarn;
}

/// Reads the rotary tables and the scale of the scores, both as in the mcore
/// graph. It scales scores also without YaRN.
static void readLatentRotary(SpecReader &reader, ModelSpec &spec) {
  LatentAttentionSpec &latent = *spec.latent;
  spec.rotary.size = latent.rotarySize;
  spec.rotary.movesPairs = true;
  bool isYarn = false;
  const YarnSpec yarn = readYarnRotary(reader, spec, isYarn);
  const double scale = getYarnScale(yarn.factor, yarn.scale);
  latent.scale =
      scale * scale / std::sqrt(static_cast<double>(latent.getKeySize()));
}

static void readLatentAttention(SpecReader &reader, ModelSpec &spec,
                                bool hasNorms, bool padsValues) {
  LatentAttentionSpec &latent = spec.latent.emplace();
  latent.layout = reader.readBool({"mla_qkv_concat"}, true)
                      ? LatentLayout::DownTogether
                      : LatentLayout::QueryApart;
  // An explicit null means that queries have no latent.
  latent.queryRank = reader.readOptionalSize({"q_lora_rank"});
  if (!reader.getNode()["q_lora_rank"])
    latent.queryRank = 1536;
  latent.keyValueRank = reader.readSize({"kv_lora_rank"}, 512);
  latent.plainSize = reader.readSize({"qk_nope_head_dim", "qk_head_dim"}, 128);
  latent.rotarySize =
      reader.readSize({"qk_rope_head_dim", "qk_pos_emb_head_dim"}, 64);
  latent.valueSize = reader.readSize({"v_head_dim"}, 128);
  latent.hasNorms = reader.readBool({"qk_layernorm"}, hasNorms);
  latent.padsValues = padsValues;
  reader.markRead(
      {"num_key_value_heads", "n_kv_heads", "num_query_groups", "head_dim"});
  setLatentHeads(spec);
  readLatentRotary(reader, spec);
  checkLatentHeads(reader, spec, {"num_attention_heads", "num_heads"});
}

static void readNextTokens(SpecReader &reader, ModelSpec &spec) {
  NextTokenSpec &next = spec.nextTokens;
  next.followsNorm = true;
  SpecReader::Keys depth = {"mtp_num_layers", "num_nextn_predict_layers"};
  next.depth = reader.readInt(depth, 0);
  if (next.depth < 0 || next.depth > 1) {
    reader.error(depth, "expected 0 or 1 for 'mtp_num_layers', but got " +
                            llvm::Twine(next.depth));
    next.depth = 0;
  }
  SpecReader::Keys factor = {"mtp_loss_scaling_factor", "mtp_loss_factor"};
  std::optional<double> given = reader.readOptionalPositive(factor);
  next.lossFactor = given.value_or(0.0);
  if (next.depth > 0 && !given)
    reader.error(
        depth,
        "a layer that predicts a later token ('mtp_num_layers') needs the "
        "weight of its loss, 'mtp_loss_scaling_factor', which has no default");
}

//===----------------------------------------------------------------------===//
// DeepSeek-V3 without latent attention
//===----------------------------------------------------------------------===//

/// The tables of YaRN are as wide as latent attention's, whatever the heads.
static void readStandardRotary(SpecReader &reader, ModelSpec &spec) {
  spec.rotary.size = spec.headSize;
  bool isYarn = false;
  readYarnRotary(reader, spec, isYarn);
  if (!isYarn)
    return;
  const int64_t size =
      reader.readSize({"qk_rope_head_dim", "qk_pos_emb_head_dim"}, 64);
  if (size != spec.headSize)
    reader.error({"qk_rope_head_dim", "qk_pos_emb_head_dim"},
                 "without 'multi_latent_attention' yarn rotates "
                 "'qk_rope_head_dim' " +
                     llvm::Twine(size) + " of the " +
                     llvm::Twine(spec.headSize) +
                     " dimensions of a head, which is not supported; expected "
                     "the size of a head, or rope for "
                     "'position_embedding_type'");
}

/// Warns once about the keys of latent attention that the YAML has.
static void warnAboutLatentKeys(SpecReader &reader) {
  static constexpr llvm::StringLiteral keys[] = {
      "q_lora_rank",         "kv_lora_rank",  "qk_nope_head_dim",
      "qk_head_dim",         "v_head_dim",    "qk_rope_head_dim",
      "qk_pos_emb_head_dim", "mla_qkv_concat"};
  std::string found;
  for (llvm::StringLiteral key : keys) {
    if (!reader.wasRead(key) && !reader.getNode()[key].isUndefinedOrNull())
      found += (found.empty() ? "" : ", ") + key.str();
    reader.markRead({key});
  }
  if (!found.empty())
    reader.warn({"multi_latent_attention"},
                "without 'multi_latent_attention' these keys have no effect: " +
                    found);
}

/// Heads are as wide as hidden_size allows, if no key says otherwise.
static void readStandardAttention(SpecReader &reader, ModelSpec &spec) {
  GroupedDefaults defaults;
  defaults.keyValueHeads = 128;
  defaults.headSize = std::max<int64_t>(spec.hiddenSize / spec.numHeads, 1);
  readGroupedHeads(reader, spec, defaults);
  readStandardRotary(reader, spec);
  checkGroupedHeads(reader, spec);
  warnAboutLatentKeys(reader);
}

void readMcoreDeepSeek(SpecReader &reader, ModelSpec &spec) {
  McoreDefaults defaults;
  defaults.vocabSize = 129280;
  defaults.hiddenSize = 7168;
  defaults.numLayers = 61;
  defaults.numHeads = 128;
  defaults.feedForwardSize = 18432;
  readMcore(reader, defaults, spec);
  if (reader.readBool({"multi_latent_attention"}, true))
    readLatentAttention(reader, spec, /*hasNorms=*/true, /*padsValues=*/true);
  else
    readStandardAttention(reader, spec);
  readNextTokens(reader, spec);
}

//===----------------------------------------------------------------------===//
// DeepSeek-V4
//===----------------------------------------------------------------------===//

/// The class builds grouped attention without it, with sizes that are not
/// known.
static void checkIsLatent(SpecReader &reader) {
  SpecReader::Keys key = {"multi_latent_attention"};
  if (!reader.readBool(key, true))
    reader.error(key,
                 "this class has no grouped attention in mf: expected True for "
                 "'multi_latent_attention', but got False");
}

/// Latent attention for all that is not one of two other kinds, as the class
/// has it.
static void checkVariant(SpecReader &reader, SpecReader::Keys variant,
                         llvm::StringRef kind) {
  if (kind == "dsa")
    reader.error(variant,
                 "the sparse attention of DeepSeek-V3.2 ('dsa') is not "
                 "supported; expected dsv4_hybrid, or mla for latent "
                 "attention");
  else if (kind != "mla" && kind != "dsv4_hybrid")
    reader.warn(variant, "'experimental_attention_variant' " + quote(kind) +
                             " is not known: the class has latent attention "
                             "then, as with mla; expected dsv4_hybrid or mla");
}

/// Reads the limit of gates and up projections, which one activation has.
static void readActivationLimit(SpecReader &reader, ModelSpec &spec) {
  SpecReader::Keys keys = {"swiglu_limit", "activation_func_clamp_value"};
  const std::optional<double> limit = reader.readOptionalPositive(keys);
  if (reader.readString({"hidden_act"}, "silu") == "fusedswiglu")
    spec.activationLimit = limit;
}

/// The first layers choose experts by token ids.
static void readHashLayers(SpecReader &reader, ModelSpec &spec) {
  SpecReader::Keys keys = {"num_hash_layers", "moe_n_hash_layers"};
  const size_t errors = reader.diagnostics.getErrorCount();
  spec.numHashLayers = readCount(reader, keys, 3);
  if (reader.diagnostics.getErrorCount() == errors &&
      spec.numHashLayers > spec.numLayers)
    reader.error(keys, "moe_n_hash_layers (" + llvm::Twine(spec.numHashLayers) +
                           ") must not exceed num_layers (" +
                           llvm::Twine(spec.numLayers) +
                           "); set 'num_hash_layers'");
}

void readMcoreDeepSeek4(SpecReader &reader, ModelSpec &spec) {
  if (reader.getName() != "model")
    reader.error({"architectures", "model_type"},
                 "DeepSeek-V4 is a model of the dynamic graph; expected a YAML "
                 "with the sections of its trainer");
  McoreDefaults defaults;
  defaults.vocabSize = 129280;
  defaults.hiddenSize = 7168;
  defaults.numLayers = 61;
  defaults.numHeads = 128;
  defaults.feedForwardSize = 4 * 7168;
  static constexpr llvm::StringLiteral activations[] = {"silu", "fusedswiglu"};
  defaults.activations = activations;
  SpecReader::Keys variant = {"experimental_attention_variant"};
  const std::string kind = reader.readString(variant, "dsv4_hybrid");
  const bool isHybrid = kind == "dsv4_hybrid";
  defaults.cutsHeads = !isHybrid;
  // Both are names of one number here.
  reader.find({"vocab_size", "actual_vocab_size"});
  readMcore(reader, defaults, spec);
  // The layers' own reset ignores initializer_range.
  spec.initializerRange = 0.01;
  readActivationLimit(reader, spec);
  readHashLayers(reader, spec);
  readNextTokens(reader, spec);
  checkVariant(reader, variant, kind);
  if (!isHybrid)
    checkIsLatent(reader);
  readStreams(reader, spec);
  if (isHybrid) {
    readHybridAttention(reader, spec);
    return;
  }
  readLatentAttention(reader, spec, /*hasNorms=*/false, /*padsValues=*/true);
  reader.markRead({"o_lora_rank",
                   "o_groups",
                   "compress_ratios",
                   "csa_compress_ratios",
                   "compress_rope_theta",
                   "csa_compress_rotary_base",
                   "sliding_window",
                   "csa_window_size",
                   "index_n_heads",
                   "dsa_indexer_n_heads",
                   "index_head_dim",
                   "dsa_indexer_head_dim",
                   "index_topk",
                   "dsa_indexer_topk",
                   "dsa_indexer_loss_coeff",
                   "csa_dense_mode",
                   "apply_dsa_kernel_fusion",
                   "dsa_indexer_use_sparse_loss",
                   "original_max_position_embeddings",
                   "kv_channels"});
}

//===----------------------------------------------------------------------===//
// TeleChat3
//===----------------------------------------------------------------------===//

void readTelechat3Moe(SpecReader &reader, ModelSpec &spec) {
  readMcore(reader, McoreDefaults(), spec);
  checkIsLatent(reader);
  readLatentAttention(reader, spec, /*hasNorms=*/true, /*padsValues=*/false);
  readNextTokens(reader, spec);
}

void readTelechat3(SpecReader &reader, ModelSpec &spec) {
  readMcore(reader, McoreDefaults(), spec);
  // This class is of a version that pads no values.
  if (reader.readBool({"multi_latent_attention"}, false))
    readLatentAttention(reader, spec, /*hasNorms=*/false,
                        /*padsValues=*/false);
  else
    readGroupedAttention(reader, spec, {});
  readNextTokens(reader, spec);
}

} // namespace mf
