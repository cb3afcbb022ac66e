//===- ModelKeys.cpp - The keys of model_config ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/ModelKeys.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace mf {

using known::notModelled;

/// Keys that cannot change the model of a training step: keys of inference,
/// bookkeeping, and keys that other passes read from the same YAML.
static constexpr IrrelevantKeys unreadModelKeys[] = {
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

static constexpr KnownKey notModelledModelKeys[] = {
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

constexpr KnownSection modelConfigSection = {
    "model_config", false, notModelledModelKeys, unreadModelKeys};

static constexpr const ModelKey *readKeys[] = {
#define MODEL_KEY(NAME, RECORD) &keys::NAME,
#include "mf/Frontend/Config/ModelKeys.def"
};

static void addNames(llvm::StringRef names,
                     llvm::SmallVectorImpl<llvm::StringRef> &list) {
  for (llvm::StringRef name : llvm::split(names, ' '))
    if (!name.empty() && !llvm::is_contained(list, name))
      list.push_back(name);
}

llvm::SmallVector<llvm::StringRef>
ModelKey::getNames(keys::Naming naming) const {
  const auto *own = llvm::find_if(ownNames, [&](const OwnNames &other) {
    return (other.namings >> naming & 1) != 0;
  });
  llvm::SmallVector<llvm::StringRef> list;
  addNames(own == std::end(ownNames) ? names : own->names, list);
  return list;
}

llvm::SmallVector<llvm::StringRef> ModelKey::getAllNames() const {
  llvm::SmallVector<llvm::StringRef> list;
  addNames(names, list);
  for (const OwnNames &own : ownNames)
    addNames(own.names, list);
  return list;
}

llvm::StringRef findWritten(const Node &map,
                            llvm::ArrayRef<llvm::StringRef> names) {
  llvm::StringRef written;
  for (llvm::StringRef name : names) {
    const Node value = map[name];
    if (!value.isUndefinedOrNull())
      return name;
    if (value && written.empty())
      written = name;
  }
  return written.empty() ? names.front() : written;
}

const ModelKey *findModelKey(llvm::StringRef name) {
  for (const ModelKey *key : readKeys)
    if (llvm::is_contained(key->getAllNames(), name))
      return key;
  return nullptr;
}

std::vector<KeyHelp> describeModelKeys() {
  std::vector<KeyHelp> keys;
  for (const ModelKey *known : readKeys) {
    KeyHelp &key = keys.emplace_back();
    key.name = known->getName();
    for (const llvm::StringRef name : llvm::drop_begin(known->getAllNames()))
      key.otherNames.push_back(name.str());
    key.meaning = known->meaning;
  }
  return keys;
}

void printModelKeyPage(llvm::raw_ostream &out) {
  out << "\n## model.model_config\n\nNames in a row are those of one key. A "
         "class of models reads some of them. Types and defaults are those of "
         "the class, and editors show them ([editors](../editors.md)).\n\n"
         "| key | meaning |\n|---|---|\n";
  for (const ModelKey *key : readKeys)
    out << "| `" << llvm::join(key->getAllNames(), "`, `") << "` | "
        << key->meaning << " |\n";
}

} // namespace mf
