//===- McoreSpec.cpp - TransformerConfig of the mcore training graph ------===//

#include "FamilyReaders.h"

namespace mf {

void readQwen3(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::Mcore;
  spec.sequenceLength = reader.readSize({"seq_length"}, 4096);
  spec.vocabSize = reader.readSize({"vocab_size"}, 151936);
  spec.hiddenSize = reader.readSize({"hidden_size"}, 4096);
  spec.numLayers = reader.readSize({"num_hidden_layers", "num_layers"}, 32);
  spec.numHeads = reader.readSize({"num_attention_heads", "num_heads"}, 32);
  spec.numKeyValueHeads = reader.readSize(
      {"num_key_value_heads", "n_kv_heads", "num_query_groups"}, 32);
  spec.headSize = reader.readSize({"head_dim", "kv_channels"}, 128);
  spec.feedForwardSize =
      reader.readSize({"intermediate_size", "ffn_hidden_size"}, 22016);
  spec.padTokenId = reader.readInt({"pad_token_id"}, -1);
  spec.ignoreTokenId = reader.readInt({"ignore_token_id"}, -100);
  spec.normEpsilon =
      reader.readPositive({"rms_norm_eps", "layernorm_epsilon"}, 1e-6);
  spec.initializerRange =
      reader.readPositive({"initializer_range", "init_method_std"}, 0.02);
  // These layers have no other layout than one weight.
  reader.markRead({"qkv_concat"});
  spec.projections = ProjectionLayout::QueryKeyValue;
  spec.concatenatesFeedForward = true;
  spec.queryKeyValueBias =
      reader.readBool({"attention_bias", "add_qkv_bias"}, false);
  spec.normalizesQueryKey = reader.readBool({"qk_layernorm"}, true);
  spec.usesFlashAttention = reader.readBool({"use_flash_attention"}, true);
  spec.tiesWordEmbeddings =
      reader.readBool({"tie_word_embeddings"}, false) ||
      !reader.readBool({"untie_embeddings_and_output_weights"}, true);
  readRotary(reader, spec, {"rope_theta", "rotary_base", "theta"});
  readRopeScaling(reader, spec);

  if (reader.readBool({"add_bias_linear"}, false))
    reader.diagnostics.error(reader.locate({"add_bias_linear"}),
                             "expected False for 'add_bias_linear': biases in "
                             "all linear layers are not supported");
  std::string activation = reader.readString({"hidden_act"}, "silu");
  if (activation != "silu" && activation != "swiglu" &&
      activation != "fusedswiglu")
    reader.diagnostics.error(reader.locate({"hidden_act"}),
                             "expected silu, swiglu or fusedswiglu for "
                             "'hidden_act', but got " +
                                 quote(activation));

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
  checkHeads(reader, spec, {"num_attention_heads", "num_heads"},
             {"num_key_value_heads", "n_kv_heads", "num_query_groups"});
  checkHeadParts(reader, spec.numHeads, spec.ranks.getHeadParts(),
                 {"num_attention_heads", "num_heads"});
  checkHeadParts(reader, spec.numKeyValueHeads, spec.ranks.modelParallel,
                 {"num_key_value_heads", "n_kv_heads", "num_query_groups"});
  // vocab_emb_dp says nothing here.
  spec.tableCut = spec.headCut = VocabularyCut::Model;
  spec.parallelOptimizerTable = true;
}

} // namespace mf
