//===- McoreExperts.cpp - Experts of the mcore training graph -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// TransformerConfig has all keys in model_config, with the names of Hugging
// Face's config.json or Megatron's. Experts always process all of their tokens.
//
//===----------------------------------------------------------------------===//

#include "ExpertReader.h"
#include "mf/Frontend/Config/BatchRules.h"

namespace mf {

namespace {

using Keys = SpecReader::Keys;

class McoreReader {
public:
  McoreReader(const TrainingConfig &config, const ModelSpec &spec,
              SpecReader &reader)
      : config(config), spec(spec), reader(reader) {}

  ExpertSpec read(int64_t numExperts) {
    experts.numExperts = numExperts;
    experts.dropless.emplace();
    readLayers();
    readChoice();
    readGroups();
    readWidths();
    readBias();
    readLosses();
    readKernels();
    reportRest();
    return experts;
  }

private:
  void error(const Keys &keys, const llvm::Twine &text) {
    reader.error(keys, text);
  }
  void ignore(const Keys &key, llvm::StringRef neutral,
              const llvm::Twine &why = "on a training step") {
    readUnused(reader, key, neutral, why);
  }

  void readChoice() {
    RouterSpec &router = experts.router;
    const bool isTelechat =
        keys::modelType.find(reader.getNode()).getText() == "telechat3_moe";
    router.numChosen =
        reader.readSize(keys::expertsPerToken, isTelechat ? 8 : 2);
    if (router.numChosen > experts.numExperts)
      error(keys::expertsPerToken,
            "expected at most the " + llvm::Twine(experts.numExperts) +
                " experts for {key}, but got " + llvm::Twine(router.numChosen));
    router.score = readScore();
    bool isQwen3 =
        spec.normalizesQueryKey &&
        keys::modelType.find(reader.getNode()).getText() == "qwen3_moe";
    bool normalizes = reader.readBool(keys::normalizesScores, !isQwen3);
    router.normalizes = normalizes && router.numChosen > 1;
    router.epsilon = 1e-20;
    std::optional<double> scale = reader.readNumber(keys::routedScale);
    if (!scale)
      reader.diagnostics.warning(
          reader.getNode().getLocation(),
          "expected " + quote(keys::routedScale.getName()) + " in " +
              reader.getName() +
              ", without which MindSpore Transformers fails; 1 is taken");
    router.scale = scale.value_or(1.0);
    router.type = reader.readType(keys::routerType, DType::F32);
    router.weightType = spec.paramType;
    router.initializerRange = spec.initializerRange;
    experts.initializerRange = spec.initializerRange;
  }

  RouterScore readScore() {
    Node value = reader.find(keys::routerScore);
    if (!value)
      return RouterScore::Softmax;
    if (value.isBool())
      return *value.getBool() ? RouterScore::Sigmoid : RouterScore::Softmax;
    if (value.getText() == "sigmoid")
      return RouterScore::Sigmoid;
    if (config.isOfDynamicGraph() && value.getText() == "sqrtsoftplus")
      return RouterScore::SqrtSoftplus;
    if (!value.isString() || value.getText() != "softmax")
      error(keys::routerScore,
            llvm::Twine(config.isOfDynamicGraph()
                            ? "expected softmax, sigmoid or sqrtsoftplus"
                            : "expected softmax or sigmoid") +
                " for {key}, but got " + value.repr(60));
    return RouterScore::Softmax;
  }

  void readGroups() {
    const ModelKey &numKeys = keys::numExpertGroups;
    const ModelKey &keptKeys = keys::chosenExpertGroups;
    RoutingGroups groups;
    groups.num = readCount(reader, numKeys, 0);
    groups.numKept = readCount(reader, keptKeys, 0);
    if (groups.num <= 1)
      return;
    int64_t chosen = experts.router.numChosen;
    // Numbers with errors are not compared, nor those of routers that no layer
    // has.
    if (reader.diagnostics.hasErrors() || !hasExpertLayers())
      return;
    if (experts.numExperts % groups.num != 0) {
      error(numKeys,
            "expected a divisor of the " + llvm::Twine(experts.numExperts) +
                " experts for {key}, but got " + llvm::Twine(groups.num));
      return;
    }
    if (config.isOfDynamicGraph()) {
      readDynamicGroups(groups, numKeys, keptKeys);
      return;
    }
    if (groups.numKept < 1 || groups.numKept > groups.num ||
        chosen % groups.numKept != 0 ||
        chosen / groups.numKept > experts.numExperts / groups.num) {
      error(keptKeys,
            "expected {key} between 1 and " + reader.findName(numKeys) + " " +
                llvm::Twine(groups.num) + " that divides the " +
                llvm::Twine(chosen) +
                " experts of a token into as many as a group has, but got " +
                llvm::Twine(groups.numKept));
      return;
    }
    groups.numSummed = chosen / groups.numKept;
    experts.router.groups = groups;
  }

  /// In the dynamic graph the score of a group is the sum of its two best
  /// experts, however many a token chooses.
  void readDynamicGroups(RoutingGroups groups, const Keys &numKeys,
                         const Keys &keptKeys) {
    constexpr int64_t mostSummed = 2;
    const int64_t chosen = experts.router.numChosen;
    const int64_t ofGroup = experts.numExperts / groups.num;
    if (groups.numKept < 1 || groups.numKept > groups.num ||
        groups.numKept * ofGroup < chosen) {
      error(keptKeys,
            "expected {key} between 1 and " + reader.findName(numKeys) + " " +
                llvm::Twine(groups.num) + ", so many that the groups of " +
                llvm::Twine(ofGroup) + " have the " + llvm::Twine(chosen) +
                " experts of a token, but got " + llvm::Twine(groups.numKept));
      return;
    }
    // Published files leave the key out beside few experts.
    const bool isGiven =
        llvm::any_of(reader.getNames(numKeys), [&](llvm::StringRef key) {
          return isWritten(reader.getNode(), key);
        });
    if (ofGroup < mostSummed && isGiven) {
      error(numKeys, "expected groups of at least 2 experts for {key}, whose "
                     "scores are added up, but got " +
                         llvm::Twine(groups.num) + " groups of " +
                         llvm::Twine(ofGroup));
      return;
    }
    if (ofGroup < mostSummed)
      reader.warn(
          numKeys,
          "{key} is not given: each of the class's " + llvm::Twine(groups.num) +
              " groups has one expert, so that they limit no choice; set " +
              reader.findName(numKeys) + ": 0 for no groups");
    groups.numSummed = std::min(mostSummed, ofGroup);
    groups.neverTakesOthers = true;
    experts.router.groups = groups;
  }

  void readWidths() {
    experts.width = reader.readSize(keys::expertSize, spec.feedForwardSize);
    const ModelKey &countKeys = keys::numSharedExperts;
    int64_t count = readCount(reader, countKeys, 0);
    experts.sharedWidth = count * experts.width;
    if (std::optional<int64_t> total =
            reader.readOptionalSize(keys::sharedExpertSize)) {
      if (count > 0 && *total != experts.sharedWidth)
        reader.warn(countKeys,
                    "{key} has no effect: " +
                        quote(reader.findName(keys::sharedExpertSize)) +
                        " says " + llvm::Twine(*total) + ", not " +
                        llvm::Twine(experts.sharedWidth));
      experts.sharedWidth = *total;
    }
    if (experts.sharedWidth > INT32_MAX)
      error(countKeys, "the width of the shared experts, " +
                           llvm::Twine(experts.sharedWidth) +
                           ", does not fit 32 bits");
    if (experts.sharedWidth > 0)
      experts.gatesShared = reader.readBool(keys::gatesSharedExperts, false);
    else
      ignore(keys::gatesSharedExperts, "False", "without shared experts");
  }

  void readLayers() {
    if (!reader.find(keys::firstDenseLayers).isUndefinedOrNull())
      experts.firstLayer = readCount(reader, keys::firstDenseLayers, 0);
    readLayerFrequency();
    extendLayers();
    // Keys of Qwen3's config.json that TransformerConfig does not have.
    Node step = reader.find(keys::sparseStep);
    if (step && step.getInt() != 1)
      error(keys::sparseStep, "expected 1 for {key}: MindSpore Transformers "
                              "has experts in every layer, but got " +
                                  step.repr(60));
    Node dense = reader.find(keys::mlpOnlyLayers);
    if (dense && !(dense.isList() && dense.getElements().empty()))
      error(keys::mlpOnlyLayers,
            "expected [] for {key}: MindSpore Transformers has experts in "
            "every layer, but got " +
                dense.repr(60));
  }

  /// moe_layer_freq is a number, or a list that says for each layer if it has
  /// experts.
  void readLayerFrequency() {
    const ModelKey &key = keys::expertLayerFrequency;
    Node value = reader.find(key);
    if (!value)
      return;
    auto reject = [&] {
      error(key, "expected an int of at least 1 or a list of 0 and 1 for "
                 "{key}, but got " +
                     value.repr(60));
    };
    if (value.isList()) {
      for (const Node &element : value.getElements()) {
        std::optional<int64_t> flag = element.getInt();
        if (!flag || (*flag != 0 && *flag != 1))
          return reject();
        experts.layers.push_back(*flag == 1);
      }
      return;
    }
    std::optional<int64_t> period = value.getInt();
    if (!value.isInt() || !period || *period < 1 || *period > INT32_MAX)
      return reject();
    if (*period > 1)
      for (int64_t i = 0; i < std::min<int64_t>(spec.numLayers, 10000); ++i)
        experts.layers.push_back(i >= experts.firstLayer && i % *period == 0);
  }

  /// Layers that predict later tokens are as the last layer of the model.
  void extendLayers() {
    const bool last = experts.hasLayer(spec.numLayers - 1);
    if (experts.hasLayer(spec.numLayers) == last)
      return;
    for (auto i = static_cast<int64_t>(experts.layers.size());
         i < std::min<int64_t>(spec.numLayers, 10000); ++i)
      experts.layers.push_back(experts.hasLayer(i));
    experts.layers.push_back(last);
  }

  bool hasExpertLayers() const {
    for (int64_t i = 0; i < spec.numLayers; ++i)
      if (experts.hasLayer(i))
        return true;
    return false;
  }

  void readBias() {
    const ModelKey &keys = keys::expertBias;
    // The callback controls the updates of the bias. mf-read-config reads both
    // keys.
    reader.markRead(keys::expertBiasRate);
    if (!reader.readBool(keys, false))
      return;
    if (experts.router.score == RouterScore::Softmax)
      error(keys, "expected " + reader.findName(keys::routerScore) +
                      " sigmoid " +
                      (config.isOfDynamicGraph() ? "or sqrtsoftplus " : "") +
                      "with {key}");
    experts.router.bias.emplace();
  }

  void readLosses() {
    for (const NamedFactor &loss : readLossFactors(
             reader, known::expert::lossTypes, known::expert::lossFactors)) {
      if (loss.name != "expert")
        reader.diagnostics.error(
            loss.location,
            "expected expert in " + quote(known::expert::lossTypes.name) +
                " of " + reader.getGraph() + ", but got " + quote(loss.name));
      else if (loss.factor != 0.0)
        experts.router.losses.push_back({loss.factor, experts.numExperts, 1});
    }
    addBalancingLoss(reader.readNumber(keys::balanceLossFactor).value_or(0.0));
  }

  void addBalancingLoss(double factor) {
    const ModelKey &key = keys::balanceLossType;
    AuxiliaryLoss loss;
    loss.factor = factor;
    loss.numGroups = experts.numExperts;
    std::string type = reader.readString(key, "sub_seq_aux_loss");
    if (config.isOfDynamicGraph()) {
      experts.router.lossesCountScores = true;
      experts.router.reportsMeanLoss = true;
      // The choices of ranks with parts of the same sequences are counted
      // together.
      loss.numSharedRows =
          spec.ranks.modelParallel * spec.ranks.contextParallel;
      experts.router.lossesSeparateSequences = type == "seq_aux_loss";
    } else if (type == "seq_aux_loss") {
      loss.numSharedRows = spec.ranks.modelParallel;
      if (factor != 0.0 && config.runner.batchSize > 1)
        reader.warn(key, "'seq_aux_loss' of the static graph counts the "
                         "choices of a rank's " +
                             llvm::Twine(config.runner.batchSize) +
                             " sequences together; only the dynamic graph "
                             "counts those of each sequence");
    } else if (type == "gbs_aux_loss") {
      loss.numSharedRows = 0;
      DiagnosticList unused;
      EffectiveBatch batch = resolveBatch(config, std::nullopt, unused);
      if (factor != 0.0 && batch.getMicroBatches() > 1)
        reader.warn(key, "'gbs_aux_loss' counts the choices of each "
                         "micro-batch on their own, not of all so far");
    } else if (type != "sub_seq_aux_loss") {
      error(key, "expected sub_seq_aux_loss, seq_aux_loss or gbs_aux_loss for "
                 "{key}, but got " +
                     quote(type));
    }
    if (factor != 0.0)
      experts.router.losses.push_back(loss);
  }

  void readKernels() {
    DroplessSpec &dropless = *experts.dropless;
    if (!reader.readBool(keys::groupedProducts, true))
      error(keys::groupedProducts,
            "expected True for {key}: " + reader.getGraph() +
                " has no other experts");
    dropless.safeTokens = reader.readBool(keys::padTokens, false);
    experts.fusions.permute = reader.readBool(keys::fusedPermute, false);
    std::string activation = reader.readString(keys::activation, "silu");
    experts.fusions.swiglu =
        activation == "swiglu" || activation == "fusedswiglu";
    std::string dispatcher =
        reader.readString(keys::tokenDispatcher, "alltoall");
    if (dispatcher != "alltoall")
      reader.warn(keys::tokenDispatcher,
                  quote(dispatcher) + " of {key} is not modelled; tokens go to "
                                      "each of their experts on their own");
  }

  void reportRest() {
    for (const ModelKey *key : getModelKeys())
      if (!key->unusedDefault.empty())
        for (const llvm::StringRef name : key->getAllNames())
          if (!reader.wasRead(name))
            ignore(name, key->unusedDefault);
    if (config.moe.expertNum > 1)
      reader.diagnostics.warning(
          config.moe.node.getLocation(),
          "moe_config has no effect on the mcore training graph, which reads "
          "experts from model_config");
    if (spec.ranks.modelParallel > 1 && !spec.ranks.sequenceParallel)
      reader.diagnostics.error(
          known::find(config.parallel, &ParallelConfig::modelParallel)
              .getLocation(),
          "expected use_seq_parallel True for experts with model_parallel "
          "above 1");
  }

  const TrainingConfig &config;
  const ModelSpec &spec;
  SpecReader &reader;
  ExpertSpec experts;
};

} // namespace

std::optional<ExpertSpec> readMcoreExperts(const TrainingConfig &config,
                                           const ModelSpec &spec,
                                           SpecReader &model) {
  const ModelKey &keys = keys::numExperts;
  if (!model.find(keys))
    return std::nullopt;
  int64_t numExperts = readCount(model, keys, 1);
  if (numExperts <= 1)
    return std::nullopt;
  return McoreReader(config, spec, model).read(numExperts);
}

} // namespace mf
