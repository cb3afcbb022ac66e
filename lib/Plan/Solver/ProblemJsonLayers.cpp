//===- ProblemJsonLayers.cpp - Layers in the files of problems ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProblemJsonParts.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::solver {

namespace {

/// The ratio of backward to forward, if a file does not give the time of
/// backward.
constexpr double usualBackwardRatio = 2;
/// The share of a backward that its weight gradient takes, if backwards are
/// split.
constexpr double usualWeightGradientRatio = 0.5;

struct LayerTaskTimes {
  double forward = 0, backward = 0, weightGradient = 0;
};

class LayerReader {
public:
  LayerReader(Problem &problem, Complaint &complaint)
      : problem(problem), splits(problem.schedule.splitsBackward),
        complaint(complaint) {}

  void readKinds(const JsonPlace &place);
  void readExtras(const JsonPlace &place);
  /// Reads the extra costs of a chunk, or of the chunk that the object names.
  void readExtra(const JsonPlace &place, std::optional<int64_t> chunk);

private:
  LayerTaskTimes readTimes(JsonObject &object, double forward) const;
  LayerKind readKind(const JsonPlace &place);
  Treatment readTreatment(const JsonPlace &place, const Treatment &usual);
  void readBackward(JsonObject &object, const Treatment &usual,
                    Treatment &treatment) const;
  void checkTreatments(const JsonPlace &place, const LayerKind &kind);

  Problem &problem;
  bool splits;
  Complaint &complaint;
};

LayerTaskTimes LayerReader::readTimes(JsonObject &object,
                                      double forward) const {
  LayerTaskTimes times;
  times.forward = forward;
  object.exclude("backward", "backward_ratio");
  const double ratio =
      object.getNumber("backward_ratio", usualBackwardRatio, ratioRange);
  times.backward = object.getNumber(
      "backward", object.getProduct("backward_ratio", ratio, forward));
  object.exclude("weight_gradient", "weight_gradient_ratio");
  const double share = object.getNumber(
      "weight_gradient_ratio", splits ? usualWeightGradientRatio : 0, {0, 1});
  times.weightGradient =
      object.getNumber("weight_gradient", times.backward * share);
  return times;
}

void LayerReader::readBackward(JsonObject &object, const Treatment &usual,
                               Treatment &treatment) const {
  object.exclude("backward", "recompute_time");
  object.exclude("backward", "recompute_ratio");
  object.exclude("recompute_time", "recompute_ratio");
  const double ratio = object.getNumber("recompute_ratio", 0, ratioRange);
  const double recompute = object.getNumber(
      "recompute_time",
      object.getProduct("recompute_ratio", ratio, usual.forward));
  treatment.backward = object.getNumber("backward", usual.backward + recompute);
  treatment.recompute = object.getNumber("recompute_task", recompute);
  treatment.weightGradient =
      object.getNumber("weight_gradient", usual.weightGradient);
}

Treatment LayerReader::readTreatment(const JsonPlace &place,
                                     const Treatment &usual) {
  JsonObject object(place, complaint);
  Treatment treatment = usual;
  if (std::optional<JsonPlace> name =
          object.demand("name", "the name of the treatment"))
    treatment.name = readText(*name, complaint).value_or("");
  treatment.forward = object.getNumber("forward", usual.forward);
  readBackward(object, usual, treatment);
  treatment.activationMemory =
      object.getNumber("block_mem_act", usual.activationMemory);
  // Recompute makes the activations that are kept without the treatment.
  treatment.recomputedMemory = object.getNumber(
      "recomputed_mem",
      treatment.recompute > 0
          ? std::max(0.0, usual.activationMemory - treatment.activationMemory)
          : 0);
  treatment.transientMemory =
      object.getNumber("transient_mem", usual.transientMemory);
  treatment.copyOut = object.getNumber("copy_out", 0);
  treatment.copyIn = object.getNumber("copy_in", 0);
  object.finish();
  return treatment;
}

void LayerReader::checkTreatments(const JsonPlace &place,
                                  const LayerKind &kind) {
  for (auto [index, treatment] : llvm::enumerate(kind.treatments))
    for (const Treatment &before :
         llvm::ArrayRef(kind.treatments).take_front(index))
      if (before.name == treatment.name)
        complaint.add(place.path, "there are two treatments '" +
                                      treatment.name +
                                      "', expected different names");
  if (problem.kinds.empty())
    return;
  const LayerKind &first = problem.kinds.front();
  auto getName = [](const Treatment &treatment) { return treatment.name; };
  if (!llvm::equal(llvm::map_range(first.treatments, getName),
                   llvm::map_range(kind.treatments, getName))) {
    std::string names;
    for (const Treatment &treatment : first.treatments)
      names += (names.empty() ? "" : ", ") + treatment.name;
    complaint.add(place.path, "other treatments than those of kind '" +
                                  first.name + "', expected " + names +
                                  " in that order");
  }
}

LayerKind LayerReader::readKind(const JsonPlace &place) {
  JsonObject object(place, complaint);
  LayerKind kind;
  kind.name = object.getText("name", problem.kinds.empty() ? "layer" : "");
  if (kind.name.empty())
    complaint.add(place.path, "'name' is missing, expected a name by which to "
                              "tell the kind from others");
  for (const LayerKind &before : problem.kinds)
    if (before.name == kind.name)
      complaint.add(place.path, "there are two kinds '" + kind.name +
                                    "', expected different names");
  kind.count = object.demandInteger("count", 0, mostLayers);
  kind.parameterMemory = object.getNumber("block_mem_par", 0);
  kind.updateTime = object.getNumber("update_time", 0);

  Treatment usual;
  usual.name = "none";
  const LayerTaskTimes times =
      readTimes(object, object.demandNumber("forward"));
  usual.forward = times.forward;
  usual.backward = times.backward;
  usual.weightGradient = times.weightGradient;
  usual.activationMemory = object.getNumber("block_mem_act", 0);
  usual.transientMemory = object.getNumber("transient_mem", 0);
  std::optional<JsonPlace> member = object.find("treatments");
  if (!member) {
    kind.treatments.push_back(usual);
    checkTreatments(place, kind);
  } else if (auto list = readList(*member, "a list of treatments", complaint)) {
    if (list->empty())
      complaint.add(member->path, "the list is empty, expected one treatment "
                                  "at least");
    for (const JsonPlace &element : *list)
      kind.treatments.push_back(readTreatment(element, usual));
    checkTreatments(*member, kind);
  }
  object.finish();
  return kind;
}

void LayerReader::readKinds(const JsonPlace &place) {
  auto list = readList(place, "a list of kinds of layers", complaint);
  if (!list)
    return;
  if (list->empty())
    complaint.add(place.path, "the list is empty, expected one kind of layers "
                              "at least");
  for (const JsonPlace &element : *list) {
    LayerKind kind = readKind(element);
    problem.kinds.push_back(std::move(kind));
    if (complaint.isThere())
      return;
  }
}

void LayerReader::readExtra(const JsonPlace &place,
                            std::optional<int64_t> chunk) {
  JsonObject object(place, complaint);
  const int64_t chunks = problem.schedule.pipeline.getNumChunks();
  ChunkExtra extra;
  extra.chunk = chunk ? *chunk : object.demandInteger("chunk", 0, chunks - 1);
  const LayerTaskTimes times =
      readTimes(object, object.getNumber("forward", 0));
  extra.forward = times.forward;
  extra.backward = times.backward;
  extra.weightGradient = times.weightGradient;
  extra.parameterMemory = object.getNumber("block_mem_par", 0);
  extra.activationMemory = object.getNumber("block_mem_act", 0);
  extra.transientMemory = object.getNumber("transient_mem", 0);
  extra.updateTime = object.getNumber("update_time", 0);
  object.finish();
  problem.extras.push_back(extra);
}

void LayerReader::readExtras(const JsonPlace &place) {
  auto list =
      readList(place, "a list of what chunks have beside layers", complaint);
  if (list)
    for (const JsonPlace &element : *list)
      readExtra(element, std::nullopt);
}

} // namespace

void readLayers(JsonObject &top, Problem &problem, Complaint &complaint) {
  LayerReader reader(problem, complaint);
  if (std::optional<JsonPlace> layers =
          top.demand("layers", "a list of kinds of layers"))
    reader.readKinds(*layers);
  if (std::optional<JsonPlace> embedding = top.find("embedding"))
    reader.readExtra(*embedding, 0);
  if (std::optional<JsonPlace> head = top.find("head"))
    reader.readExtra(*head, problem.schedule.pipeline.getNumChunks() - 1);
  if (std::optional<JsonPlace> extras = top.find("extras"))
    reader.readExtras(*extras);
}

} // namespace mf::solver
