//===- HuggingFaceExperts.cpp - Experts of a config.json ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Mixtral, Qwen2-MoE, Qwen3-MoE, DeepSeek-V2 and V3. Their experts process all
// of their tokens, as in MoEV3 and mcore. All tokens are in one row of the
// router unless --router-rows sets another number.
//
//===----------------------------------------------------------------------===//

#include "HuggingFaceExperts.h"
#include "ExpertReader.h"

namespace mf {
namespace {

/// Reads the number of experts per token and the total number of experts.
void readChoice(SpecReader &reader, ExpertSpec &experts) {
  experts.numExperts = reader.readSize(keys::numExperts, std::nullopt);
  experts.router.numChosen =
      reader.readSize(keys::expertsPerToken, std::nullopt);
  if (experts.router.numChosen > experts.numExperts)
    reader.error(keys::expertsPerToken,
                 "expected at most the " + llvm::Twine(experts.numExperts) +
                     " of " + quote(reader.nameOf(keys::numExperts)) +
                     " for {key}, but got " +
                     llvm::Twine(experts.router.numChosen));
}

/// Training with these classes adds the losses only on request.
void readLosses(SpecReader &reader) {
  reader.markRead(keys::balanceLossFactor);
  if (reader.readBool(keys::returnsScores, false))
    reader.warn(
        keys::returnsScores,
        "the loss that {key} adds is not modelled; a training YAML has " +
            known::expert::lossTypes.name + " and " +
            known::expert::lossFactors.name);
}

/// Layers with a dense feed forward are the listed ones and those whose number,
/// counted from 1, is not a multiple of the step.
void readSparseLayers(SpecReader &reader, const ModelSpec &spec,
                      ExpertSpec &experts) {
  constexpr int64_t most = 10000;
  const int64_t numLayers = std::min(spec.numLayers, most);
  const int64_t step = reader.readSize(keys::sparseStep, 1);
  std::vector<bool> layers;
  bool isDense = false;
  for (int64_t i = 0; i < numLayers; ++i) {
    layers.push_back((i + 1) % step == 0);
    isDense |= !layers.back();
  }
  Node dense = reader.find(keys::mlpOnlyLayers);
  if (dense && !dense.isList())
    reader.error(keys::mlpOnlyLayers, "expected a list of layers for {key}, "
                                      "but got " +
                                          dense.repr(60));
  for (const Node &element : dense.getElements()) {
    std::optional<int64_t> index = element.getInt();
    if (!index || *index < 0 || *index >= spec.numLayers)
      reader.diagnostics.error(element.getLocation(),
                               "expected the number of a layer below " +
                                   reader.nameOf(keys::numLayers) + " " +
                                   llvm::Twine(spec.numLayers) + " in " +
                                   quote(reader.nameOf(keys::mlpOnlyLayers)) +
                                   ", but got " + element.repr(60));
    else if (*index < numLayers) {
      layers[static_cast<size_t>(*index)] = false;
      isDense = true;
    }
  }
  if (isDense)
    experts.layers = std::move(layers);
}

ExpertSpec &addExperts(ModelSpec &spec) {
  ExpertSpec &experts = spec.experts.emplace();
  experts.dropless.emplace();
  experts.initializerRange = spec.initializerRange;
  experts.router.initializerRange = spec.initializerRange;
  return experts;
}

/// The first layers are dense, and those whose index is not a multiple of the
/// frequency.
void readDenseLayers(SpecReader &reader, const ModelSpec &spec,
                     ExpertSpec &experts) {
  constexpr int64_t most = 10000;
  experts.firstLayer = readCount(reader, keys::firstDenseLayers, 0);
  const int64_t frequency = reader.readSize(keys::expertLayerFrequency, 1);
  if (frequency == 1)
    return;
  for (int64_t i = 0; i < std::min(spec.numLayers, most); ++i)
    experts.layers.push_back(i >= experts.firstLayer && i % frequency == 0);
}

/// Tokens choose among the experts of the best groups. The score of a group is
/// the sum of the `numSummed` highest scores of its experts.
void readGroups(SpecReader &reader, int64_t numSummed, ExpertSpec &experts) {
  RoutingGroups groups;
  groups.num = reader.readSize(keys::numExpertGroups, 1);
  groups.numKept = reader.readSize(keys::chosenExpertGroups, groups.num);
  groups.numSummed = numSummed;
  if (experts.numExperts % groups.num != 0 ||
      experts.numExperts / groups.num < numSummed)
    reader.error(keys::numExpertGroups,
                 "expected {key} to divide " + reader.nameOf(keys::numExperts) +
                     " " + llvm::Twine(experts.numExperts) +
                     " into groups of at least " + llvm::Twine(numSummed) +
                     ", but got " + llvm::Twine(groups.num));
  else if (groups.numKept > groups.num)
    reader.error(keys::chosenExpertGroups,
                 "expected at most " + reader.nameOf(keys::numExpertGroups) +
                     " " + llvm::Twine(groups.num) + " for {key}, but got " +
                     llvm::Twine(groups.numKept));
  else if (groups.num > 1)
    experts.router.groups = groups;
}

/// Reads the keys that V2 and V3 share. Returns null if all layers are dense.
ExpertSpec *readDeepSeekExperts(SpecReader &reader, ModelSpec &spec,
                                llvm::StringRef score) {
  if (!reader.find(keys::numExperts))
    return nullptr;
  ExpertSpec &experts = addExperts(spec);
  readChoice(reader, experts);
  experts.width = reader.readSize(keys::expertSize, std::nullopt);
  experts.sharedWidth =
      readCount(reader, keys::numSharedExperts, 0) * experts.width;
  readDenseLayers(reader, spec, experts);
  std::string given = reader.readString(keys::routerScore, score);
  experts.router.score =
      given == "sigmoid" ? RouterScore::Sigmoid : RouterScore::Softmax;
  if (given != "sigmoid" && given != "softmax")
    reader.error(keys::routerScore, "expected softmax or sigmoid for "
                                    "{key}, but got " +
                                        quote(given));
  experts.router.epsilon = 1e-20;
  experts.router.scale = reader.readNumber(keys::routedScale).value_or(1.0);
  return &experts;
}

void rejectMethod(SpecReader &reader, llvm::StringRef wanted,
                  llvm::StringRef method) {
  reader.error(keys::routingMethod,
               "expected " + wanted + " for {key}, but got " + quote(method));
}

void normalize(ExpertSpec &experts, bool isWanted) {
  experts.router.normalizes = isWanted && experts.router.numChosen > 1;
}

} // namespace

void readMixtralExperts(SpecReader &reader, ModelSpec &spec) {
  ExpertSpec &experts = addExperts(spec);
  readChoice(reader, experts);
  experts.width = spec.feedForwardSize;
  normalize(experts, true);
  readLosses(reader);
  if (std::optional<double> noise = reader.readNumber(keys::inputJitter);
      noise.value_or(0.0) != 0.0)
    reader.warn(keys::inputJitter, "{key} is not modelled; it is ignored");
}

void readQwenExperts(SpecReader &reader, ModelSpec &spec) {
  ExpertSpec &experts = addExperts(spec);
  readChoice(reader, experts);
  experts.width = reader.readSize(keys::expertSize, std::nullopt);
  normalize(experts, reader.readBool(keys::normalizesScores, false));
  readLosses(reader);
  readSparseLayers(reader, spec, experts);
}

void readQwen2Experts(SpecReader &reader, ModelSpec &spec) {
  readQwenExperts(reader, spec);
  spec.experts->sharedWidth =
      reader.readSize(keys::sharedExpertSize, std::nullopt);
  spec.experts->gatesShared = true;
}

void readDeepSeek2Experts(SpecReader &reader, ModelSpec &spec) {
  ExpertSpec *experts = readDeepSeekExperts(reader, spec, "softmax");
  if (!experts)
    return;
  std::string method = reader.readString(keys::routingMethod, "greedy");
  if (method == "group_limited_greedy")
    readGroups(reader, /*numSummed=*/1, *experts);
  else if (method != "greedy")
    rejectMethod(reader, "greedy or group_limited_greedy", method);
  normalize(*experts, reader.readBool(keys::normalizesScores, false));
  // Its class scales only weights that it does not normalise.
  if (experts->router.normalizes)
    experts->router.scale = 1.0;
}

void readDeepSeek3Experts(SpecReader &reader, ModelSpec &spec) {
  ExpertSpec *experts = readDeepSeekExperts(reader, spec, "sigmoid");
  if (!experts)
    return;
  std::string method = reader.readString(keys::routingMethod, "noaux_tc");
  if (method != "noaux_tc")
    rejectMethod(reader, "noaux_tc", method);
  readGroups(reader, /*numSummed=*/2, *experts);
  normalize(*experts, reader.readBool(keys::normalizesScores, true));
  // No rate: it stays as a checkpoint has it.
  experts->router.bias.emplace();
}

} // namespace mf
