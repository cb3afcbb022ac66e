//===- ConfigAttributes.cpp - Training configuration as attributes --------===//

#include "passes/config/ConfigAttributes.h"
#include "mlir/IR/Builders.h"

using namespace mf;
using namespace mf::ir;
using llvm::cast;
using llvm::dyn_cast;
using llvm::dyn_cast_or_null;
using llvm::isa;
using mlir::ArrayAttr;
using mlir::Attribute;
using mlir::BoolAttr;
using mlir::Builder;
using mlir::IntegerAttr;
using mlir::MLIRContext;

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

static Attribute getCounts(Builder &builder,
                           llvm::ArrayRef<LayerCount> counts) {
  llvm::SmallVector<Attribute> items;
  for (const LayerCount &count : counts)
    items.push_back(count.isBool
                        ? Attribute(builder.getBoolAttr(count.value != 0))
                        : builder.getI64IntegerAttr(count.value));
  return builder.getArrayAttr(items);
}

static Attribute getSelection(Builder &builder,
                              const LayerSelection &selection) {
  switch (selection.kind) {
  case LayerSelection::Kind::Bool:
    return builder.getBoolAttr(selection.flag);
  case LayerSelection::Kind::Names:
    return builder.getBoolAttr(true);
  case LayerSelection::Kind::Counts:
    return getCounts(builder, selection.counts);
  case LayerSelection::Kind::Table:
    break;
  }
  llvm::SmallVector<Attribute> rows;
  for (const LayerCountRow &row : selection.table)
    rows.push_back(row.whole ? Attribute(builder.getBoolAttr(*row.whole))
                             : getCounts(builder, row.counts));
  return builder.getArrayAttr(rows);
}

static Attribute getLocationAttr(MLIRContext *context,
                                 const Location &location) {
  if (!location.isKnown())
    return {};
  return passes::getLocation(context, location);
}

static Attribute getSetting(Builder &builder, const LayerSetting &setting) {
  if (setting.kind == LayerSetting::Kind::Selection)
    return getSelection(builder, setting.selection);
  llvm::SmallVector<Attribute> patterns;
  for (const LayerSetting::Pattern &pattern : setting.patterns)
    patterns.push_back(PatternAttr::get(
        builder.getContext(), builder.getStringAttr(pattern.text),
        getSelection(builder, pattern.layers),
        getLocationAttr(builder.getContext(), pattern.location)));
  return builder.getArrayAttr(patterns);
}

static LayerCount toCount(Attribute attribute) {
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return LayerCount::fromBool(flag.getValue());
  return LayerCount::fromInt(cast<IntegerAttr>(attribute).getInt());
}

static LayerSelection toSelection(Attribute attribute) {
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return LayerSelection::fromBool(flag.getValue());
  auto items = cast<ArrayAttr>(attribute);
  LayerSelection selection;
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

static Location toLocation(Attribute attribute) {
  Location location;
  if (auto file = dyn_cast_or_null<mlir::FileLineColLoc>(attribute)) {
    location.file = file.getFilename().str();
    location.line = file.getLine();
    location.column = file.getColumn();
  }
  return location;
}

static LayerSetting toSetting(Attribute attribute) {
  LayerSetting setting;
  auto items = dyn_cast<ArrayAttr>(attribute);
  if (!items || items.empty() || !isa<PatternAttr>(items[0])) {
    setting.selection = toSelection(attribute);
    return setting;
  }
  setting.kind = LayerSetting::Kind::PatternMap;
  for (auto pattern : items.getAsRange<PatternAttr>())
    setting.patterns.push_back({pattern.getPattern().str(),
                                toSelection(pattern.getSetting()),
                                toLocation(pattern.getLocation())});
  return setting;
}

RecomputeConfig passes::getRecomputeConfig(RecomputeConfigAttr attribute) {
  RecomputeConfig config;
  config.recompute = toSetting(attribute.getRecompute());
  config.selectRecompute = toSetting(attribute.getSelect());
  config.selectCommRecompute = toSetting(attribute.getSelectComm());
  config.selectRecomputeExclude = toSetting(attribute.getSelectExclude());
  config.selectCommRecomputeExclude =
      toSetting(attribute.getSelectCommExclude());
  config.parallelOptimizerCommRecompute = attribute.getParallelOptimizerComm();
  config.mpCommRecompute = attribute.getMpComm();
  config.recomputeSliceActivation = attribute.getSliceActivation();
  return config;
}

//===----------------------------------------------------------------------===//
// Swap
//===----------------------------------------------------------------------===//

static ArrayAttr getEntries(Builder &builder,
                            llvm::ArrayRef<SwapEntry> entries) {
  llvm::SmallVector<Attribute> items;
  for (const SwapEntry &entry : entries)
    items.push_back(SwapEntryAttr::get(
        builder.getContext(), entry.prefetch,
        entry.allLayers ? Attribute(builder.getBoolAttr(true))
                        : builder.getI64ArrayAttr(entry.layers),
        getLocationAttr(builder.getContext(), entry.location)));
  return builder.getArrayAttr(items);
}

static SwapConfigAttr getSwap(Builder &builder, const SwapConfig &config) {
  ArrayAttr layerSwap, opSwap;
  if (config.layerSwap)
    layerSwap = getEntries(builder, *config.layerSwap);
  if (config.opSwap) {
    llvm::SmallVector<Attribute> items;
    for (const SwapConfig::OperatorSwap &swap : *config.opSwap)
      items.push_back(OpSwapAttr::get(
          builder.getContext(), builder.getStringAttr(swap.pattern),
          getEntries(builder, swap.entries),
          getLocationAttr(builder.getContext(), swap.location)));
    opSwap = builder.getArrayAttr(items);
  }
  return SwapConfigAttr::get(builder.getContext(), config.swap,
                             config.defaultPrefetch, layerSwap, opSwap);
}

static std::vector<SwapEntry> toEntries(ArrayAttr attribute) {
  std::vector<SwapEntry> entries;
  for (auto item : attribute.getAsRange<SwapEntryAttr>()) {
    SwapEntry &entry = entries.emplace_back();
    entry.prefetch = item.getPrefetch();
    entry.location = toLocation(item.getLocation());
    if (auto flag = dyn_cast<BoolAttr>(item.getLayers()))
      entry.allLayers = flag.getValue();
    else
      for (auto layer :
           cast<ArrayAttr>(item.getLayers()).getAsRange<IntegerAttr>())
        entry.layers.push_back(layer.getInt());
  }
  return entries;
}

SwapConfig passes::getSwapConfig(SwapConfigAttr attribute) {
  SwapConfig config;
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
// Offset
//===----------------------------------------------------------------------===//

static Attribute getOffset(Builder &builder, const StageOffset &offset) {
  if (offset.kind == StageOffset::Kind::Scalar)
    return builder.getI64IntegerAttr(offset.rows[0][0]);
  llvm::SmallVector<Attribute> rows;
  for (llvm::ArrayRef<int64_t> row : offset.rows)
    rows.push_back(builder.getI64ArrayAttr(row));
  return offset.kind == StageOffset::Kind::PerStage
             ? rows.front()
             : Attribute(builder.getArrayAttr(rows));
}

StageOffset passes::getStageOffset(ParallelAttr attribute) {
  StageOffset offset;
  Attribute value = attribute.getOffset();
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

std::optional<StageMap> passes::createStageMap(ModelOp model,
                                               DiagnosticList &diagnostics) {
  ParallelAttr parallel = model.getTrainingAttr().getParallel();
  StageMapOptions options;
  options.numLayers = model.getNumBodyLayers();
  options.pipelineStages = parallel.getStages();
  options.interleave = parallel.getInterleave();
  options.microBatchNum = parallel.getMicroBatches();
  options.offset = getStageOffset(parallel);
  if (!checkLayerCount(options, diagnostics))
    return std::nullopt;
  return StageMap::create(options, diagnostics);
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

static LrScheduleAttr getLrSchedule(Builder &builder,
                                    const LrScheduleConfig &schedule) {
  llvm::SmallVector<mlir::NamedAttribute> parameters;
  auto number = [&](llvm::StringRef name, double value) {
    parameters.push_back(
        builder.getNamedAttr(name, builder.getF64FloatAttr(value)));
  };
  auto integer = [&](llvm::StringRef name, int64_t value) {
    parameters.push_back(
        builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  };
  number("learning_rate", schedule.learningRate);
  number("lr_end", schedule.lrEnd);
  number("warmup_lr_init", schedule.warmupLrInit);
  if (schedule.warmupSteps)
    integer("warmup_steps", *schedule.warmupSteps);
  if (schedule.warmupRatio)
    number("warmup_ratio", *schedule.warmupRatio);
  integer("total_steps", schedule.totalSteps);
  number("num_cycles", schedule.numCycles);
  number("power", schedule.power);
  if (schedule.decaySteps)
    integer("decay_steps", *schedule.decaySteps);
  if (schedule.decayRatio)
    number("decay_ratio", *schedule.decayRatio);
  parameters.push_back(builder.getNamedAttr(
      "decay_type", builder.getStringAttr(schedule.decayType)));
  return LrScheduleAttr::get(builder.getContext(),
                             builder.getStringAttr(schedule.type),
                             builder.getDictionaryAttr(parameters));
}

static RecomputeConfigAttr getRecompute(Builder &builder,
                                        const RecomputeConfig &config) {
  return RecomputeConfigAttr::get(
      builder.getContext(), getSetting(builder, config.recompute),
      getSetting(builder, config.selectRecompute),
      getSetting(builder, config.selectCommRecompute),
      getSetting(builder, config.selectRecomputeExclude),
      getSetting(builder, config.selectCommRecomputeExclude),
      config.parallelOptimizerCommRecompute, config.mpCommRecompute,
      config.recomputeSliceActivation);
}

TrainingAttr passes::getTrainingAttr(MLIRContext *context,
                                     const TrainingConfig &config,
                                     const StageMapOptions &options,
                                     const EffectiveBatch &batch) {
  Builder builder(context);
  auto parallel = ParallelAttr::get(context, options.pipelineStages,
                                    options.interleave, batch.getMicroBatches(),
                                    getOffset(builder, options.offset));
  const OptimizerConfig &source = config.optimizer;
  auto optimizer = OptimizerAttr::get(
      context, builder.getStringAttr(source.type), llvm::APFloat(source.beta1),
      llvm::APFloat(source.beta2), llvm::APFloat(source.eps),
      llvm::APFloat(source.weightDecay), source.kind == OptimizerKind::AdamW);
  ClippingAttr clipping;
  if (batch.useClipGrad)
    clipping =
        ClippingAttr::get(context, llvm::APFloat(config.wrapper.maxGradNorm));
  return TrainingAttr::get(
      context, parallel, getRecompute(builder, config.recompute),
      getSwap(builder, config.swap), optimizer,
      getLrSchedule(builder, config.lrSchedule), clipping,
      llvm::APFloat(config.wrapper.scaleSense.value),
      config.context.hasMaxDeviceMemory ? config.context.maxDeviceMemory : 0);
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

mlir::Location passes::getLocation(MLIRContext *context,
                                   const Location &location) {
  if (location.file.empty())
    return mlir::UnknownLoc::get(context);
  return mlir::FileLineColLoc::get(context, location.file, location.line,
                                   location.column);
}

bool passes::emitDiagnostics(mlir::Location fallback,
                             const DiagnosticList &list) {
  MLIRContext *context = fallback.getContext();
  auto place = [&](const Location &location) {
    return location.file.empty() ? fallback : getLocation(context, location);
  };
  for (const Diagnostic &diagnostic : list.getAll()) {
    mlir::Location where = place(diagnostic.location);
    mlir::InFlightDiagnostic emitted = diagnostic.severity == Severity::Error
                                           ? mlir::emitError(where)
                                           : mlir::emitWarning(where);
    emitted << diagnostic.message;
    for (const Diagnostic::Note &note : diagnostic.notes)
      emitted.attachNote(place(note.location)) << note.message;
  }
  return !list.hasErrors();
}
