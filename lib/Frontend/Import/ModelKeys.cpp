//===- ModelKeys.cpp - Keys of model_config that no reader reads ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "SpecReader.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Import/ModelSpec.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

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

namespace {

/// The record of a quantity that classes of models read.
struct ModelKey {
  /// Its names in the classes, separated by blanks.
  llvm::StringLiteral names;
  llvm::StringLiteral meaning;
  /// True for a warning about a name that the model's class does not read.
  bool isWrongElsewhere = false;
};

} // namespace

static constexpr ModelKey modelKeys[] = {
    // Sizes.
    {"seq_length", "tokens of a sequence"},
    {"vocab_size padded_vocab_size actual_vocab_size",
     "rows of the embedding's table", true},
    {"hidden_size", "elements of a token between layers"},
    {"embedding_size",
     "elements of a token in the embedding's table, where it is projected"},
    {"num_layers num_hidden_layers num_layer n_layer", "layers of the body",
     true},
    {"num_heads num_attention_heads n_head", "heads of queries of a layer",
     true},
    {"n_kv_heads num_key_value_heads num_query_groups multi_query_group_num",
     "heads of keys and values of a layer, which heads of queries share", true},
    {"multi_query_attention", "heads of queries share keys and values"},
    {"head_dim kv_channels hidden_size_per_attention_head",
     "elements of a head"},
    {"intermediate_size ffn_hidden_size inner_hidden_size",
     "elements of a token inside the feed-forward", true},
    {"ffn_dim_multiplier",
     "factor of the feed-forward's size where that is not given"},
    {"multiple_of",
     "the feed-forward's size is rounded up to a multiple of this"},
    {"expand_ratio", "the feed-forward's size over hidden_size"},
    {"max_position_embeddings max_position_embedding",
     "longest sequence of the model; the length where seq_length is not given"},
    // Tokens.
    {"pad_token_id", "token that fills rows; labels equal to it do not count"},
    {"ignore_token_id", "labels equal to it do not count"},
    {"eos_token_id eod_token_id", "token that ends a document"},
    {"bos_token_id", "token that begins what is to be generated"},
    {"mask_token_id gmask_token_id", "token in place of what is generated"},
    {"is_enhanced_encoder", "whether the embedding is that of an encoder"},
    // Types.
    {"compute_dtype compute_type torch_dtype dtype",
     "type in which layers compute", true},
    {"param_init_type params_dtype", "type of parameters", true},
    {"embedding_init_type", "type of the embedding's table"},
    {"layernorm_compute_type layernorm_compute_dtype",
     "type in which norms compute", true},
    {"softmax_compute_type softmax_compute_dtype",
     "type in which the softmax of attention computes", true},
    {"attention_softmax_in_fp32", "the softmax of attention is in float32"},
    {"rotary_dtype", "type in which rotary positions are applied"},
    {"residual_dtype res_dtype", "type of the values between layers"},
    {"fp32_residual_connection", "values between layers are float32"},
    {"moe_router_dtype router_dense_type", "type in which routers compute"},
    // Biases, norms and activations.
    {"qkv_has_bias attention_bias add_qkv_bias",
     "projections to queries, keys and values have biases", true},
    {"attn_proj_has_bias out_proj_has_bias wo_has_bias",
     "the projection behind attention has a bias"},
    {"has_bias add_bias_linear mlp_bias", "linear layers have biases"},
    {"rms_norm_eps layernorm_epsilon layer_norm_epsilon",
     "summand below the root of norms", true},
    {"qk_layernorm", "queries and keys are normalised for each head"},
    {"layernorm_order", "where the norms of a layer are"},
    {"post_layernorm_residual apply_residual_connection_post_layernorm",
     "residuals begin behind norms"},
    {"use_final_layernorm post_layer_norm", "a norm is behind the last layer"},
    {"hidden_act activation_func", "activation of the feed-forward", true},
    {"swiglu_limit activation_func_clamp_value",
     "bound on the inputs of the activation of experts"},
    {"initializer_range init_method_std sigma",
     "standard deviation of first values"},
    // Dropout.
    {"hidden_dropout hidden_dropout_prob hidden_dropout_rate dropout_rate",
     "share of elements that are dropped behind attention and feed-forward",
     true},
    {"attention_dropout attention_dropout_prob attention_dropout_rate",
     "share of elements that are dropped of the scores of attention", true},
    {"embedding_dropout_prob embed_dropout_prob emb_dropout_prob",
     "share of elements that are dropped behind the embedding", true},
    // Attention.
    {"use_flash_attention", "attention runs in tiles and keeps no scores"},
    {"use_ring_attention", "context-parallel ranks exchange keys and values"},
    {"use_attn_mask_compression", "the mask of attention is a small triangle"},
    {"use_eod_attn_mask_compression",
     "attention stays within documents, by the positions where they end"},
    {"eod_reset", "attention stays within the document of a token"},
    {"enable_fa_var_len", "attention stays within sequences of a row"},
    {"qkv_concat mla_qkv_concat",
     "the projections before attention are one product"},
    {"mlp_concat", "the two products at the feed-forward's begin are one"},
    {"sliding_window csa_window_size", "tokens to which a token attends"},
    {"use_sliding_window", "attention is limited by sliding_window"},
    {"sparse_local_size", "tokens to which sparse attention is limited"},
    // Positions.
    {"position_embedding_type", "how positions enter the model"},
    {"position_encoding_2d", "a token has a position in its span as well"},
    {"theta rope_theta rotary_base rotary_emb_base",
     "base of the rotary positions' frequencies", true},
    {"rope_scaling rope_parameters",
     "how rotary positions are stretched to longer sequences"},
    {"rope_ratio", "factor of the base of rotary positions"},
    {"extend_method", "how rotary positions are stretched"},
    {"scaling_factor rotary_scaling_factor",
     "factor by which rotary positions are stretched"},
    {"rope_type", "how rotary positions are stretched"},
    {"original_max_position_embeddings original_max_position_embedding",
     "longest sequence before positions were stretched"},
    {"low_freq_factor", "rotations below which frequencies are stretched"},
    {"high_freq_factor", "rotations above which they are not"},
    {"beta_fast", "rotations above which frequencies are not stretched"},
    {"beta_slow", "rotations below which frequencies are stretched in full"},
    {"mscale", "factor of the scores' scale for stretched positions"},
    {"mscale_all_dim", "factor of the scores' scale for all dimensions"},
    // Latent attention.
    {"multi_latent_attention", "keys and values come from a latent vector"},
    {"q_lora_rank", "elements of the latent vector of queries"},
    {"kv_lora_rank", "elements of the latent vector of keys and values"},
    {"o_lora_rank", "elements of the latent vector behind attention"},
    {"o_groups", "groups of heads in the projection behind attention"},
    {"qk_nope_head_dim qk_head_dim",
     "elements of a head of queries and keys without positions"},
    {"qk_rope_head_dim qk_pos_emb_head_dim",
     "elements of a head of queries and keys with rotary positions"},
    {"v_head_dim", "elements of a head of values"},
    // Sparse and compressed attention.
    {"experimental_attention_variant", "the kind of attention"},
    {"compress_ratios csa_compress_ratios",
     "for each layer, tokens that become one entry of attention"},
    {"compress_rope_theta csa_compress_rotary_base",
     "base of the rotary positions of compressed entries"},
    {"index_n_heads dsa_indexer_n_heads", "heads of the indexer"},
    {"index_head_dim dsa_indexer_head_dim",
     "elements of a head of the indexer"},
    {"index_topk dsa_indexer_topk", "entries that the indexer chooses"},
    {"csa_dense_mode", "attention reads all entries, not the chosen ones"},
    {"dsa_indexer_loss_coeff", "factor of the indexer's loss"},
    {"dsa_indexer_use_sparse_loss", "the indexer's loss is of chosen entries"},
    {"apply_dsa_kernel_fusion", "sparse attention is one kernel"},
    // Hyper-connections.
    {"enable_hyper_connections", "layers have several residual streams"},
    {"hc_mult num_residual_streams", "residual streams"},
    {"hc_sinkhorn_iters mhc_sinkhorn_iterations",
     "iterations that balance the streams' mixture"},
    {"hc_eps mhc_layernorm_epsilon",
     "summand below the root of the streams' norm"},
    {"mhc_init_gating_factor", "first value of the streams' gates"},
    {"enable_hc_head", "streams are mixed by weights of their own before the "
                       "head"},
    {"use_fused_mhc", "streams are mixed by fused kernels"},
    // The head, and later tokens.
    {"tie_word_embeddings untie_embeddings_and_output_weights",
     "whether the head and the embedding share a table"},
    {"mtp_depth num_nextn_predict_layers mtp_num_layers",
     "layers that predict later tokens", true},
    {"mtp_loss_factor mtp_loss_scaling_factor",
     "factor of the loss of later tokens", true},
    {"chunk_loss_num", "pieces of the sequence in which the loss is computed"},
    {"calculate_per_token_loss", "the loss is a mean of all tokens of a step"},
    // Experts.
    {"num_experts n_routed_experts num_moe_experts expert_num",
     "routed experts of a layer; without them layers are dense"},
    {"num_experts_per_tok moe_router_topk num_experts_chosen",
     "experts that a token chooses"},
    {"moe_intermediate_size moe_ffn_hidden_size",
     "elements of a token inside an expert"},
    {"n_shared_experts shared_expert_num", "experts that all tokens visit"},
    {"moe_shared_expert_intermediate_size shared_expert_intermediate_size",
     "elements of a token inside the shared experts"},
    {"use_shared_expert_gating", "the shared experts' result has a gate"},
    {"first_k_dense_replace", "first layers, which are dense"},
    {"moe_layer_freq decoder_sparse_step", "which layers have experts"},
    {"mlp_only_layers", "layers that are dense"},
    {"num_hash_layers moe_n_hash_layers",
     "first layers, whose experts follow from the token"},
    {"scoring_func moe_router_score_function use_gating_sigmoid",
     "what makes scores from a router's results"},
    {"norm_topk_prob",
     "the scores of the chosen experts are divided by their sum"},
    {"routed_scaling_factor moe_router_topk_scaling_factor",
     "factor of the routed experts' results"},
    {"n_group moe_router_num_groups",
     "groups of experts, of which tokens choose some"},
    {"topk_group moe_router_group_topk",
     "groups of experts that a token chooses"},
    {"topk_method", "how tokens choose experts"},
    {"moe_router_enable_expert_bias balance_via_topk_bias",
     "biases that balance the experts are added to scores"},
    {"moe_router_bias_update_rate topk_bias_update_rate",
     "how much a step changes these biases"},
    {"moe_router_load_balancing_type", "the loss that balances experts"},
    {"moe_aux_loss_coeff router_aux_loss_coef aux_loss_factor",
     "factor of the loss that balances experts"},
    {"moe_z_loss_coeff z_loss_factor", "factor of the loss of large scores"},
    {"moe_grouped_gemm use_gmm", "the products of all experts are one kernel"},
    {"moe_permute_fusion use_fused_ops_permute",
     "tokens are sorted by experts in one kernel"},
    {"moe_token_dispatcher_type",
     "how tokens reach the ranks of their experts"},
    {"moe_token_drop_policy", "which tokens a full expert leaves out"},
    {"use_pad_tokens enable_gmm_safe_tokens",
     "each expert gets a token at least"},
    {"return_extra_loss", "losses of routers are added to the step's loss"},
    // Adapters.
    {"pet_config", "adapters that are trained beside the weights"},
    {"pre_seq_len", "tokens of a learned prefix"},
    {"prefix_projection", "a learned prefix is projected"},
    // Names.
    {"type model_type architectures net_name model_name",
     "names of the model, which choose its class"},
    // How a layer runs.
    {"fine_grain_interleave",
     "blocks of rows of a layer, whose exchanges run beside each other"},
    {"parallel_optimizer", "the embedding's table is sharded as states are"},
};

static const ModelKey *findModelKey(llvm::StringRef name) {
  for (const ModelKey &key : modelKeys)
    if (llvm::is_contained(llvm::split(key.names, ' '), name))
      return &key;
  return nullptr;
}

/// Returns the name under which the class reads the quantity that `name` is for
/// in other classes. Empty if there is none, or if the YAML has it as well.
static llvm::StringRef findOwnName(llvm::StringRef name,
                                   const SpecReader &reader) {
  const ModelKey *key = findModelKey(name);
  if (!key || !key->isWrongElsewhere)
    return {};
  for (const llvm::StringRef own : llvm::split(key->names, ' '))
    if (reader.wasRead(own))
      return reader.getNode()[own] ? llvm::StringRef() : own;
  return {};
}

/// The keys beside those that readers read.
static constexpr KnownSection modelConfigSection = {
    "model_config", false, notModelledKeys, irrelevantKeys};

bool isWritten(const Node &section, llvm::StringRef key) {
  Node value = section[key];
  return value && !(value.getLocation() == section.getLocation());
}

std::vector<KeyHelp> SpecReader::describeKeys() const {
  std::vector<KeyHelp> keys = described;
  std::set<std::string> names;
  const auto listNames = [&](const KeyHelp &key) {
    names.insert(key.name);
    names.insert(key.otherNames.begin(), key.otherNames.end());
  };
  llvm::for_each(keys, listNames);
  // Keys whose form is their own.
  for (const llvm::StringRef name : readKeys)
    if (names.insert(name.str()).second)
      keys.emplace_back().name = name;
  for (KeyHelp &key : keys)
    if (const ModelKey *known = findModelKey(key.name))
      key.meaning = known->meaning;
    else if (const KnownKey *ofExperts = moeSection.find(key.name))
      key.meaning = ofExperts->meaning;
  for (KeyHelp &key : mf::describeKeys(modelConfigSection))
    if (names.insert(key.name).second)
      keys.push_back(std::move(key));
  return keys;
}

std::vector<KeyHelp> describeModelKeys() {
  std::vector<KeyHelp> keys;
  for (const ModelKey &known : modelKeys) {
    KeyHelp &key = keys.emplace_back();
    for (const llvm::StringRef name : llvm::split(known.names, ' '))
      if (key.name.empty())
        key.name = name;
      else
        key.otherNames.push_back(name.str());
    key.meaning = known.meaning;
  }
  return keys;
}

void printModelKeyPage(llvm::raw_ostream &out) {
  out << "\n## model.model_config\n\nNames in a row are those of one key. A "
         "class of models reads some of them. Types and defaults are those of "
         "the class, and editors show them ([editors](../editors.md)).\n\n"
         "| key | meaning |\n|---|---|\n";
  for (const ModelKey &key : modelKeys)
    out << "| `" << llvm::join(llvm::split(key.names, ' '), "`, `") << "` | "
        << key.meaning << " |\n";
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
