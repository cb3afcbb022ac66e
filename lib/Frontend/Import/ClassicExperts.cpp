//===- ClassicExperts.cpp - moe_config, for classic layer classes ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// MoEV2 with TopkRouterV2 has experts with a capacity. With use_gmm, MoEV3 has
// experts without one, which process all of their tokens.
//
//===----------------------------------------------------------------------===//

#include "ExpertReader.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "llvm/ADT/StringExtras.h"
#include <numeric>

namespace mf {

namespace expert = known::expert;

namespace {

class ClassicReader {
public:
  ClassicReader(const TrainingConfig &config, const ExpertClasses &classes,
                std::optional<Release> release, const ModelSpec &spec,
                SpecReader &model, bool addsLosses)
      : config(config), classes(classes), release(release), spec(spec),
        model(model), addsLosses(addsLosses),
        reader(config.moe.node, "moe_config", model.diagnostics) {}

  ExpertSpec read() {
    experts.numExperts = config.moe.expertNum;
    readChoice();
    readWidths();
    if (classes.canBeDropless && reader.readBool(expert::useGmm))
      readDropless();
    else
      readCapacity();
    resolveGates();
    readBias();
    readLosses();
    readTypes();
    reportRest();
    return experts;
  }

private:
  /// Warns about keys that ask for something.
  void ignore(llvm::ArrayRef<const KnownKey *> keys, const llvm::Twine &why) {
    for (const KnownKey *key : keys)
      readUnused(reader, *key, key->neutral, why);
  }

  void readChoice() {
    RouterSpec &router = experts.router;
    router.numChosen = reader.readSize(expert::numChosen);
    if (router.numChosen > experts.numExperts)
      reader.error(expert::numChosen,
                   "expected at most the " + llvm::Twine(experts.numExperts) +
                       " of " + expert::numExperts.name +
                       " for {key}, but got " + llvm::Twine(router.numChosen));
    bool usesSigmoid = reader.readBool(expert::usesSigmoid);
    router.score = usesSigmoid ? RouterScore::Sigmoid : RouterScore::Softmax;
    bool normalizes = reader.readBool(expert::normalizes);
    router.normalizes = normalizes && router.numChosen > 1;
    router.scale = reader.readNumberOrDefault(expert::scale);
  }

  void readWidths() {
    experts.width = spec.feedForwardSize;
    if (classes.areOfOwnWidth) {
      experts.width = reader.readSize(expert::width);
      Node first = reader.find(expert::firstLayer);
      if (first.isBool() || !first)
        experts.firstLayer = first.getBool().value_or(true) ? 1 : 0;
      else
        experts.firstLayer = readCount(reader, expert::firstLayer, 1);
    } else {
      ignore({&expert::width, &expert::firstLayer},
             "here: only DeepSeek's layers read it, others have "
             "intermediate_size and experts in every layer");
    }
    if (!classes.canBeDropless) {
      return ignore({&expert::numShared, &expert::gatesShared},
                    "on TeleChat's layers");
    }
    double shared = reader.readNumberOrDefault(expert::numShared);
    double width = shared * static_cast<double>(experts.width);
    const bool isWidth = width >= 0 && width <= INT32_MAX;
    if (!isWidth) {
      reader.error(expert::numShared,
                   "expected a number of at least 0 for {key}, whose product "
                   "with the width of an expert fits 32 bits, but got " +
                       reader.find(expert::numShared).repr(60));
      return;
    }
    experts.sharedWidth = static_cast<int64_t>(width);
    if (experts.sharedWidth > 0)
      experts.gatesShared = reader.readBool(expert::gatesShared);
    else
      ignore({&expert::gatesShared}, "without " + expert::numShared.name);
  }

  void readDropless() {
    DroplessSpec &dropless = experts.dropless.emplace();
    dropless.safeTokens = reader.readBool(expert::safeTokens);
    experts.fusions.permute = reader.readBool(expert::fusedPermute);
    if (config.parallel.contextParallel > 1)
      reader.diagnostics.error(
          known::find(config.parallel, &ParallelConfig::contextParallel)
              .getLocation(),
          "expected context_parallel 1 with " + gmm +
              ": its rows are of data and model parallel ranks alone");
    if (reader.readBool(expert::sendsOnce))
      reader.warn(expert::sendsOnce,
                  "{key} in moe_config is not modelled; tokens go to each of "
                  "their experts on their own");
    reader.markRead(expert::nodeRanks);
    // The pass that fuses operators warns if a model has none of these.
    reader.markRead(expert::fusedRouter);
    ignore({&expert::method, &expert::numGroups, &expert::numKeptGroups,
            &expert::expertModelParallel, &expert::groupSize,
            &expert::capacityFactor, &expert::zLossFactor,
            &expert::routingPolicy, &expert::dropsByToken,
            &expert::overlapsExchange, &expert::recordsLoad,
            &expert::overlapParts, &expert::maxLoad},
           "with " + gmm);
  }

  void readCapacity() {
    CapacitySpec &capacity = experts.capacity.emplace();
    capacity.factor = reader.readNumberOrDefault(expert::capacityFactor);
    capacity.byToken = reader.readBool(expert::dropsByToken);
    capacity.hasBias = spec.feedForwardOutputBias;
    experts.fusions.router = reader.readBool(expert::fusedRouter);
    experts.router.recordsLoad = reader.readBool(expert::recordsLoad);
    if (reader.readBool(expert::overlapsExchange))
      capacity.multiple = reader.readSize(expert::overlapParts);
    else
      ignore({&expert::overlapParts},
             "without " + expert::overlapsExchange.name);
    std::string policy = reader.readString(expert::routingPolicy);
    if (policy != "TopkRouterV2")
      reader.error(expert::routingPolicy, "expected TopkRouterV2 for {key} of "
                                          "experts with a capacity, but got " +
                                              quote(policy));
    int64_t parts = spec.ranks.modelParallel;
    int64_t wanted =
        reader.readOptionalSize(expert::expertModelParallel).value_or(parts);
    if (wanted != 1 && wanted != parts)
      reader.error(expert::expertModelParallel,
                   "expected 1 or model_parallel " + llvm::Twine(parts) +
                       " for {key}, but got " + llvm::Twine(wanted));
    capacity.cutsExperts = wanted == parts;
    readExtension(capacity);
    if (spec.extendsMixtral && spec.concatenatesFeedForward)
      capacity.gateUpBlocks = capacity.cutsExperts ? parts : 1;
    // The ranks of mp shard the output of an expert by places in this case.
    if (parts > 1 && !spec.ranks.sequenceParallel)
      capacity.multiple = std::lcm(capacity.multiple, parts);
    readGroups();
    if (!classes.canBeDropless)
      ignore({&expert::useGmm}, "on TeleChat's layers");
    // The pass that fuses operators warns if a model has none of these.
    reader.markRead(expert::fusedPermute);
    ignore({&expert::safeTokens, &expert::sendsOnce, &expert::nodeRanks},
           "without " + gmm);
  }

  /// Up to release 1.4, and in the layers of mixtral_extend, routers with
  /// places either normalise the gates or scale them. Gates are then divided by
  /// the sum of the choices that found a place, unless one operator finds the
  /// places.
  void resolveGates() {
    RouterSpec &router = experts.router;
    const bool isEither =
        spec.extendsMixtral || (release && *release < Release{1, 5});
    if (!isEither || !experts.capacity || !router.normalizes)
      return;
    router.normalizesKept = !experts.fusions.router;
    router.scale = 1.0;
    ignore({&expert::scale},
           spec.extendsMixtral
               ? "with " + expert::normalizes.name + " on Mixtral's own layers"
               : "with " + expert::normalizes.name + " before release 1.5");
  }

  /// TeleChat builds its experts for data_parallel * model_parallel ranks and
  /// without model parallelism.
  void readExtension(CapacitySpec &capacity) {
    const bool hasRows = spec.ranks.sequenceParallel;
    if (classes.canBeDropless || !hasRows || spec.ranks.modelParallel == 1) {
      ignore({&expert::extendsOverRanks},
             classes.canBeDropless
                 ? "on any layer but TeleChat's"
                 : "without model_parallel above 1 and use_seq_parallel");
      return;
    }
    capacity.sharesWhole = reader.readBool(expert::extendsOverRanks);
    if (capacity.sharesWhole)
      capacity.cutsExperts = false;
  }

  void readGroups() {
    std::string method = reader.readString(expert::method);
    const bool isSum = method == "noaux_tc";
    if (!isSum && method != "group_limited_greedy") {
      if (method != "greedy")
        reader.warn(expert::method,
                    "unknown {key} " + quote(method) +
                        ", which means greedy; expected greedy, "
                        "group_limited_greedy or noaux_tc");
      return ignore({&expert::numGroups, &expert::numKeptGroups},
                    "with " + expert::method.name + " greedy");
    }
    RoutingGroups groups;
    groups.num = reader.readSize(expert::numGroups);
    groups.numKept = reader.readSize(expert::numKeptGroups);
    groups.numSummed = isSum ? 2 : 1;
    groups.keepsTies = true;
    if (experts.numExperts % groups.num != 0 ||
        experts.numExperts / groups.num < groups.numSummed)
      reader.error(expert::numGroups,
                   "expected {key} to divide " + expert::numExperts.name + " " +
                       llvm::Twine(experts.numExperts) +
                       " into groups of at least " +
                       llvm::Twine(groups.numSummed) + ", but got " +
                       llvm::Twine(groups.num));
    else if (groups.numKept > groups.num)
      reader.error(expert::numKeptGroups,
                   "expected at most " + expert::numGroups.name + " " +
                       llvm::Twine(groups.num) + " for {key}, but got " +
                       llvm::Twine(groups.numKept));
    experts.router.groups = groups;
  }

  void readBias() {
    const bool hasBias = reader.readBool(expert::hasBias);
    // The callback's arguments count.
    ignore({&expert::biasRate},
           hasBias ? "here: the argument of TopkBiasBalanceCallback counts"
                   : "without " + expert::hasBias.name);
    if (!hasBias)
      return;
    LoadBias bias;
    bias.isUpdated = experts.sharedWidth != 0;
    if (!bias.isUpdated)
      reader.warn(expert::hasBias, "the bias stays 0: TopkBiasBalanceCallback "
                                   "updates models with shared experts only");
    experts.router.bias = bias;
    experts.router.lossesCountScores = true;
  }

  void readLosses() {
    // The class checks the range of the value but does not use it.
    std::optional<double> unused = reader.readNumber(expert::lossFactor);
    const bool isInRange = !unused || (*unused > 0 && *unused < 1);
    if (!isInRange)
      reader.error(expert::lossFactor,
                   "expected a number between 0 and 1 for {key}, but got " +
                       reader.find(expert::lossFactor).repr(60));
    else
      ignore({&expert::lossFactor}, "on the loss: write " +
                                        expert::lossTypes.name + " and " +
                                        expert::lossFactors.name);
    for (const NamedFactor &loss :
         readLossFactors(reader, expert::lossTypes, expert::lossFactors))
      addLoss(loss);
    if (!readsGroupSize && experts.capacity)
      ignore({&expert::groupSize},
             "without 'device' among " + expert::lossTypes.name);
    bool hasExpertLoss =
        llvm::any_of(experts.router.losses, [&](const AuxiliaryLoss &loss) {
          return loss.numGroups == experts.numExperts;
        });
    if (experts.router.recordsLoad && !hasExpertLoss) {
      ignore({&expert::recordsLoad}, "without 'expert' among " +
                                         expert::lossTypes.name +
                                         ", whose shares it logs");
      experts.router.recordsLoad = false;
    }
    if (experts.capacity)
      experts.router.zLossFactor =
          reader.readNumberOrDefault(expert::zLossFactor);
    if (addsLosses)
      return;
    const llvm::StringRef why =
        classes.addsLosses ? "here: Llama's layers compute it and drop it"
                           : "with return_extra_loss False";
    ignore({&expert::lossFactors}, why);
    if (experts.capacity)
      ignore({&expert::zLossFactor}, why);
    experts.router.losses.clear();
    experts.router.zLossFactor = 0.0;
  }

  void addLoss(const NamedFactor &loss) {
    auto location = loss.location;
    AuxiliaryLoss result;
    result.factor = loss.factor;
    if (loss.name == "expert") {
      result.numGroups = experts.numExperts;
    } else if (loss.name != "device" && loss.name != "comm") {
      reader.diagnostics.error(location, "expected expert, device or comm in " +
                                             quote(expert::lossTypes.name) +
                                             ", but got " + quote(loss.name));
      return;
    } else if (experts.dropless) {
      reader.diagnostics.warning(location, quote(loss.name) + " in " +
                                               expert::lossTypes.name +
                                               " has no effect with " + gmm);
      return;
    } else if (loss.name == "device") {
      result.numGroups = reader.readSize(expert::groupSize);
      readsGroupSize = true;
    } else {
      result.numGroups =
          config.parallel.isSemiOrAuto() ? config.parallel.expertParallel : 1;
    }
    if (result.numGroups < 1 || experts.numExperts % result.numGroups != 0)
      reader.diagnostics.error(
          location, "expected a divisor of " + expert::numExperts.name + " " +
                        llvm::Twine(experts.numExperts) + " for the " +
                        llvm::Twine(result.numGroups) + " groups of the " +
                        quote(loss.name) + " loss");
    else if (result.factor != 0.0)
      experts.router.losses.push_back(result);
  }

  void readTypes() {
    RouterSpec &router = experts.router;
    router.type = reader.readType(expert::routerType, DType::F32);
    if (router.type == DType::F16)
      router.type = DType::F32;
    router.weightType = router.type;
    router.initializerRange =
        classes.initializerRange.value_or(spec.initializerRange);
    experts.initializerRange =
        experts.dropless ? router.initializerRange : spec.initializerRange;
  }

  void reportRest() {
    reader.listRead("moe_config.", model.besideKeys);
    if (classes.areOfOwnWidth)
      experts.fusions.swiglu = spec.fusions.swiglu.isOn;
    if (experts.dropless)
      ignore({&expert::extendsOverRanks}, "with " + gmm);
    readUnused(model, expert::routerType, "'float32'",
               "there: write it in moe_config");
    if (spec.ranks.modelParallel == 1 || spec.ranks.sequenceParallel)
      return;
    Location place =
        known::find(config.parallel, &ParallelConfig::modelParallel)
            .getLocation();
    if (experts.dropless)
      reader.diagnostics.error(
          place, "expected use_seq_parallel True for experts with " + gmm +
                     " and model_parallel above 1");
    else
      reader.diagnostics.warning(
          place, "experts with model_parallel above 1 and without "
                 "use_seq_parallel: MindSpore Transformers refuses them from "
                 "release 1.6.0 on; here each model-parallel rank routes all "
                 "tokens of its replica, as releases before do");
  }

  const TrainingConfig &config;
  const ExpertClasses &classes;
  const std::optional<Release> release;
  const ModelSpec &spec;
  SpecReader &model;
  const bool addsLosses;
  SpecReader reader;
  ExpertSpec experts;
  bool readsGroupSize = false;
  const llvm::StringRef gmm = expert::useGmm.name;
};

} // namespace

std::optional<ExpertSpec> readClassicExperts(const TrainingConfig &config,
                                             const ExpertClasses &classes,
                                             std::optional<Release> release,
                                             const ModelSpec &spec,
                                             SpecReader &model) {
  const bool addsLosses = classes.addsLosses
                              ? *classes.addsLosses
                              : model.readBool(keys::returnExtraLoss, true);
  if (config.moe.expertNum <= 1)
    return std::nullopt;
  return ClassicReader(config, classes, release, spec, model, addsLosses)
      .read();
}

} // namespace mf
