//===- ReadStageMap.cpp - The stages of a model's layers ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Pipeline/Policy.h"
#include "passes/config/ConfigAttributes.h"

using namespace mf;
using namespace mf::ir;

/// Returns the stage of each chunk in the order of execution; empty if there is
/// no such schedule.
static std::vector<int64_t> getVisits(TrainingAttr training,
                                      DiagnosticList &diagnostics) {
  ParallelAttr parallel = training.getParallel();
  llvm::Expected<const schedule::Policy *> policy =
      schedule::findPolicy(parallel.getScheduler());
  if (policy)
    return (*policy)
        ->place(parallel.getStages(), parallel.getInterleave(),
                parallel.getMicroBatches())
        .stageOfChunk;
  diagnostics.error(passes::getKeyLocation(training, "pipeline_scheduler"),
                    llvm::toString(policy.takeError()));
  return {};
}

/// Returns the number of body layers that predict later tokens: those that
/// another layer joins.
static int64_t countLaterLayers(ModelOp model) {
  int64_t count = 0;
  bool isJoined = false;
  for (LayerOp layer : model.getBody().getOps<LayerOp>()) {
    count += isJoined && layer.isNumbered();
    isJoined = layer.getJoinsNext();
  }
  return count;
}

std::optional<StageMap> passes::createStageMap(ModelOp model,
                                               DiagnosticList &diagnostics) {
  TrainingAttr training = model.getTrainingAttr();
  ParallelAttr parallel = training.getParallel();
  StageMapOptions options;
  options.mtpLayers = countLaterLayers(model);
  options.numLayers = model.getNumBodyLayers() - options.mtpLayers;
  options.mayLeaveOutMtp =
      model.getFamily().value_or("").starts_with("mcore") &&
      !getRecomputeConfig(training).isOfDynamicGraph;
  options.pipelineStages = parallel.getStages();
  options.interleave = parallel.getInterleave();
  options.offset = getStageOffset(training);
  options.location = passes::getKeyLocation(training, "pipeline_stage");
  if (!checkLayerCount(options, diagnostics))
    return std::nullopt;
  options.visits = getVisits(training, diagnostics);
  if (diagnostics.hasErrors())
    return std::nullopt;
  return StageMap::create(options, diagnostics);
}

mlir::LogicalResult passes::checkMesh(ModelOp model) {
  int64_t stages = model.getTrainingAttr().getParallel().getStages();
  auto mesh = MeshAttr::find(model);
  if (!mesh || mesh.getSize("pp") == stages)
    return mlir::success();
  return model.emitOpError("is to have ")
         << stages << " stages (pipeline_stage), but the mesh is " << mesh;
}

mlir::FailureOr<StageMap> passes::readStageMap(ModelOp model) {
  ParallelAttr parallel = model.getTrainingAttr().getParallel();
  if (failed(checkMesh(model)))
    return mlir::failure();
  std::vector<LayerPlace> places;
  for (LayerOp layer : model.getBody().getOps<LayerOp>()) {
    PlacementAttr placement = layer.getPlacementAttr();
    if (!placement)
      return layer.emitOpError("has no placement; run mf-partition first");
    int64_t stage = placement.getStage();
    int64_t chunk = placement.getChunk();
    if (stage < 0 || stage >= parallel.getStages() || chunk < 0 ||
        chunk >= parallel.getInterleave())
      return layer.emitOpError("is chunk ")
             << chunk << " of stage " << stage << ", but the training "
             << "attribute has " << parallel.getStages() << " stages (stages) "
             << "with " << parallel.getInterleave()
             << " chunks each (interleave); run mf-partition";
    if (layer.isNumbered() && placement.getPiece() == 0)
      places.push_back({stage, chunk});
  }
  StageMap placed = StageMap::fromPlaces(
      std::move(places), parallel.getStages(), parallel.getInterleave());
  // An offset may count more layers than exist. MindSpore Transformers
  // distributes recompute counts by the numbers of the offset, which placements
  // do not show.
  DiagnosticList ignored;
  std::optional<StageMap> asked = createStageMap(model, ignored);
  return asked && asked->placesAlike(placed) ? std::move(*asked)
                                             : std::move(placed);
}
