//===- ModelKeys.cpp - The keys of model_config ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/ModelKeys.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace mf {

using known::notModelled;

/// Keys that no class of models reads: keys of inference, bookkeeping, and keys
/// that other passes read from the same YAML.
static constexpr IrrelevantKeys irrelevantKeys[] = {
    {keys::ofNames,
     "arch auto_map auto_register name transformers_version _name_or_path"},
    {"checkpoints", "checkpoint_name_or_path checkpoint_path"},
    {"the batch is the runner's", "batch_size"},
    {keys::elsewhere, "cpu_offloading cpu_offloading_num_layers ffn_concat "
                      "layer_swap op_swap swap fused_rms_norm"},
    {keys::generation,
     "block_size do_sample generation_config is_dynamic is_sample_acceleration "
     "llm_backend max_decode_length max_length max_new_tokens num_block "
     "num_blocks no_repeat_ngram_size prompt_length quantization_bit "
     "quantization_config repetition_penalty repetition_penalty_increase "
     "run_mode temperature top_k top_p unk_token_id use_cache "
     "use_incre_flash_attention use_kbk_infer use_kvcache_op "
     "use_paged_attention use_past use_past_shard use_prompt_flash_attention "
     "add_bos_token add_eos_token assistant_token_id user_token_id "
     "chunk_prefill is_lite_infer npu_mem_size parallel_decoding"},
    {keys::sameResult,
     "bias_dropout_fusion compute_in_2d input_sliced_sig n_position "
     "pretrain_seqlen rmsnorm_compute_2d "
     "use_contiguous_weight_layout_attention use_interleaved_weight_layout_mlp "
     "use_rope_slice apply_query_key_layer_scaling use_llama_rope "
     "use_rearrange_rope gated_linear_unit kv_channels rotary_emb_base "
     "mask_type use_seq_parallel seq_parallel use_select_recompute use_legacy "
     "lm_head_dp emb_dropout_rate parallel_config mean moe_config layers_group "
     "monitor_config seed"},
};

/// Keys that no class reads, although they change the training step.
static constexpr KnownKey notModelledKeys[] = {
    notModelled("eod_mask_loss", "False"),
    notModelled("is_reward_model", "False"),
    notModelled("rotary_pct", "1"),
    notModelled("rotary_percent", "1"),
    notModelled("use_mup", "False"),
};

static constexpr const ModelKey *records[] = {
#define MODEL_KEY(NAME, RECORD) &keys::NAME,
#include "mf/Frontend/Config/ModelKeys.def"
};

llvm::ArrayRef<const ModelKey *> getModelKeys() { return records; }

const KnownSection &getUnreadModelKeys() {
  static const auto known = [] {
    auto list = llvm::to_vector(llvm::ArrayRef(notModelledKeys));
    for (const ModelKey *key : records)
      if (!key->neutral.empty())
        for (const llvm::StringRef name : key->getAllNames())
          list.push_back(notModelled(name, key->neutral, key->effect));
    return list;
  }();
  static const auto irrelevant = [] {
    auto list = llvm::to_vector(llvm::ArrayRef(irrelevantKeys));
    for (const ModelKey *key : records)
      if (!key->unreadReason.empty())
        for (const llvm::StringLiteral names : key->getCommonNames())
          list.push_back({key->unreadReason, names});
    return list;
  }();
  static const KnownSection section = {"model_config", false, known,
                                       irrelevant};
  return section;
}

static void addNames(llvm::StringRef names,
                     llvm::SmallVectorImpl<llvm::StringRef> &list) {
  for (llvm::StringRef name : llvm::split(names, ' '))
    if (!name.empty() && !llvm::is_contained(list, name))
      list.push_back(name);
}

llvm::SmallVector<llvm::StringRef>
ModelKey::getNames(keys::Naming naming) const {
  const auto find = [&](keys::Naming wanted) {
    return llvm::find_if(ownNames, [&](const OwnNames &other) {
      return (other.namings >> wanted & 1) != 0;
    });
  };
  const OwnNames *own = find(naming);
  if (own == std::end(ownNames) && (naming == keys::HuggingFaceDeepSeek ||
                                    naming == keys::HuggingFaceMixtral))
    own = find(keys::HuggingFace);
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

llvm::SmallVector<llvm::StringLiteral> ModelKey::getCommonNames() const {
  llvm::SmallVector<llvm::StringLiteral> list = {names};
  for (const OwnNames &own : ownNames)
    if (own.namings == 1U << keys::Nobody)
      list.push_back(own.names);
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
  for (const ModelKey *key : records)
    if (llvm::is_contained(key->getAllNames(), name))
      return key;
  return nullptr;
}

std::vector<KeyHelp> describeModelKeys() {
  std::vector<KeyHelp> keys;
  for (const ModelKey *known : records) {
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
  for (const ModelKey *key : records)
    out << "| `" << llvm::join(key->getAllNames(), "`, `") << "` | "
        << key->meaning << " |\n";
}

} // namespace mf
