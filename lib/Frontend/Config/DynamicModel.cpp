//===- DynamicModel.cpp - Section model of the trainer --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicConfig.h"
#include "NodeBuilder.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "llvm/Support/FormatVariadic.h"

namespace mf {

namespace {

/// The value of a key if the YAML does not have the key.
struct ModelDefault {
  llvm::StringLiteral name;
  llvm::StringLiteral value;
};

struct DynamicClass {
  llvm::StringLiteral type;
  llvm::StringLiteral architecture;
  llvm::ArrayRef<ModelDefault> defaults;
  /// Whether a name of the key from other classes is the key, too. Otherwise
  /// the default and the other name contradict each other.
  bool takesAllNames = true;
};

} // namespace

// These are the defaults of MindSpore Transformers' configuration classes.
static constexpr ModelDefault deepSeekDefaults[] = {
    {"vocab_size", "129280"},
    {"hidden_size", "7168"},
    {"intermediate_size", "18432"},
    {"num_hidden_layers", "61"},
    {"num_attention_heads", "128"},
    {"moe_intermediate_size", "2048"},
    {"num_nextn_predict_layers", "1"},
    {"n_shared_experts", "1"},
    {"n_routed_experts", "256"},
    {"num_experts_per_tok", "8"},
    {"routed_scaling_factor", "2.5"},
    {"n_group", "8"},
    {"topk_group", "4"},
    {"first_k_dense_replace", "3"},
    {"scoring_func", "sigmoid"},
    {"moe_router_enable_expert_bias", "True"},
    {"mtp_loss_scaling_factor", "0.1"},
    {"multi_latent_attention", "True"},
};

static constexpr ModelDefault deepSeek4Defaults[] = {
    {"vocab_size", "129280"},
    {"hidden_size", "7168"},
    {"num_hidden_layers", "61"},
    {"num_attention_heads", "128"},
    {"num_key_value_heads", "1"},
    {"rms_norm_eps", "1.e-6"},
    {"initializer_range", "0.02"},
    {"moe_intermediate_size", "3072"},
    {"num_nextn_predict_layers", "1"},
    {"n_shared_experts", "1"},
    {"n_routed_experts", "384"},
    {"num_experts_per_tok", "6"},
    {"routed_scaling_factor", "2.5"},
    {"n_group", "0"},
    {"moe_router_score_function", "sqrtsoftplus"},
    {"moe_router_enable_expert_bias", "True"},
    {"norm_topk_prob", "True"},
    {"num_hash_layers", "3"},
    {"swiglu_limit", "10.0"},
    {"multi_latent_attention", "True"},
    {"experimental_attention_variant", "dsv4_hybrid"},
    {"head_dim", "512"},
    {"q_lora_rank", "1536"},
    {"qk_rope_head_dim", "64"},
    {"o_lora_rank", "1024"},
    {"o_groups", "16"},
    {"compress_rope_theta", "160000"},
    {"sliding_window", "128"},
    {"index_n_heads", "64"},
    {"index_head_dim", "128"},
    {"index_topk", "1024"},
    {"rope_theta", "10000"},
    {"max_position_embeddings", "1048576"},
    {"hc_mult", "4"},
    {"hc_sinkhorn_iters", "20"},
    {"hc_eps", "1.e-6"},
    {"hidden_dropout", "0.0"},
    {"attention_dropout", "0.0"},
};

static constexpr ModelDefault qwenDefaults[] = {
    {"vocab_size", "151936"},       {"hidden_size", "4096"},
    {"intermediate_size", "22016"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "32"},
    {"qk_layernorm", "True"},
};

/// These are the defaults of TransformerConfig, which all classes have.
static constexpr ModelDefault transformerDefaults[] = {
    {"hidden_dropout", "0.1"},
    {"attention_dropout", "0.1"},
};

static constexpr DynamicClass dynamicClasses[] = {
    {"deepseek_v3", "DeepseekV3ForCausalLM", deepSeekDefaults},
    {"deepseek_v4", "DeepseekV4ForCausalLM", deepSeek4Defaults,
     /*takesAllNames=*/false},
    {"qwen3", "Qwen3ForCausalLM", qwenDefaults},
};

static llvm::StringRef getArchitectureText(const Node &model) {
  Node architecture = keys::architectures.find(model);
  if (architecture.isList() && !architecture.getElements().empty())
    architecture = architecture.getElements().front();
  return architecture.getText();
}

static const DynamicClass *findDynamicClass(const Node &model,
                                            DiagnosticList &diagnostics) {
  Node type = keys::modelType.find(model);
  const Node written = keys::architectures.find(model);
  const llvm::StringRef name = getArchitectureText(model);
  if (written && written.getKind() == NodeKind::Null) {
    diagnostics.error(written.getLocation(),
                      "Field 'ModelConfig.architectures' cannot be None");
    return nullptr;
  }
  for (const DynamicClass &known : dynamicClasses)
    if (name == known.architecture ||
        (name.empty() && type.getText() == known.type))
      return &known;
  diagnostics.error((written ? written : type).getLocation(),
                    "the dynamic graph has no class " +
                        quote(name.empty() ? type.getText() : name) +
                        "; expected Qwen3ForCausalLM, DeepseekV3ForCausalLM or "
                        "DeepseekV4ForCausalLM");
  return nullptr;
}

static void setModelDefaults(const Node &written,
                             llvm::ArrayRef<ModelDefault> defaults,
                             bool takesAllNames, NodeBuilder &model) {
  for (const auto &[name, value] : defaults) {
    const ModelKey &key = *findModelKey(name);
    // The width of shared experts says how many there are as well.
    const bool isGiven = model.get(takesAllNames ? key.findName(written)
                                                 : llvm::StringRef(name)) ||
                         (&key == &keys::numSharedExperts &&
                          keys::sharedExpertSize.find(written));
    if (!isGiven)
      model.set(name, value, written);
  }
}

DynamicDepth readDynamicDepth(const Node &model) {
  /// A limit for hostile input, as StageMap has it.
  constexpr int64_t mostLayers = 1 << 16;
  auto read = [&](const ModelKey &key) {
    return std::clamp<int64_t>(key.find(model).getInt().value_or(0), 0,
                               mostLayers);
  };
  return {read(keys::numLayers), read(keys::nextTokenLayers)};
}

/// The router's own default is a type that it does not know.
static void checkBalancingLoss(const Node &model, DiagnosticList &diagnostics) {
  Node factor = keys::balanceLossFactor.find(model, keys::Mcore);
  if (factor.getFloat().value_or(0) <= 0)
    return;
  Node type = keys::balanceLossType.find(model);
  const llvm::StringRef name = type ? type.getText() : "sub_seq_aux_loss";
  if (name == "aux_loss" || name == "seq_aux_loss")
    return;
  const Location &place = (type ? type : factor).getLocation();
  if (name == "global_aux_loss")
    diagnostics.error(place, "'global_aux_loss' is not supported: the choices "
                             "of the steps before are not kept; expected "
                             "aux_loss or seq_aux_loss for " +
                                 quote(keys::balanceLossType.getName()));
  else
    diagnostics.error(place, "Unknown aux_loss_type " + name + "; set " +
                                 keys::balanceLossType.getName() +
                                 " to aux_loss or seq_aux_loss");
}

/// Keys of parallelism that layers read, under their names in the model.
static void setExpertKeys(const Node &root, const DynamicLayout &layout,
                          NodeBuilder &model, DiagnosticList &diagnostics) {
  DynamicReader reader(root, "parallelism", diagnostics);
  const llvm::StringRef dispatcher = keys::tokenDispatcher.getName();
  model.remove(dispatcher);
  if (Node value = reader.getWritten(dispatcher))
    model.set(dispatcher, value);
  for (llvm::StringRef key : keys::padTokens.getAllNames())
    model.remove(key);
  model.remove("npu_nums_per_device");
  model.remove(keys::tokenDropPolicy.getName());
  Node safe = reader.get("expert_parallel_use_safe_tokens");
  if (layout.expert > 1 && safe.getBool().value_or(false))
    model.set(keys::padTokens.getName(), safe);
}

static void warnAboutDropout(const Node &written, DiagnosticList &diagnostics) {
  for (const ModelDefault &dropout : transformerDefaults)
    if (!written[dropout.name])
      diagnostics.warning(written.getLocation(),
                          quote(dropout.name) + " is not given, so it is " +
                              dropout.value +
                              ", the trainer's default; write 0.0 to drop "
                              "nothing");
}

int64_t readDynamicLossPieces(const Node &root, DiagnosticList &diagnostics) {
  Node pieces = keys::chunkLossNum.find(root["model"]);
  if (pieces.isUndefinedOrNull())
    return 1;
  const std::optional<int64_t> count = pieces.getInt();
  if (!count || *count < 1) {
    diagnostics.error(pieces.getLocation(),
                      "expected a whole number of at least 1 for " +
                          quote(keys::chunkLossNum.getName()) + ", but got " +
                          pieces.repr());
    return 1;
  }
  if (Node perToken = keys::calculatePerTokenLoss.find(root["model"]);
      *count > 1 && perToken.getBool().value_or(false))
    diagnostics.error(perToken.getLocation(),
                      llvm::formatv("For {0} > 1, {1} is not supported; "
                                    "expected {0} 1 or {1} False",
                                    keys::chunkLossNum.getName(),
                                    keys::calculatePerTokenLoss.getName())
                          .str());
  return *count;
}

/// Settings without an equivalent in mf.
static void checkModel(const Node &model, bool hasExperts,
                       DiagnosticList &diagnostics) {
  if (Node perToken = keys::calculatePerTokenLoss.find(model);
      perToken.getBool().value_or(false))
    diagnostics.warning(perToken.getLocation(),
                        quote(keys::calculatePerTokenLoss.getName()) +
                            " is not modelled; the loss is the mean of each "
                            "micro-batch's");
  if (hasExperts)
    return;
  for (llvm::StringRef key : keys::numExperts.getNames(keys::Mcore))
    if (Node experts = model[key]; experts.getInt().value_or(0) > 0) {
      diagnostics.error(experts.getLocation(),
                        "the dynamic graph's Qwen3ForCausalLM has no experts: "
                        "expected no " +
                            quote(key) + ", but got " + experts.repr(60));
      return;
    }
}

/// Returns whether attention is that of DeepSeek-V4, which is the default of
/// its class.
static bool isHybrid(const NodeBuilder &model) {
  return model.get(keys::attentionVariant.getName()).getText() == "dsv4_hybrid";
}

/// Sets the token that ends a document, if hybrid attention is limited to
/// documents. `data` describes the files of tokens.
static void setDocuments(const Node &data, const DynamicLayout &layout,
                         NodeBuilder &model, DiagnosticList &diagnostics) {
  Node mask = data["create_compressed_eod_mask"];
  if (!mask.getBool().value_or(false))
    return;
  auto refuse = [&](const llvm::Twine &why) {
    diagnostics.error(mask.getLocation(), why + ": expected False for "
                                                "'create_compressed_eod_mask'");
  };
  if (model.get("apply_dsa_kernel_fusion").getBool().value_or(true))
    return refuse("fused hybrid attention ('apply_dsa_kernel_fusion') "
                  "currently supports BSND layout only, which has no "
                  "documents");
  if (layout.context > 1)
    return refuse("ranks that share a sequence of hybrid attention "
                  "('context_parallel') do not know its documents");
  Node end = data["eod"];
  if (end.getInt().value_or(-1) < 0) {
    diagnostics.error((end ? end : mask).getLocation(),
                      "expected the token that ends a document for 'eod', as "
                      "'create_compressed_eod_mask' is True" +
                          (end ? ", but got " + end.repr(60) : ""));
    return;
  }
  model.set("eod_reset", "True", mask);
  model.set("eod_token_id", end.getText(), end);
}

/// What DeepSeek-V4 does not read, or not together.
static void adaptDeepSeek4(const Node &root, const Node &written,
                           const DynamicLayout &layout, NodeBuilder &model,
                           DiagnosticList &diagnostics) {
  constexpr llvm::StringLiteral denseWidth = "ffn_hidden_size";
  const bool hasWidth = static_cast<bool>(model.get(denseWidth));
  if (!hasWidth) {
    const int64_t hidden = std::clamp<int64_t>(
        model.get("hidden_size").getInt().value_or(1), 1, INT32_MAX / 4);
    model.set(denseWidth, llvm::Twine(4 * hidden), written);
  }
  if (Node width = written["intermediate_size"]) {
    diagnostics.warning(
        width.getLocation(),
        "'intermediate_size' has no effect on DeepSeek-V4, whose dense layers "
        "have 'ffn_hidden_size', which is " +
            model.get(denseWidth).getText() +
            (hasWidth ? "" : ", 4 times hidden_size, as it is not given"));
    model.remove("intermediate_size");
  }
  constexpr llvm::StringLiteral plain = "qk_nope_head_dim";
  if (!written[plain])
    model.set(plain,
              llvm::Twine(model.get("head_dim").getInt().value_or(0) -
                          model.get("qk_rope_head_dim").getInt().value_or(0)),
              written);
  auto ignore = [&](llvm::StringRef key, llvm::StringRef neutral,
                    const llvm::Twine &why) {
    if (Node value = written[key];
        !value.isUndefinedOrNull() && value.getText() != neutral)
      diagnostics.warning(value.getLocation(),
                          quote(key) + " has no effect on DeepSeek-V4: " + why);
    model.remove(key);
  };
  const llvm::StringRef variant = keys::attentionVariant.getName();
  if (written[variant].getKind() == NodeKind::Null && written[variant])
    model.set(variant, "mla", written[variant]);
  if (Node limit = written["swiglu_limit"];
      !limit.isUndefinedOrNull() &&
      model.get("hidden_act").getText() != "fusedswiglu")
    diagnostics.warning(limit.getLocation(),
                        "'swiglu_limit' has no effect without 'hidden_act' "
                        "fusedswiglu");
  ignore("scoring_func", model.get("moe_router_score_function").getText(),
         "routers read 'moe_router_score_function'");
  ignore("eod_reset", "False",
         "documents follow from 'create_compressed_eod_mask' of the data");
  ignore("mla_qkv_concat", "True",
         "the projections of latent attention are one weight");
  auto getType = [&](const ModelKey &key, llvm::StringRef missing) {
    const Node value = key.find(written, keys::Mcore);
    return value ? value.getText() : missing;
  };
  const llvm::StringRef stored = getType(keys::paramType, "float32");
  const llvm::StringRef computed = getType(keys::computeType, "bfloat16");
  const llvm::StringRef name = keys::paramType.getNames(keys::Mcore).front();
  Node place = written[name];
  if (stored != computed)
    diagnostics.error(
        (place ? place : written).getLocation(),
        "expected the " + quote(name) + " of DeepSeek-V4 to be its " +
            quote(keys::computeType.getName()) + ", " + computed +
            ", but got " + stored + ": products of experts fail otherwise");
  if (!isHybrid(model))
    return;
  if (Node method = root["parallelism"]["context_parallel_method"];
      layout.context > 1 &&
      (method.getText() == "ulysses" || method.getText() == "hybrid"))
    diagnostics.error(method.getLocation(),
                      "ranks that share a sequence of hybrid attention "
                      "('dsv4_hybrid') exchange keys, not heads: expected "
                      "colossal for 'context_parallel_method', but got " +
                          method.repr(60));
  setDocuments(root["train_dataset"]["dataloader"]["config"], layout, model,
               diagnostics);
}

bool hasHybridAttention(const Node &model) {
  const llvm::StringRef architecture = getArchitectureText(model);
  Node variant = keys::attentionVariant.find(model);
  return (architecture == "DeepseekV4ForCausalLM" ||
          (architecture.empty() &&
           keys::modelType.find(model).getText() == "deepseek_v4")) &&
         (!variant || variant.getText() == "dsv4_hybrid");
}

Node readDynamicModel(const Node &root, const DynamicLayout &layout,
                      DiagnosticList &diagnostics) {
  Node written = root["model"];
  if (!written.isMap())
    return {};
  NodeBuilder model(written);
  model.setAll(written);
  // A pass after the import splits the loss.
  model.remove(keys::chunkLossNum.getName());
  const DynamicClass *found = findDynamicClass(written, diagnostics);
  if (!found)
    return model.build();
  setModelDefaults(written, found->defaults, found->takesAllNames, model);
  const bool isDeepSeek4 = found->type == "deepseek_v4";
  if (isDeepSeek4) {
    adaptDeepSeek4(root, written, layout, model, diagnostics);
  } else {
    setModelDefaults(written, transformerDefaults, found->takesAllNames, model);
    warnAboutDropout(written, diagnostics);
  }
  // The optimizer has weights of narrower types in fp32 too, and computes with
  // those; layers read them in the type in which they compute.
  for (llvm::StringRef key : keys::paramType.getNames(keys::Mcore))
    if (llvm::StringRef type = written[key].getText();
        type == "bfloat16" || type == "float16")
      model.set(key, "float32", written[key]);
  const bool hasExperts = found->type != "qwen3";
  checkModel(written, hasExperts, diagnostics);
  if (hasExperts) {
    setExpertKeys(root, layout, model, diagnostics);
    checkBalancingLoss(written, diagnostics);
    // The importer multiplies the number of shared experts with their width.
    const llvm::StringRef count = keys::numSharedExperts.getName();
    if (Node width = model.get(keys::sharedExpertSize.getName());
        width && !model.get(count))
      model.set(count, "0", width);
  } else if (layout.pipeline > 1) {
    diagnostics.error(root["parallelism"]["pipeline_parallel"].getLocation(),
                      "the dynamic graph's Qwen3ForCausalLM has no stages: "
                      "expected pipeline_parallel 1, but got " +
                          llvm::Twine(layout.pipeline) +
                          ", which is a TypeError there");
  }
  if (hasExperts)
    if (Node experts = keys::numExperts.find(model.build(), keys::Mcore);
        experts.getInt().value_or(0) < 1)
      diagnostics.error((experts ? experts : written).getLocation(),
                        llvm::Twine("Only MoE model is supported in PyNative") +
                            (isDeepSeek4 ? "DeepseekV4ForCausalLM" : "") +
                            ": expected 'n_routed_experts' of at least 1");
  return model.build();
}

} // namespace mf
