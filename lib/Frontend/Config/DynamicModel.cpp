//===- DynamicModel.cpp - Section model of the trainer --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicConfig.h"
#include "NodeBuilder.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "llvm/Support/FormatVariadic.h"

namespace mf {

using namespace dynamic;

namespace {

/// The value of a key if the YAML does not have the key.
struct ModelDefault {
  const ModelKey *key;
  llvm::StringLiteral value;
  /// The class whose preferred name the key then has.
  keys::Naming naming = keys::HuggingFaceDeepSeek;

  llvm::StringRef getName() const { return key->getNames(naming).front(); }
};

struct DynamicClass {
  llvm::StringLiteral type;
  llvm::StringLiteral architecture;
  llvm::ArrayRef<ModelDefault> defaults;
  bool hasExperts = true;
  /// The model is DeepSeek-V4, of whose keys names from other classes are not
  /// names, too: the default and the other name contradict each other.
  bool isDeepSeek4 = false;
};

} // namespace

// These are the defaults of MindSpore Transformers' configuration classes.
static constexpr ModelDefault deepSeekDefaults[] = {
    {&keys::vocabSize, "129280"},
    {&keys::hiddenSize, "7168"},
    {&keys::feedForwardSize, "18432"},
    {&keys::numLayers, "61"},
    {&keys::numHeads, "128"},
    {&keys::expertSize, "2048"},
    {&keys::nextTokenLayers, "1"},
    {&keys::numSharedExperts, "1"},
    {&keys::numExperts, "256"},
    {&keys::expertsPerToken, "8"},
    {&keys::routedScale, "2.5"},
    {&keys::numExpertGroups, "8"},
    {&keys::chosenExpertGroups, "4"},
    {&keys::firstDenseLayers, "3"},
    {&keys::routerScore, "sigmoid"},
    {&keys::expertBias, "True"},
    {&keys::nextTokenLossFactor, "0.1", keys::Mcore},
    {&keys::multiLatentAttention, "True"},
};

static constexpr ModelDefault deepSeek4Defaults[] = {
    {&keys::vocabSize, "129280"},
    {&keys::hiddenSize, "7168"},
    {&keys::numLayers, "61"},
    {&keys::numHeads, "128"},
    {&keys::numKeyValueHeads, "1"},
    {&keys::normEpsilon, "1.e-6"},
    {&keys::initializerRange, "0.02"},
    {&keys::expertSize, "3072"},
    {&keys::nextTokenLayers, "1"},
    {&keys::numSharedExperts, "1"},
    {&keys::numExperts, "384"},
    {&keys::expertsPerToken, "6"},
    {&keys::routedScale, "2.5"},
    {&keys::numExpertGroups, "0"},
    {&keys::routerScore, "sqrtsoftplus", keys::Mcore},
    {&keys::expertBias, "True"},
    {&keys::normalizesScores, "True"},
    {&keys::numHashLayers, "3"},
    {&keys::activationLimit, "10.0"},
    {&keys::multiLatentAttention, "True"},
    {&keys::attentionVariant, "dsv4_hybrid"},
    {&keys::headSize, "512"},
    {&keys::queryRank, "1536"},
    {&keys::rotaryHeadSize, "64"},
    {&keys::outputRank, "1024"},
    {&keys::outputGroups, "16"},
    {&keys::compressedRotaryBase, "160000"},
    {&keys::slidingWindow, "128"},
    {&keys::indexerHeads, "64"},
    {&keys::indexerHeadSize, "128"},
    {&keys::indexerChoices, "1024"},
    {&keys::rotaryBase, "10000"},
    {&keys::maxPositions, "1048576"},
    {&keys::residualStreams, "4"},
    {&keys::streamIterations, "20"},
    {&keys::streamEpsilon, "1.e-6"},
    {&keys::hiddenDropout, "0.0"},
    {&keys::attentionDropout, "0.0"},
};

static constexpr ModelDefault qwenDefaults[] = {
    {&keys::vocabSize, "151936"},      {&keys::hiddenSize, "4096"},
    {&keys::feedForwardSize, "22016"}, {&keys::numLayers, "32"},
    {&keys::numHeads, "32"},           {&keys::numKeyValueHeads, "32"},
    {&keys::queryKeyNorms, "True"},
};

/// These are the defaults of TransformerConfig, which all classes have.
static constexpr ModelDefault transformerDefaults[] = {
    {&keys::hiddenDropout, "0.1"},
    {&keys::attentionDropout, "0.1"},
};

static constexpr DynamicClass dynamicClasses[] = {
    {"qwen3", "Qwen3ForCausalLM", qwenDefaults, /*hasExperts=*/false},
    {"deepseek_v3", "DeepseekV3ForCausalLM", deepSeekDefaults},
    {"deepseek_v4", "DeepseekV4ForCausalLM", deepSeek4Defaults,
     /*hasExperts=*/true, /*isDeepSeek4=*/true},
};

/// The attention of DeepSeek-V4.
static constexpr llvm::StringLiteral hybridVariant = "dsv4_hybrid";

static llvm::StringRef getArchitectureText(const Node &model) {
  Node architecture = keys::architectures.find(model);
  if (architecture.isList() && !architecture.getElements().empty())
    architecture = architecture.getElements().front();
  return architecture.getText();
}

/// Returns the class that a model names, or null.
static const DynamicClass *findDynamicClass(const Node &model) {
  const llvm::StringRef name = getArchitectureText(model);
  const Node type = keys::modelType.find(model);
  for (const DynamicClass &known : dynamicClasses)
    if (name == known.architecture ||
        (name.empty() && type.getText() == known.type))
      return &known;
  return nullptr;
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
  if (const DynamicClass *known = findDynamicClass(model))
    return known;
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
  for (const ModelDefault &missing : defaults) {
    // The width of shared experts says how many there are as well.
    const bool isGiven =
        model.get(takesAllNames ? missing.key->findName(written)
                                : missing.getName()) ||
        (missing.key == &keys::numSharedExperts &&
         keys::sharedExpertSize.find(written));
    if (!isGiven)
      model.set(missing.getName(), missing.value, written);
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
    diagnostics.error(
        place, "'global_aux_loss' is not supported: the choices of the steps "
               "before are not kept; expected aux_loss or seq_aux_loss for " +
                   quote(keys::balanceLossType.getName()));
  else
    diagnostics.error(place, "Unknown aux_loss_type " + name + "; set " +
                                 keys::balanceLossType.getName() +
                                 " to aux_loss or seq_aux_loss");
}

/// Keys of parallelism that layers read, under their names in the model.
static void setExpertKeys(const Node &root, const DynamicLayout &layout,
                          NodeBuilder &model, DiagnosticList &diagnostics) {
  DynamicReader reader(root, diagnostics);
  const llvm::StringRef dispatcher = keys::tokenDispatcher.getName();
  model.remove(dispatcher);
  if (Node value = reader.getWritten(parallelism::moeTokenDispatcherType))
    model.set(dispatcher, value);
  for (llvm::StringRef key : keys::padTokens.getAllNames())
    model.remove(key);
  model.remove(keys::nodeRanks.getName());
  model.remove(keys::tokenDropPolicy.getName());
  Node safe = reader.get(parallelism::useSafeTokens);
  if (layout.expert > 1 && safe.getBool().value_or(false))
    model.set(keys::padTokens.getName(), safe);
}

static void warnAboutDropout(const Node &written, DiagnosticList &diagnostics) {
  for (const ModelDefault &dropout : transformerDefaults)
    if (!written[dropout.getName()])
      diagnostics.warning(
          written.getLocation(),
          quote(dropout.getName()) + " is not given, so it is " +
              dropout.value +
              ", the trainer's default; write 0.0 to drop nothing");
}

int64_t readDynamicLossPieces(const Node &root, DiagnosticList &diagnostics) {
  Node pieces = keys::chunkLossNum.find(root[model::section]);
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
  if (Node perToken = keys::calculatePerTokenLoss.find(root[model::section]);
      *count > 1 && perToken.getBool().value_or(false))
    diagnostics.error(
        perToken.getLocation(),
        llvm::formatv(
            "For {0} > 1, {1} is not supported; expected {0} 1 or {1} False",
            keys::chunkLossNum.getName(), keys::calculatePerTokenLoss.getName())
            .str());
  return *count;
}

/// Settings without an equivalent in mf.
static void checkModel(const Node &model, bool hasExperts,
                       DiagnosticList &diagnostics) {
  if (Node perToken = keys::calculatePerTokenLoss.find(model);
      perToken.getBool().value_or(false))
    diagnostics.warning(
        perToken.getLocation(),
        quote(keys::calculatePerTokenLoss.getName()) +
            " is not modelled; the loss is the mean of each micro-batch's");
  if (hasExperts)
    return;
  for (llvm::StringRef key : keys::numExperts.getNames(keys::Mcore))
    if (Node experts = model[key]; experts.getInt().value_or(0) > 0) {
      diagnostics.error(
          experts.getLocation(),
          "the dynamic graph's Qwen3ForCausalLM has no experts: expected no " +
              quote(key) + ", but got " + experts.repr(60));
      return;
    }
}

/// Returns whether attention is that of DeepSeek-V4, which is the default of
/// its class.
static bool isHybrid(const NodeBuilder &model) {
  return model.get(keys::attentionVariant.getName()).getText() == hybridVariant;
}

/// Sets the token that ends a document, if hybrid attention is limited to
/// documents. `data` describes the files of tokens.
static void setDocuments(const Node &data, const DynamicLayout &layout,
                         NodeBuilder &model, DiagnosticList &diagnostics) {
  Node mask = data[dataloader::documentMask];
  if (!mask.getBool().value_or(false))
    return;
  auto refuse = [&](const llvm::Twine &why) {
    diagnostics.error(mask.getLocation(), why + ": expected False for " +
                                              quote(dataloader::documentMask));
  };
  if (model.get(keys::fusedSparseAttention.getName()).getBool().value_or(true))
    return refuse(
        "fused hybrid attention (" +
        quote(keys::fusedSparseAttention.getName()) +
        ") currently supports BSND layout only, which has no documents");
  if (layout.context > 1)
    return refuse("ranks that share a sequence of hybrid attention (" +
                  quote(parallelism::contextParallel.name) +
                  ") do not know its documents");
  Node end = data[dataloader::documentEnd];
  if (end.getInt().value_or(-1) < 0) {
    diagnostics.error((end ? end : mask).getLocation(),
                      "expected the token that ends a document for " +
                          quote(dataloader::documentEnd) + ", as " +
                          quote(dataloader::documentMask) + " is True" +
                          (end ? ", but got " + end.repr(60) : ""));
    return;
  }
  model.set(keys::resetsDocuments.getName(), "True", mask);
  model.set(keys::eodTokenId.getName(), end.getText(), end);
}

/// What DeepSeek-V4 does not read, or not together.
static void adaptDeepSeek4(const Node &root, const Node &written,
                           const DynamicLayout &layout, NodeBuilder &model,
                           DiagnosticList &diagnostics) {
  const llvm::StringRef denseWidth =
      keys::feedForwardSize.getNames(keys::Mcore).back();
  const llvm::StringRef classicWidth = keys::feedForwardSize.getName();
  const bool hasWidth = static_cast<bool>(model.get(denseWidth));
  if (!hasWidth) {
    const int64_t hidden = std::clamp<int64_t>(
        model.get(keys::hiddenSize.getName()).getInt().value_or(1), 1,
        INT32_MAX / 4);
    model.set(denseWidth, llvm::Twine(4 * hidden), written);
  }
  if (Node width = written[classicWidth]) {
    diagnostics.warning(
        width.getLocation(),
        quote(classicWidth) +
            " has no effect on DeepSeek-V4, whose dense layers have " +
            quote(denseWidth) + ", which is " +
            model.get(denseWidth).getText() +
            (hasWidth ? ""
                      : ", 4 times " + keys::hiddenSize.getName() +
                            ", as it is not given"));
    model.remove(classicWidth);
  }
  const llvm::StringRef plain = keys::plainHeadSize.getName();
  if (!written[plain])
    model.set(
        plain,
        llvm::Twine(
            model.get(keys::headSize.getName()).getInt().value_or(0) -
            model.get(keys::rotaryHeadSize.getName()).getInt().value_or(0)),
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
  if (Node limit = written[keys::activationLimit.getName()];
      !limit.isUndefinedOrNull() &&
      model.get(keys::activation.getName()).getText() != "fusedswiglu")
    diagnostics.warning(limit.getLocation(),
                        quote(keys::activationLimit.getName()) +
                            " has no effect without " +
                            quote(keys::activation.getName()) + " fusedswiglu");
  const llvm::StringRef score = keys::routerScore.getNames(keys::Mcore).front();
  ignore(keys::routerScore.getName(), model.get(score).getText(),
         "routers read " + quote(score));
  ignore(keys::resetsDocuments.getName(), "False",
         "documents follow from " + quote(dataloader::documentMask) +
             " of the data");
  ignore(keys::mlaQkvConcat.getName(), "True",
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
  const DynamicKey &methodKey = parallelism::contextParallelMethod;
  if (Node method = root.getPath(methodKey.getPath());
      layout.context > 1 && (method.getText() == ulyssesMethod.name ||
                             method.getText() == hybridMethod.name))
    diagnostics.error(method.getLocation(),
                      "ranks that share a sequence of hybrid attention (" +
                          quote(hybridVariant) +
                          ") exchange keys, not heads: expected colossal for " +
                          quote(methodKey.name) + ", but got " +
                          method.repr(60));
  setDocuments(root.getPath(dataloader::section)["config"], layout, model,
               diagnostics);
}

bool hasHybridAttention(const Node &model) {
  const DynamicClass *known = findDynamicClass(model);
  Node variant = keys::attentionVariant.find(model);
  return known && known->isDeepSeek4 &&
         (!variant || variant.getText() == hybridVariant);
}

Node readDynamicModel(const Node &root, const DynamicLayout &layout,
                      DiagnosticList &diagnostics) {
  Node written = root[model::section];
  if (!written.isMap())
    return {};
  NodeBuilder model(written);
  model.setAll(written);
  // A pass after the import splits the loss.
  model.remove(keys::chunkLossNum.getName());
  const DynamicClass *found = findDynamicClass(written, diagnostics);
  if (!found)
    return model.build();
  setModelDefaults(written, found->defaults, !found->isDeepSeek4, model);
  if (found->isDeepSeek4) {
    adaptDeepSeek4(root, written, layout, model, diagnostics);
  } else {
    setModelDefaults(written, transformerDefaults, !found->isDeepSeek4, model);
    warnAboutDropout(written, diagnostics);
  }
  // The optimizer has weights of narrower types in fp32 too, and computes with
  // those; layers read them in the type in which they compute.
  for (llvm::StringRef key : keys::paramType.getNames(keys::Mcore))
    if (llvm::StringRef type = written[key].getText();
        type == "bfloat16" || type == "float16")
      model.set(key, "float32", written[key]);
  const bool hasExperts = found->hasExperts;
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
    const DynamicKey &key = parallelism::pipelineParallel;
    diagnostics.error(
        root.getPath(key.getPath()).getLocation(),
        "the dynamic graph's Qwen3ForCausalLM has no stages: expected " +
            key.name + " 1, but got " + llvm::Twine(layout.pipeline) +
            ", which is a TypeError there");
  }
  if (hasExperts)
    if (Node experts = keys::numExperts.find(model.build(), keys::Mcore);
        experts.getInt().value_or(0) < 1)
      diagnostics.error(
          (experts ? experts : written).getLocation(),
          llvm::Twine("Only MoE model is supported in PyNative") +
              (found->isDeepSeek4 ? found->architecture : "") + ": expected " +
              quote(keys::numExperts.getNames(keys::HuggingFaceDeepSeek)
                        .front()) +
              " of at least 1");
  return model.build();
}

} // namespace mf
