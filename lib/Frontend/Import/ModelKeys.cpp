//===- ModelKeys.cpp - Keys of model_config that no reader reads ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "SpecReader.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

using known::notModelled;

/// Keys that cannot change the model of a training step: keys of inference,
/// bookkeeping, and keys that other passes read from the same YAML.
static constexpr IrrelevantKeys irrelevantKeys[] = {
    {"names of the model",
     "architectures arch auto_map auto_register model_name model_type name "
     "net_name transformers_version type _name_or_path"},
    {"checkpoints", "checkpoint_name_or_path checkpoint_path"},
    {"the batch is the runner's", "batch_size"},
    {"read where stages, recomputation, swap and fusions are decided",
     "cpu_offloading cpu_offloading_num_layers ffn_concat layer_swap offset "
     "op_swap pp_interleave_num start_stage stage_num swap apply_rope_fusion "
     "bias_swiglu_fusion use_fused_rope use_fused_swiglu fused_rms_norm"},
    {"text generation",
     "block_size bos_token_id do_sample eos_token_id eod_token_id "
     "generation_config is_dynamic is_sample_acceleration llm_backend "
     "max_decode_length max_length max_new_tokens num_block num_blocks "
     "no_repeat_ngram_size prompt_length quantization_bit quantization_config "
     "repetition_penalty repetition_penalty_increase run_mode temperature "
     "top_k top_p unk_token_id use_cache use_incre_flash_attention "
     "use_kbk_infer use_kvcache_op use_paged_attention use_past use_past_shard "
     "use_prompt_flash_attention add_bos_token add_eos_token "
     "assistant_token_id user_token_id chunk_prefill is_lite_infer "
     "npu_mem_size parallel_decoding"},
    {"the same result another way, or of another size of table",
     "bias_dropout_fusion compute_in_2d input_sliced_sig "
     "max_position_embedding max_position_embeddings n_position "
     "pretrain_seqlen rmsnorm_compute_2d use_attn_mask_compression "
     "use_contiguous_weight_layout_attention use_interleaved_weight_layout_mlp "
     "use_ring_attention use_rope_slice apply_query_key_layer_scaling "
     "use_llama_rope use_rearrange_rope gated_linear_unit kv_channels "
     "mask_type position_embedding_type parallel_optimizer use_seq_parallel "
     "seq_parallel use_select_recompute use_legacy lm_head_dp rotary_emb_base "
     "emb_dropout_rate parallel_config mean moe_config return_extra_loss "
     "layers_group attention_softmax_in_fp32 calculate_per_token_loss "
     "tie_word_embeddings hidden_act initializer_range init_method_std "
     "monitor_config seed use_eod_attn_mask_compression"},
};

static constexpr KnownKey notModelledKeys[] = {
    notModelled("attention_dropout", "0|None"),
    notModelled("attention_dropout_prob", "0|None"),
    notModelled("attention_dropout_rate", "0|None"),
    notModelled("emb_dropout_prob", "0|None"),
    notModelled("embed_dropout_prob", "0|None"),
    notModelled("embedding_dropout_prob", "0|None"),
    notModelled("hidden_dropout", "0|None"),
    notModelled("hidden_dropout_prob", "0|None"),
    notModelled("hidden_dropout_rate", "0|None"),
    notModelled("eod_mask_loss", "False"),
    notModelled("eod_reset", "False",
                "keeps attention within the document that a token is in"),
    notModelled("is_reward_model", "False"),
    notModelled("mtp_depth", "0|None"),
    notModelled("mtp_num_layers", "0|None"),
    notModelled("pre_seq_len", "0|None|'None'"),
    notModelled("prefix_projection", "False"),
    notModelled("rotary_pct", "1"),
    notModelled("rotary_percent", "1"),
    notModelled("scaling_factor", "1|None"),
    notModelled("sliding_window", "None"),
    notModelled("use_mup", "False"),
    notModelled("use_sliding_window", "False"),
};

/// The names of one quantity in the classes of models, separated by blanks.
static constexpr llvm::StringLiteral namesOfQuantities[] = {
    "theta rope_theta rotary_base rotary_emb_base",
    "num_layers num_hidden_layers num_layer n_layer",
    "num_heads num_attention_heads n_head",
    "n_kv_heads num_key_value_heads num_query_groups multi_query_group_num",
    "intermediate_size ffn_hidden_size inner_hidden_size",
    "vocab_size padded_vocab_size",
    "rms_norm_eps layernorm_epsilon layer_norm_epsilon",
    "param_init_type params_dtype",
    "compute_dtype compute_type",
    "layernorm_compute_type layernorm_compute_dtype",
    "softmax_compute_type softmax_compute_dtype",
    "qkv_has_bias attention_bias add_qkv_bias",
    "hidden_act activation_func",
    "mtp_depth num_nextn_predict_layers mtp_num_layers",
    "mtp_loss_factor mtp_loss_scaling_factor",
    "hidden_dropout hidden_dropout_prob hidden_dropout_rate",
    "attention_dropout attention_dropout_prob attention_dropout_rate",
    "embedding_dropout_prob embed_dropout_prob emb_dropout_prob",
};

/// Returns the name under which the class reads the quantity that `name` is for
/// in other classes. Empty if there is none, or if the YAML has it as well.
static llvm::StringRef findOwnName(llvm::StringRef name,
                                   const SpecReader &reader) {
  for (llvm::StringRef names : namesOfQuantities) {
    llvm::SmallVector<llvm::StringRef> all;
    names.split(all, ' ');
    if (!llvm::is_contained(all, name))
      continue;
    for (llvm::StringRef own : all)
      if (reader.wasRead(own))
        return reader.getNode()[own] ? llvm::StringRef() : own;
  }
  return {};
}

/// The keys beside those that readers read.
static constexpr KnownSection modelConfigSection = {
    "model_config", false, notModelledKeys, irrelevantKeys};

/// Returns whether the YAML has the key: what the dynamic graph takes for a
/// missing one has the place of the section.
static bool isWritten(const Node &section, llvm::StringRef key) {
  Node value = section[key];
  return value && !(value.getLocation() == section.getLocation());
}

void reportUnreadKeys(const SpecReader &reader, const Node &written) {
  // A misspelt key is compared with those that are read first.
  std::vector<llvm::StringRef> names = reader.getReadKeys().vec();
  llvm::append_range(names, modelConfigSection.getNames());
  for (const Node::Entry &entry : written.getEntries()) {
    llvm::StringRef name = entry.key.getText();
    if (reader.wasRead(name))
      continue;
    const std::string start = quote(name) + " in " + reader.getName().str();
    const KnownKey *known = modelConfigSection.find(name);
    const bool isUnknown = !llvm::is_contained(names, name);
    // A misspelt size whose right name is missing would be the default, so that
    // the model would be another one.
    const llvm::StringRef meant =
        isUnknown && entry.value.getInt()
            ? findNearestName(name, reader.getReadKeys())
            : llvm::StringRef();
    constexpr unsigned mostEdits = 2;
    llvm::StringRef own = findOwnName(name, reader);
    if (!meant.empty() && !isWritten(written, meant) &&
        name.edit_distance(meant) <= mostEdits)
      reader.diagnostics.error(entry.key.getLocation(),
                               "unknown key " + start + "; write " +
                                   quote(meant) +
                                   ", which is missing and would have its "
                                   "default otherwise");
    else if (!own.empty() && !(known && known->isNeutral(entry.value)))
      reader.diagnostics.warning(entry.key.getLocation(),
                                 start +
                                     " is a key of other classes; this "
                                     "one reads " +
                                     quote(own) + " (the key is ignored)");
    else if (isUnknown)
      reader.diagnostics.warning(entry.key.getLocation(),
                                 "unknown key " + start +
                                     suggestName(name, names) +
                                     " (the key is ignored)");
    else if (known && !known->isNeutral(entry.value))
      reader.diagnostics.warning(entry.key.getLocation(),
                                 start + " " +
                                     (known->meaning.empty()
                                          ? "changes the training step"
                                          : known->meaning) +
                                     ", but is not modelled; it is ignored");
  }
}

} // namespace mf
