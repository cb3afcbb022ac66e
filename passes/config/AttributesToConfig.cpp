//===- AttributesToConfig.cpp - Attributes to training configuration ------===//

#include "mf/Pipeline/Policy.h"
#include "passes/config/ConfigAttributes.h"

using namespace mf;
using namespace mf::ir;
using llvm::cast;
using llvm::dyn_cast;
using llvm::dyn_cast_or_null;
using llvm::isa;
using mlir::ArrayAttr;
using mlir::Attribute;
using mlir::BoolAttr;
using mlir::IntegerAttr;

//===----------------------------------------------------------------------===//
// Recompute
//===----------------------------------------------------------------------===//

static Location toLocation(Attribute attribute) {
  Location location;
  if (auto file = dyn_cast_or_null<mlir::FileLineColLoc>(attribute)) {
    location.file = file.getFilename().str();
    location.line = file.getLine();
    location.column = file.getColumn();
  }
  return location;
}

/// Returns the place of `key` in the YAML, if the training attribute has it.
static Location getKeyLocation(TrainingAttr training, llvm::StringRef key) {
  mlir::DictionaryAttr locations = training.getLocations();
  return toLocation(locations ? locations.get(key) : Attribute());
}

static LayerCount toCount(Attribute attribute) {
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return LayerCount::fromBool(flag.getValue());
  return LayerCount::fromInt(cast<IntegerAttr>(attribute).getInt());
}

static LayerSelection toSelection(Attribute attribute) {
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return LayerSelection::fromBool(flag.getValue());
  LayerSelection selection;
  if (auto numbers = dyn_cast<mlir::DenseI64ArrayAttr>(attribute)) {
    selection.kind = LayerSelection::Kind::Numbers;
    selection.numbers = std::vector<int64_t>(numbers.asArrayRef());
    return selection;
  }
  auto items = cast<ArrayAttr>(attribute);
  if (llvm::none_of(items, [](Attribute a) { return isa<ArrayAttr>(a); })) {
    selection.kind = LayerSelection::Kind::Counts;
    for (Attribute item : items)
      selection.counts.push_back(toCount(item));
    return selection;
  }
  selection.kind = LayerSelection::Kind::Table;
  for (Attribute item : items) {
    LayerCountRow &row = selection.table.emplace_back();
    if (auto flag = dyn_cast<BoolAttr>(item))
      row.whole = flag.getValue();
    else
      for (Attribute count : cast<ArrayAttr>(item))
        row.counts.push_back(toCount(count));
  }
  return selection;
}

static LayerSetting toSetting(Attribute attribute, Location location) {
  LayerSetting setting;
  auto items = dyn_cast<ArrayAttr>(attribute);
  if (!items || items.empty() || !isa<PatternAttr>(items[0])) {
    setting.selection = toSelection(attribute);
    setting.selection.location = location;
  } else {
    setting.kind = LayerSetting::Kind::PatternMap;
    for (auto pattern : items.getAsRange<PatternAttr>()) {
      LayerSelection layers = toSelection(pattern.getSetting());
      layers.location = toLocation(pattern.getLocation());
      setting.patterns.push_back(
          {pattern.getPattern().str(), layers, layers.location});
    }
  }
  setting.location = std::move(location);
  return setting;
}

RecomputeConfig passes::getRecomputeConfig(TrainingAttr training) {
  RecomputeConfigAttr attribute = training.getRecompute();
  auto read = [&](Attribute setting, llvm::StringRef key) {
    return toSetting(setting, getKeyLocation(training, key));
  };
  RecomputeConfig config;
  config.recompute = read(attribute.getRecompute(), "recompute");
  config.selectRecompute = read(attribute.getSelect(), "select_recompute");
  config.selectCommRecompute =
      read(attribute.getSelectComm(), "select_comm_recompute");
  if (auto kept = dyn_cast<mlir::DictionaryAttr>(attribute.getSelectExclude()))
    for (auto name :
         cast<ArrayAttr>(kept.get("operators")).getAsRange<mlir::StringAttr>())
      config.keptOperators.push_back(name.str());
  else
    config.selectRecomputeExclude =
        read(attribute.getSelectExclude(), "select_recompute_exclude");
  config.selectCommRecomputeExclude =
      read(attribute.getSelectCommExclude(), "select_comm_recompute_exclude");
  config.parallelOptimizerCommRecompute = attribute.getParallelOptimizerComm();
  config.mpCommRecompute = attribute.getMpComm();
  config.recomputeSliceActivation = attribute.getSliceActivation();
  return config;
}

//===----------------------------------------------------------------------===//
// Swap
//===----------------------------------------------------------------------===//

static std::vector<SwapEntry> toEntries(ArrayAttr attribute) {
  std::vector<SwapEntry> entries;
  for (auto item : attribute.getAsRange<SwapEntryAttr>()) {
    SwapEntry &entry = entries.emplace_back();
    entry.prefetch = item.getPrefetch();
    entry.location = toLocation(item.getLocation());
    if (auto flag = dyn_cast<BoolAttr>(item.getLayers()))
      entry.allLayers = flag.getValue();
    else if (auto numbers =
                 dyn_cast<mlir::DenseI64ArrayAttr>(item.getLayers())) {
      entry.countsLayers = true;
      entry.layers = std::vector<int64_t>(numbers.asArrayRef());
    } else
      for (auto layer :
           cast<ArrayAttr>(item.getLayers()).getAsRange<IntegerAttr>())
        entry.layers.push_back(layer.getInt());
  }
  return entries;
}

SwapConfig passes::getSwapConfig(TrainingAttr training) {
  SwapConfigAttr attribute = training.getSwap();
  SwapConfig config;
  config.location = getKeyLocation(training, "swap");
  config.prefetchLocation = getKeyLocation(training, "default_prefetch");
  config.swap = attribute.getSwap();
  config.defaultPrefetch = attribute.getDefaultPrefetch();
  if (ArrayAttr layerSwap = attribute.getLayerSwap())
    config.layerSwap = toEntries(layerSwap);
  if (ArrayAttr opSwap = attribute.getOpSwap()) {
    config.opSwap.emplace();
    for (auto swap : opSwap.getAsRange<OpSwapAttr>())
      config.opSwap->push_back({swap.getPattern().str(),
                                toEntries(swap.getEntries()),
                                toLocation(swap.getLocation())});
  }
  return config;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

FusionConfig passes::getFusionConfig(TrainingAttr training) {
  FusionConfig config;
  FusionsAttr fusions = training.getFusions();
  /// A switch gets the name and the place of the last of `keys` that the YAML
  /// has, or the name of the first of them if it has none.
  auto set = [&](FusionSwitch &fusion, bool (FusionsAttr::*isOn)() const,
                 llvm::ArrayRef<llvm::StringLiteral> keys) {
    if (fusions)
      fusion.isOn = (fusions.*isOn)();
    fusion.key = keys.front();
    for (llvm::StringRef key : keys)
      if (Location location = getKeyLocation(training, key);
          location.isKnown()) {
        fusion.key = key;
        fusion.location = location;
      }
  };
  set(config.rotary, &FusionsAttr::getRotary,
      {"use_fused_rope", "apply_rope_fusion"});
  set(config.swiglu, &FusionsAttr::getSwiglu,
      {"use_fused_swiglu", "bias_swiglu_fusion", "hidden_act"});
  set(config.groupMatmuls, &FusionsAttr::getGroupMatmuls,
      {"use_gmm", "moe_grouped_gemm"});
  set(config.permuteTokens, &FusionsAttr::getPermuteTokens,
      {"use_fused_ops_permute", "moe_permute_fusion"});
  set(config.route, &FusionsAttr::getRoute, {"use_fused_ops_topkrouter"});
  return config;
}

StageOffset passes::getStageOffset(TrainingAttr training) {
  StageOffset offset;
  offset.location = getKeyLocation(training, "offset");
  Attribute value = training.getParallel().getOffset();
  if (!value)
    return offset;
  if (auto number = dyn_cast<IntegerAttr>(value)) {
    offset.rows = {{number.getInt()}};
    return offset;
  }
  offset.rows.clear();
  auto addRow = [&](ArrayAttr row) {
    offset.rows.emplace_back();
    for (auto number : row.getAsRange<IntegerAttr>())
      offset.rows.back().push_back(number.getInt());
  };
  auto items = cast<ArrayAttr>(value);
  bool isTable = !items.empty() && isa<ArrayAttr>(items[0]);
  offset.kind =
      isTable ? StageOffset::Kind::PerMiniStage : StageOffset::Kind::PerStage;
  if (isTable)
    for (auto row : items.getAsRange<ArrayAttr>())
      addRow(row);
  else
    addRow(items);
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
  diagnostics.error(getKeyLocation(training, "pipeline_scheduler"),
                    llvm::toString(policy.takeError()));
  return {};
}

std::optional<StageMap> passes::createStageMap(ModelOp model,
                                               DiagnosticList &diagnostics) {
  TrainingAttr training = model.getTrainingAttr();
  ParallelAttr parallel = training.getParallel();
  StageMapOptions options;
  options.numLayers = model.getNumBodyLayers();
  options.pipelineStages = parallel.getStages();
  options.interleave = parallel.getInterleave();
  options.offset = getStageOffset(training);
  options.location = getKeyLocation(training, "pipeline_stage");
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
