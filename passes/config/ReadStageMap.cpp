//===- ReadStageMap.cpp - The stages of a model's layers ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Families/Family.h"
#include "mf/Pipeline/Policy.h"
#include "passes/config/ConfigAttributes.h"

using namespace mf;
using namespace mf::ir;

/// Returns the location of `key` in the YAML, if the attribute has it.
static mf::Location getKeyLocation(TrainingAttr training, llvm::StringRef key) {
  auto file = training.getLocation<mlir::FileLineColLoc>(key);
  return file ? mf::Location{file.getFilename().str(), file.getLine(),
                             file.getColumn()}
              : mf::Location();
}

static StageOffset getStageOffset(TrainingAttr training) {
  StageOffset offset;
  offset.location = getKeyLocation(training, keys::offset.getName());
  const mlir::Attribute value = training.getParallel().getOffset();
  if (auto number = llvm::dyn_cast_if_present<mlir::IntegerAttr>(value)) {
    offset.rows = {{number.getInt()}};
  } else if (auto items = llvm::dyn_cast_if_present<mlir::ArrayAttr>(value)) {
    const bool isTable = !items.empty() && llvm::isa<mlir::ArrayAttr>(items[0]);
    offset.kind =
        isTable ? StageOffset::Kind::PerMiniStage : StageOffset::Kind::PerStage;
    offset.rows.clear();
    for (mlir::Attribute row :
         isTable ? items.getValue() : llvm::ArrayRef(value)) {
      std::vector<int64_t> &counts = offset.rows.emplace_back();
      for (auto count :
           llvm::cast<mlir::ArrayAttr>(row).getAsRange<mlir::IntegerAttr>())
        counts.push_back(count.getInt());
    }
  }
  return offset;
}

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
  diagnostics.error(
      getKeyLocation(training,
                     known::nameOf(&ParallelConfig::pipelineScheduler)),
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
      isMcore(model.getFamily()) && !training.getDynamicGraph();
  options.pipelineStages = parallel.getStages();
  options.interleave = parallel.getInterleave();
  options.offset = getStageOffset(training);
  options.location =
      getKeyLocation(training, known::nameOf(&ParallelConfig::pipelineStage));
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
         << stages << " stages ("
         << known::nameOf(&ParallelConfig::pipelineStage)
         << "), but the mesh is " << mesh;
}

std::optional<ResolvedLayers>
passes::setLayerSettings(ModelOp model, const TrainingConfig &config,
                         DiagnosticList &diagnostics) {
  DiagnosticList ignored;
  const std::optional<StageMap> stages = createStageMap(model, ignored);
  if (!stages)
    return std::nullopt;
  const FamilyRecord *family = findFamily(model.getFamily().value_or(""));
  ResolvedLayers resolved = resolveLayers(
      config, *stages,
      family ? family->selection : llvm::ArrayRef(legacySelection),
      diagnostics);
  // A layer that joins the next one has the settings of that.
  size_t number = 0;
  for (LayerOp layer : model.getBody().getOps<LayerOp>()) {
    if (layer.getKind() != LayerKind::Body)
      continue;
    if (number < resolved.layers.size())
      layer.setSettingsAttr(
          LayerSettingsAttr::get(model.getContext(), resolved.layers[number]));
    number += layer.isNumbered();
  }
  return resolved;
}
