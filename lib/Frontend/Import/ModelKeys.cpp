//===- ModelKeys.cpp - Keys of model_config that no reader reads ----------===//

#include "SpecReader.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

/// Keys that cannot change the model of a training step: keys of inference,
/// bookkeeping, and keys that other passes read from the same YAML.
static constexpr llvm::StringLiteral irrelevantKeys[] = {
    // Names of the model.
    "architectures",
    "arch",
    "auto_map",
    "auto_register",
    "model_name",
    "model_type",
    "name",
    "net_name",
    "transformers_version",
    "type",
    "_name_or_path",
    // Checkpoints.
    "checkpoint_name_or_path",
    "checkpoint_path",
    // The batch is the runner's.
    "batch_size",
    // Read where stages, recomputation, swap and fusions are decided.
    "cpu_offloading",
    "cpu_offloading_num_layers",
    "ffn_concat",
    "layer_swap",
    "offset",
    "op_swap",
    "pp_interleave_num",
    "start_stage",
    "stage_num",
    "swap",
    "apply_rope_fusion",
    "bias_swiglu_fusion",
    "use_fused_rope",
    "use_fused_swiglu",
    "fused_rms_norm",
    // Text generation.
    "block_size",
    "bos_token_id",
    "do_sample",
    "eos_token_id",
    "eod_token_id",
    "generation_config",
    "is_dynamic",
    "is_sample_acceleration",
    "llm_backend",
    "max_decode_length",
    "max_length",
    "max_new_tokens",
    "num_block",
    "num_blocks",
    "no_repeat_ngram_size",
    "prompt_length",
    "quantization_bit",
    "quantization_config",
    "repetition_penalty",
    "repetition_penalty_increase",
    "run_mode",
    "temperature",
    "top_k",
    "top_p",
    "unk_token_id",
    "use_cache",
    "use_incre_flash_attention",
    "use_kbk_infer",
    "use_kvcache_op",
    "use_paged_attention",
    "use_past",
    "use_past_shard",
    "use_prompt_flash_attention",
    "add_bos_token",
    "add_eos_token",
    "assistant_token_id",
    "user_token_id",
    "chunk_prefill",
    "is_lite_infer",
    "npu_mem_size",
    "parallel_decoding",
    // The same result another way, or of another size of table.
    "bias_dropout_fusion",
    "compute_in_2d",
    "input_sliced_sig",
    "max_position_embedding",
    "max_position_embeddings",
    "n_position",
    "pretrain_seqlen",
    "rmsnorm_compute_2d",
    "use_attn_mask_compression",
    "use_contiguous_weight_layout_attention",
    "use_interleaved_weight_layout_mlp",
    "use_ring_attention",
    "use_rope_slice",
    "apply_query_key_layer_scaling",
    "use_llama_rope",
    "use_rearrange_rope",
    "gated_linear_unit",
    "kv_channels",
    "mask_type",
    "position_embedding_type",
    "parallel_optimizer",
    "use_seq_parallel",
    "seq_parallel",
    "use_select_recompute",
    "use_legacy",
    "lm_head_dp",
    "rotary_emb_base",
    "emb_dropout_rate",
    "parallel_config",
    "mean",
    "moe_config",
    "return_extra_loss",
    "layers_group",
    "attention_softmax_in_fp32",
    "calculate_per_token_loss",
    "tie_word_embeddings",
    "hidden_act",
    "initializer_range",
    "init_method_std",
    "monitor_config",
    "seed",
    "use_eod_attn_mask_compression",
};

namespace {
/// A key that would change the training step, and the values with which it
/// does not.
struct NotModelledKey {
  llvm::StringLiteral name;
  llvm::StringLiteral
      neutral; ///< The spellings as Python prints them, separated by `|`.
  /// The effect that another value has on the step.
  llvm::StringLiteral effect = "changes the training step";
};
} // namespace

static constexpr NotModelledKey notModelledKeys[] = {
    {"attention_dropout", "0|None"},
    {"attention_dropout_prob", "0|None"},
    {"attention_dropout_rate", "0|None"},
    {"emb_dropout_prob", "0|None"},
    {"embed_dropout_prob", "0|None"},
    {"embedding_dropout_prob", "0|None"},
    {"hidden_dropout", "0|None"},
    {"hidden_dropout_prob", "0|None"},
    {"hidden_dropout_rate", "0|None"},
    {"eod_mask_loss", "False"},
    {"eod_reset", "False",
     "keeps attention within the document that a token is in"},
    {"is_reward_model", "False"},
    {"mtp_depth", "0|None"},
    {"mtp_num_layers", "0|None"},
    {"pre_seq_len", "0|None|'None'"},
    {"prefix_projection", "False"},
    {"rotary_pct", "1"},
    {"rotary_percent", "1"},
    {"scaling_factor", "1|None"},
    {"sliding_window", "None"},
    {"use_mup", "False"},
    {"use_sliding_window", "False"},
};

/// True if `value` has one of the spellings. Numbers are compared by value.
static bool isNeutral(const Node &value, llvm::StringRef neutral) {
  std::string text = value.repr();
  llvm::SmallVector<llvm::StringRef> spellings;
  neutral.split(spellings, '|');
  return llvm::any_of(spellings, [&](llvm::StringRef spelling) {
    double number = 0;
    if (!spelling.getAsDouble(number) && value.getFloat() == number)
      return true;
    return spelling == text;
  });
}

/// Returns the names to which a misspelt key is compared.
static llvm::SmallVector<llvm::StringRef>
getCandidates(const SpecReader &reader) {
  llvm::SmallVector<llvm::StringRef> names;
  for (llvm::StringRef key : reader.getReadKeys())
    names.push_back(key);
  for (llvm::StringRef key : irrelevantKeys)
    names.push_back(key);
  for (const NotModelledKey &key : notModelledKeys)
    names.push_back(key.name);
  return names;
}

void reportUnreadKeys(const SpecReader &reader, const Node &written) {
  for (const Node::Entry &entry : written.getEntries()) {
    llvm::StringRef name = entry.key.getText();
    if (reader.wasRead(name) || llvm::is_contained(irrelevantKeys, name))
      continue;
    const NotModelledKey *known =
        llvm::find_if(notModelledKeys, [&](const NotModelledKey &key) {
          return key.name == name;
        });
    if (known == std::end(notModelledKeys))
      reader.diagnostics.warning(entry.key.getLocation(),
                                 "unknown key " + quote(name) + " in " +
                                     reader.getName() +
                                     suggestName(name, getCandidates(reader)) +
                                     " (the key is ignored)");
    else if (!isNeutral(entry.value, known->neutral))
      reader.diagnostics.warning(entry.key.getLocation(),
                                 quote(name) + " in " + reader.getName() + " " +
                                     known->effect +
                                     ", but is not modelled; it is ignored");
  }
}

} // namespace mf
