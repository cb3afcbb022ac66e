//===- Problem.cpp - The planning problem and its costs -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/Problem.h"
#include "mf/Support/NumberText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <cmath>
#include <numeric>

using llvm::createStringError;
using llvm::Error;
using llvm::Twine;
using namespace mf::solver;

bool mf::solver::exceeds(double value, double limit) {
  constexpr double roundingShare = 1e-9;
  return !(value <= limit + roundingShare * std::abs(limit));
}

ChunkPlan ChunkPlan::takeFront(size_t numKinds) const {
  return {llvm::ArrayRef(counts).take_front(numKinds).vec()};
}

int64_t ChunkPlan::getNumLayers() const {
  int64_t layers = 0;
  for (const std::vector<int64_t> &byTreatment : counts)
    layers = std::accumulate(byTreatment.begin(), byTreatment.end(), layers);
  return layers;
}

int64_t ChunkPlan::getTreated(size_t treatment) const {
  int64_t layers = 0;
  for (const std::vector<int64_t> &byTreatment : counts)
    layers += byTreatment[treatment];
  return layers;
}

int64_t Problem::getNumLayers() const {
  int64_t layers = 0;
  for (const LayerKind &kind : kinds)
    layers += kind.count;
  return layers;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

namespace {

struct NamedCost {
  const char *name;
  double value;
};

Error checkCosts(llvm::ArrayRef<NamedCost> costs, const Twine &owner) {
  for (const NamedCost &cost : costs)
    if (!std::isfinite(cost.value) || cost.value < 0)
      return createStringError(Twine(cost.name) + " of " + owner + " is " +
                               mf::formatAmount(cost.value) +
                               ", expected a finite number from 0");
  return Error::success();
}

Error checkPart(const char *name, double part, double backward,
                const Twine &owner) {
  if (part <= backward)
    return Error::success();
  return createStringError(Twine(name) + " of " + owner + " takes " +
                           mf::formatAmount(part) + ", expected at most the " +
                           mf::formatAmount(backward) +
                           " of the backward that it is a part of");
}

Error checkTreatment(const Treatment &treatment, const Twine &owner) {
  if (Error error =
          checkCosts({{"forward", treatment.forward},
                      {"backward", treatment.backward},
                      {"weight gradient", treatment.weightGradient},
                      {"recompute", treatment.recompute},
                      {"activation memory", treatment.activationMemory},
                      {"recomputed memory", treatment.recomputedMemory},
                      {"transient memory", treatment.transientMemory},
                      {"copy out", treatment.copyOut},
                      {"copy in", treatment.copyIn}},
                     owner))
    return error;
  if (Error error = checkPart("weight gradient", treatment.weightGradient,
                              treatment.backward, owner))
    return error;
  return checkPart("recompute with the weight gradient",
                   treatment.recompute + treatment.weightGradient,
                   treatment.backward, owner);
}

Error checkKind(const LayerKind &kind, const LayerKind &first) {
  const std::string owner = "layer kind '" + kind.name + "'";
  if (kind.count < 0 || kind.count > mostLayers)
    return createStringError(owner + " has " + Twine(kind.count) +
                             " layers, expected 0 to " + Twine(mostLayers));
  if (Error error = checkCosts({{"parameter memory", kind.parameterMemory},
                                {"update time", kind.updateTime}},
                               owner))
    return error;
  if (kind.treatments.empty())
    return createStringError(owner +
                             " has no treatments, expected at least one");
  auto getName = [](const Treatment &treatment) { return treatment.name; };
  if (!llvm::equal(llvm::map_range(kind.treatments, getName),
                   llvm::map_range(first.treatments, getName)))
    return createStringError(owner + " has other treatments than kind '" +
                             first.name +
                             "', expected the same in the same order");
  for (const Treatment &treatment : kind.treatments)
    if (Error error = checkTreatment(treatment, "treatment '" + treatment.name +
                                                    "' of " + owner))
      return error;
  return Error::success();
}

Error checkExtra(const ChunkExtra &extra, int64_t chunks) {
  if (extra.chunk < 0 || extra.chunk >= chunks)
    return createStringError("an extra is on chunk " + Twine(extra.chunk) +
                             ", expected 0 to " + Twine(chunks - 1));
  const std::string owner = ("the extra on chunk " + Twine(extra.chunk)).str();
  if (Error error = checkCosts({{"forward", extra.forward},
                                {"backward", extra.backward},
                                {"weight gradient", extra.weightGradient},
                                {"parameter memory", extra.parameterMemory},
                                {"activation memory", extra.activationMemory},
                                {"transient memory", extra.transientMemory},
                                {"update time", extra.updateTime}},
                               owner))
    return error;
  return checkPart("weight gradient", extra.weightGradient, extra.backward,
                   owner);
}

Error checkStages(const Problem &problem) {
  const size_t stages = problem.schedule.pipeline.stages;
  if (problem.stages.size() != stages)
    return createStringError("memory of " + Twine(problem.stages.size()) +
                             " stages is given, expected that of each of the " +
                             Twine(stages));
  for (auto [stage, memory] : llvm::enumerate(problem.stages)) {
    const std::string owner = ("stage " + Twine(stage)).str();
    if (Error error = checkCosts({{"memory limit", memory.limit}}, owner))
      return error;
    if (!std::isfinite(memory.constant))
      return createStringError("constant memory of " + owner + " is " +
                               mf::formatAmount(memory.constant) +
                               ", expected a finite number");
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

Error checkNumbersOfLayers(const Problem &problem) {
  const int64_t chunks = problem.schedule.pipeline.getNumChunks();
  const int64_t layers = problem.getNumLayers();
  const int64_t least = problem.minLayersPerChunk;
  const int64_t most = problem.maxLayersPerChunk;
  if (least < 0 || most < 0 || (most > 0 && most < least))
    return createStringError("a chunk has from " + Twine(least) + " to " +
                             Twine(most) +
                             " layers, expected numbers from 0 of which the "
                             "second is 0 (no limit) or no smaller");
  if (layers < 1 || layers > mostLayers)
    return createStringError("there are " + Twine(layers) +
                             " layers, expected 1 to " + Twine(mostLayers));
  if (least > layers / chunks)
    return createStringError(Twine(layers) + " layers are too few for " +
                             Twine(chunks) + " chunks of at least " +
                             Twine(least) + ", expected at least " +
                             mf::formatAmount(static_cast<double>(least) *
                                              static_cast<double>(chunks)));
  if (most > 0 && (layers + chunks - 1) / chunks > most)
    return createStringError(Twine(layers) + " layers are too many for " +
                             Twine(chunks) + " chunks of at most " +
                             Twine(most) + ", expected at most " +
                             Twine(most * chunks));
  return Error::success();
}

Error checkFixedLayers(const Problem &problem) {
  if (problem.fixedLayers.empty())
    return Error::success();
  const int64_t chunks = problem.schedule.pipeline.getNumChunks();
  if (static_cast<int64_t>(problem.fixedLayers.size()) != chunks)
    return createStringError("layers of " + Twine(problem.fixedLayers.size()) +
                             " chunks are given, expected those of each of "
                             "the " +
                             Twine(chunks));
  int64_t sum = 0;
  for (auto [chunk, layers] : llvm::enumerate(problem.fixedLayers)) {
    const int64_t most = problem.maxLayersPerChunk;
    if (layers < problem.minLayersPerChunk || layers > mostLayers ||
        (most > 0 && layers > most))
      return createStringError("chunk " + Twine(chunk) + " is given " +
                               Twine(layers) + " layers, expected " +
                               Twine(problem.minLayersPerChunk) + " to " +
                               Twine(most > 0 ? most : mostLayers));
    sum += layers;
  }
  if (sum == problem.getNumLayers())
    return Error::success();
  return createStringError("chunks are given " + Twine(sum) +
                           " layers, expected the " +
                           Twine(problem.getNumLayers()) + " that there are");
}

Error checkFixedTreatments(const Problem &problem) {
  const size_t treatments = problem.getNumTreatments();
  const size_t chunks = problem.schedule.pipeline.getNumChunks();
  if (problem.fixedTreatments.empty())
    return Error::success();
  if (problem.fixedTreatments.size() != treatments)
    return createStringError(
        "numbers of " + Twine(problem.fixedTreatments.size()) +
        " treatments are given, expected a list (it may be empty) for each "
        "of the " +
        Twine(treatments));
  for (auto [treatment, fixed] : llvm::enumerate(problem.fixedTreatments)) {
    const std::string owner =
        "treatment '" + problem.kinds.front().treatments[treatment].name + "'";
    if (!fixed.empty() && fixed.size() != chunks)
      return createStringError(owner + " is given for " + Twine(fixed.size()) +
                               " chunks, expected each of the " +
                               Twine(chunks));
    for (auto [chunk, count] : llvm::enumerate(fixed))
      if (count < 0 || count > mostLayers)
        return createStringError(owner + " is given for " + Twine(count) +
                                 " layers of chunk " + Twine(chunk) +
                                 ", expected 0 to " + Twine(mostLayers));
  }
  return Error::success();
}

Error checkFollowers(const Problem &problem) {
  if (problem.numFollowers >= problem.kinds.size())
    return createStringError(Twine(problem.numFollowers) +
                             " kinds follow the layer before them, "
                             "expected fewer than the " +
                             Twine(problem.kinds.size()) + " that there are");
  const LayerKind &leader = problem.kinds[problem.getNumLeaders() - 1];
  if (problem.numFollowers > 0 && leader.count != 1)
    return createStringError("kind '" + leader.name +
                             "', which others follow, "
                             "has " +
                             Twine(leader.count) + " layers, expected 1");
  if (problem.followed && (problem.numFollowers == 0 ||
                           *problem.followed >= problem.getNumTreatments()))
    return createStringError("treatment " + Twine(*problem.followed) +
                             " is given for layers that follow, expected such "
                             "layers and a number up to " +
                             Twine(problem.getNumTreatments() - 1));
  return Error::success();
}

Error checkExclusive(const Problem &problem) {
  const size_t treatments = problem.getNumTreatments();
  for (auto [first, second] : problem.exclusive) {
    if (first >= treatments || second >= treatments)
      return createStringError(
          "treatments " + Twine(first) + " and " + Twine(second) +
          " are exclusive, expected numbers up to " + Twine(treatments - 1));
    if (first == second)
      return createStringError(
          "treatment '" + problem.kinds.front().treatments[first].name +
          "' is exclusive with itself, expected another one");
  }
  return Error::success();
}

bool hasShapeOf(const ChunkPlan &chunk, const Problem &problem) {
  return chunk.counts.size() == problem.kinds.size() &&
         llvm::all_of(chunk.counts, [&](const std::vector<int64_t> &counts) {
           return counts.size() == problem.getNumTreatments();
         });
}

Error checkForbidden(const Problem &problem) {
  const auto chunks = problem.schedule.pipeline.getChunksOfStages();
  for (const ForbiddenStage &forbidden : problem.forbidden) {
    const auto stages = static_cast<int64_t>(chunks.size());
    if (forbidden.stage < 0 || forbidden.stage >= stages)
      return createStringError("chunks are forbidden on stage " +
                               Twine(forbidden.stage) + ", expected 0 to " +
                               Twine(stages - 1));
    const size_t expected = chunks[forbidden.stage].size();
    if (forbidden.chunks.size() != expected)
      return createStringError(
          Twine(forbidden.chunks.size()) + " chunks are forbidden on stage " +
          Twine(forbidden.stage) + ", expected its " + Twine(expected));
    for (const ChunkPlan &chunk : forbidden.chunks)
      if (!hasShapeOf(chunk, problem))
        return createStringError(
            "what is forbidden on stage " + Twine(forbidden.stage) +
            " has counts of other kinds and treatments, expected those of "
            "the problem");
  }
  return Error::success();
}

} // namespace

static Error checkPairs(const Problem &problem) {
  const double parts = 100 * problem.pairHidden;
  const bool isShare = parts >= 0 && parts <= 100;
  if (!isShare || std::abs(parts - std::round(parts)) > 1e-9)
    return createStringError("the share that pairs hide is " +
                             mf::formatExact(problem.pairHidden) +
                             ", expected whole hundredths from 0 to 1");
  if (parts > 0 && problem.schedule.pairs.empty())
    return createStringError("pairs hide a share, but '" +
                             problem.schedule.name +
                             "' has none, expected a schedule with pairs");
  return Error::success();
}

Error Problem::check() const {
  if (Error error = schedule.pipeline.check())
    return error;
  if (Error error = checkCosts({{"transfer time", transferTime}}, "messages"))
    return error;
  if (Error error = checkPairs(*this))
    return error;
  if (kinds.empty())
    return createStringError("there are no kinds of layers, expected one");
  for (const LayerKind &kind : kinds)
    if (Error error = checkKind(kind, kinds.front()))
      return error;
  for (const ChunkExtra &extra : extras)
    if (Error error = checkExtra(extra, schedule.pipeline.getNumChunks()))
      return error;
  if (Error error = checkStages(*this))
    return error;
  if (Error error = checkNumbersOfLayers(*this))
    return error;
  if (Error error = checkFixedLayers(*this))
    return error;
  if (Error error = checkFixedTreatments(*this))
    return error;
  if (Error error = checkFollowers(*this))
    return error;
  if (Error error = checkExclusive(*this))
    return error;
  return checkForbidden(*this);
}
