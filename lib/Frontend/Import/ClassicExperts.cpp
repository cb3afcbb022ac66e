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
    if (classes.canBeDropless && reader.readBool({gmm}, false))
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
  void error(llvm::StringLiteral key, const llvm::Twine &text) {
    reader.error({key}, text);
  }
  /// Warns about keys that ask for something. `keys` are separated by blanks.
  void ignore(llvm::StringRef keys, const llvm::Twine &why) {
    for (llvm::StringRef name : llvm::split(keys, ' ')) {
      const KnownKey &key = *moeSection.find(name);
      readUnused(reader, {key.name}, key.neutral, why);
    }
  }

  void readChoice();
  void readWidths();
  void readDropless();
  void readCapacity();
  void resolveGates();
  void readExtension(CapacitySpec &capacity);
  void readGroups();
  void readBias();
  void readLosses();
  void addLoss(const NamedFactor &loss);
  void readTypes();
  void reportRest();

  const TrainingConfig &config;
  const ExpertClasses &classes;
  const std::optional<Release> release;
  const ModelSpec &spec;
  SpecReader &model;
  const bool addsLosses;
  SpecReader reader;
  ExpertSpec experts;
  bool readsGroupSize = false;
  const llvm::StringLiteral gmm = known::findKey(&MoeConfig::useGmm).name;
};

void ClassicReader::readChoice() {
  RouterSpec &router = experts.router;
  router.numChosen = reader.readSize({"num_experts_chosen"}, 1);
  if (router.numChosen > experts.numExperts)
    error("num_experts_chosen", "expected at most the " +
                                    llvm::Twine(experts.numExperts) +
                                    " of expert_num for 'num_experts_chosen', "
                                    "but got " +
                                    llvm::Twine(router.numChosen));
  bool usesSigmoid = reader.readBool({"use_gating_sigmoid"}, false);
  router.score = usesSigmoid ? RouterScore::Sigmoid : RouterScore::Softmax;
  bool normalizes = reader.readBool({"norm_topk_prob"}, true);
  router.normalizes = normalizes && router.numChosen > 1;
  router.scale = reader.readNumber({"routed_scaling_factor"}).value_or(1.0);
}

void ClassicReader::readWidths() {
  experts.width = spec.feedForwardSize;
  if (classes.areOfOwnWidth) {
    experts.width = reader.readSize({"moe_intermediate_size"}, 1407);
    Node first = reader.find({"first_k_dense_replace"});
    if (first.isBool() || !first)
      experts.firstLayer = first.getBool().value_or(true) ? 1 : 0;
    else
      experts.firstLayer = readCount(reader, {"first_k_dense_replace"}, 1);
  } else {
    ignore(
        "moe_intermediate_size first_k_dense_replace",
        "here: only DeepSeek's layers read it, others have intermediate_size "
        "and experts in every layer");
  }
  if (!classes.canBeDropless) {
    return ignore("shared_expert_num use_shared_expert_gating",
                  "on TeleChat's layers");
  }
  double shared = reader.readNumber({"shared_expert_num"}).value_or(0.0);
  double width = shared * static_cast<double>(experts.width);
  const bool isWidth = width >= 0 && width <= INT32_MAX;
  if (!isWidth) {
    error("shared_expert_num",
          "expected a number of at least 0 for 'shared_expert_num', whose "
          "product with the width of an expert fits 32 bits, but got " +
              reader.find({"shared_expert_num"}).repr(60));
    return;
  }
  experts.sharedWidth = static_cast<int64_t>(width);
  if (experts.sharedWidth > 0)
    experts.gatesShared = reader.readBool({"use_shared_expert_gating"}, false);
  else
    ignore("use_shared_expert_gating", "without shared_expert_num");
}

void ClassicReader::readDropless() {
  DroplessSpec &dropless = experts.dropless.emplace();
  dropless.safeTokens = reader.readBool({"enable_gmm_safe_tokens"}, false);
  experts.fusions.permute = reader.readBool({"use_fused_ops_permute"}, false);
  if (config.parallel.contextParallel > 1)
    reader.diagnostics.error(
        config.parallel.node["context_parallel"].getLocation(),
        "expected context_parallel 1 with " + gmm +
            ": its rows are of data and "
            "model parallel ranks alone");
  if (reader.readBool({"enable_deredundency"}, false))
    reader.warn(
        {"enable_deredundency"},
        "'enable_deredundency' in moe_config is not modelled; tokens go to "
        "each of their experts on their own");
  reader.markRead({"npu_nums_per_device"});
  // The pass that fuses operators warns if a model has none of these.
  reader.markRead({"use_fused_ops_topkrouter"});
  ignore("topk_method n_group topk_group expert_model_parallel "
         "expert_group_size capacity_factor z_loss_factor routing_policy "
         "enable_sdrop comp_comm_parallel callback_moe_droprate "
         "comp_comm_parallel_degree max_router_load",
         "with " + gmm);
}

void ClassicReader::readCapacity() {
  CapacitySpec &capacity = experts.capacity.emplace();
  capacity.factor = reader.readNumber({"capacity_factor"}).value_or(1.1);
  capacity.byToken = reader.readBool({"enable_sdrop"}, false);
  capacity.hasBias = spec.feedForwardOutputBias;
  experts.fusions.router = reader.readBool({"use_fused_ops_topkrouter"}, false);
  experts.router.recordsLoad =
      reader.readBool({"callback_moe_droprate"}, false);
  if (reader.readBool({"comp_comm_parallel"}, false))
    capacity.multiple = reader.readSize({"comp_comm_parallel_degree"}, 2);
  else
    ignore("comp_comm_parallel_degree", "without comp_comm_parallel");
  std::string policy = reader.readString({"routing_policy"}, "TopkRouterV1");
  if (policy != "TopkRouterV2")
    error("routing_policy",
          "expected TopkRouterV2 for 'routing_policy' of experts with a "
          "capacity, but got " +
              quote(policy));
  int64_t parts = spec.ranks.modelParallel;
  int64_t wanted =
      reader.readOptionalSize({"expert_model_parallel"}).value_or(parts);
  if (wanted != 1 && wanted != parts)
    error("expert_model_parallel",
          "expected 1 or model_parallel " + llvm::Twine(parts) +
              " for 'expert_model_parallel', but got " + llvm::Twine(wanted));
  capacity.cutsExperts = wanted == parts;
  readExtension(capacity);
  if (spec.extendsMixtral && spec.concatenatesFeedForward)
    capacity.gateUpBlocks = capacity.cutsExperts ? parts : 1;
  // The ranks of mp shard the output of an expert by places in this case.
  if (parts > 1 && !spec.ranks.sequenceParallel)
    capacity.multiple = std::lcm(capacity.multiple, parts);
  readGroups();
  if (!classes.canBeDropless)
    ignore(gmm, "on TeleChat's layers");
  // The pass that fuses operators warns if a model has none of these.
  reader.markRead({"use_fused_ops_permute"});
  ignore("enable_gmm_safe_tokens enable_deredundency npu_nums_per_device",
         "without " + gmm);
}

/// TeleChat builds its experts for data_parallel * model_parallel ranks and
/// without model parallelism.
void ClassicReader::readExtension(CapacitySpec &capacity) {
  const bool hasRows = spec.ranks.sequenceParallel;
  if (classes.canBeDropless || !hasRows || spec.ranks.modelParallel == 1) {
    ignore("ep_extend_tp", classes.canBeDropless
                               ? "on any layer but TeleChat's"
                               : "without model_parallel above 1 and "
                                 "use_seq_parallel");
    return;
  }
  capacity.sharesWhole = reader.readBool({"ep_extend_tp"}, true);
  if (capacity.sharesWhole)
    capacity.cutsExperts = false;
}

/// Up to release 1.4, and in the layers of mixtral_extend, routers with places
/// either normalise the gates or scale them. Gates are then divided by the sum
/// of the choices that found a place, unless one operator finds the places.
void ClassicReader::resolveGates() {
  RouterSpec &router = experts.router;
  const bool isEither =
      spec.extendsMixtral || (release && *release < Release{1, 5});
  if (!isEither || !experts.capacity || !router.normalizes)
    return;
  router.normalizesKept = !experts.fusions.router;
  router.scale = 1.0;
  ignore("routed_scaling_factor",
         spec.extendsMixtral ? "with norm_topk_prob on Mixtral's own layers"
                             : "with norm_topk_prob before release 1.5");
}

void ClassicReader::readGroups() {
  std::string method = reader.readString({"topk_method"}, "greedy");
  const bool isSum = method == "noaux_tc";
  if (!isSum && method != "group_limited_greedy") {
    if (method != "greedy")
      reader.warn(
          {"topk_method"},
          "unknown 'topk_method' " + quote(method) +
              ", which means greedy; expected greedy, group_limited_greedy or "
              "noaux_tc");
    return ignore("n_group topk_group", "with topk_method greedy");
  }
  RoutingGroups groups;
  groups.num = reader.readSize({"n_group"}, std::nullopt);
  groups.numKept = reader.readSize({"topk_group"}, std::nullopt);
  groups.numSummed = isSum ? 2 : 1;
  groups.keepsTies = true;
  if (experts.numExperts % groups.num != 0 ||
      experts.numExperts / groups.num < groups.numSummed)
    error("n_group", "expected 'n_group' to divide expert_num " +
                         llvm::Twine(experts.numExperts) +
                         " into groups of at least " +
                         llvm::Twine(groups.numSummed) + ", but got " +
                         llvm::Twine(groups.num));
  else if (groups.numKept > groups.num)
    error("topk_group", "expected at most n_group " + llvm::Twine(groups.num) +
                            " for 'topk_group', but got " +
                            llvm::Twine(groups.numKept));
  experts.router.groups = groups;
}

void ClassicReader::readBias() {
  const bool hasBias = reader.readBool({"balance_via_topk_bias"}, false);
  // The callback's arguments count.
  ignore("topk_bias_update_rate",
         hasBias ? "here: the argument of TopkBiasBalanceCallback counts"
                 : "without balance_via_topk_bias");
  if (!hasBias)
    return;
  LoadBias bias;
  bias.isUpdated = experts.sharedWidth != 0;
  if (!bias.isUpdated)
    reader.warn(
        {"balance_via_topk_bias"},
        "the bias stays 0: TopkBiasBalanceCallback updates models with shared "
        "experts only");
  experts.router.bias = bias;
  experts.router.lossesCountScores = true;
}

void ClassicReader::addLoss(const NamedFactor &loss) {
  auto location = loss.location;
  AuxiliaryLoss result;
  result.factor = loss.factor;
  if (loss.name == "expert") {
    result.numGroups = experts.numExperts;
  } else if (loss.name != "device" && loss.name != "comm") {
    reader.diagnostics.error(location, "expected expert, device or comm in "
                                       "'aux_loss_types', but got " +
                                           quote(loss.name));
    return;
  } else if (experts.dropless) {
    reader.diagnostics.warning(location, quote(loss.name) +
                                             " in aux_loss_types has no effect "
                                             "with " +
                                             gmm);
    return;
  } else if (loss.name == "device") {
    result.numGroups = reader.readSize({"expert_group_size"}, std::nullopt);
    readsGroupSize = true;
  } else {
    result.numGroups =
        config.parallel.isSemiOrAuto() ? config.parallel.expertParallel : 1;
  }
  if (result.numGroups < 1 || experts.numExperts % result.numGroups != 0)
    reader.diagnostics.error(
        location, "expected a divisor of expert_num " +
                      llvm::Twine(experts.numExperts) + " for the " +
                      llvm::Twine(result.numGroups) + " groups of the " +
                      quote(loss.name) + " loss");
  else if (result.factor != 0.0)
    experts.router.losses.push_back(result);
}

void ClassicReader::readLosses() {
  // The class checks the range of the value but does not use it.
  std::optional<double> unused = reader.readNumber({"aux_loss_factor"});
  const bool isInRange = !unused || (*unused > 0 && *unused < 1);
  if (!isInRange)
    error("aux_loss_factor",
          "expected a number between 0 and 1 for 'aux_loss_factor', but got " +
              reader.find({"aux_loss_factor"}).repr(60));
  else
    ignore("aux_loss_factor",
           "on the loss: write aux_loss_types and aux_loss_factors");
  for (const NamedFactor &loss :
       readLossFactors(reader, "aux_loss_types", "aux_loss_factors"))
    addLoss(loss);
  if (!readsGroupSize && experts.capacity)
    ignore("expert_group_size", "without 'device' among aux_loss_types");
  bool hasExpertLoss =
      llvm::any_of(experts.router.losses, [&](const AuxiliaryLoss &loss) {
        return loss.numGroups == experts.numExperts;
      });
  if (experts.router.recordsLoad && !hasExpertLoss) {
    ignore("callback_moe_droprate",
           "without 'expert' among aux_loss_types, whose shares it logs");
    experts.router.recordsLoad = false;
  }
  if (experts.capacity)
    experts.router.zLossFactor =
        reader.readNumber({"z_loss_factor"}).value_or(0.0);
  if (addsLosses)
    return;
  const llvm::StringRef why =
      classes.addsLosses ? "here: Llama's layers compute it and drop it"
                         : "with return_extra_loss False";
  ignore("aux_loss_factors", why);
  if (experts.capacity)
    ignore("z_loss_factor", why);
  experts.router.losses.clear();
  experts.router.zLossFactor = 0.0;
}

void ClassicReader::readTypes() {
  RouterSpec &router = experts.router;
  router.type = reader.readType({"router_dense_type"}, DType::F32);
  if (router.type == DType::F16)
    router.type = DType::F32;
  router.weightType = router.type;
  router.initializerRange =
      classes.initializerRange.value_or(spec.initializerRange);
  experts.initializerRange =
      experts.dropless ? router.initializerRange : spec.initializerRange;
}

void ClassicReader::reportRest() {
  reader.listRead("moe_config.", model.besideKeys);
  if (classes.areOfOwnWidth)
    experts.fusions.swiglu = spec.fusions.swiglu.isOn;
  if (experts.dropless)
    ignore("ep_extend_tp", "with " + gmm);
  readUnused(model, {"router_dense_type"}, "'float32'",
             "there: write it in moe_config");
  if (spec.ranks.modelParallel == 1 || spec.ranks.sequenceParallel)
    return;
  Location place = config.parallel.node["model_parallel"].getLocation();
  if (experts.dropless)
    reader.diagnostics.error(
        place, "expected use_seq_parallel True for experts with " + gmm +
                   " and model_parallel above 1");
  else
    reader.diagnostics.warning(
        place,
        "experts with model_parallel above 1 and without use_seq_parallel: "
        "MindSpore Transformers refuses them from release 1.6.0 on; here each "
        "model-parallel rank routes all tokens of its replica, as releases "
        "before do");
}

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
