//===- ConfigAttributes.cpp - Attributes of the configuration -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/config/ConfigAttributes.h"
#include "dialects/mf/SettingForms.h"
#include "dialects/mf/SettingsKeys.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/PipelineRules.h"

using namespace mf;
using namespace mf::ir;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using mlir::ArrayAttr;
using mlir::Attribute;
using mlir::Builder;
using mlir::IntegerAttr;
using mlir::MLIRContext;

//===----------------------------------------------------------------------===//
// Settings and their places
//===----------------------------------------------------------------------===//

mf::Location passes::getKeyLocation(TrainingAttr training,
                                    llvm::StringRef key) {
  mlir::DictionaryAttr locations = training.getLocations();
  return fromPlace(locations ? locations.get(key) : Attribute());
}

RecomputeConfig passes::getRecomputeConfig(TrainingAttr training) {
  RecomputeConfig config = training.getRecompute().getConfig();
  for (const KnownKey *key : getMembers(&partId<RecomputeConfig>)) {
    const KeyField member = key->member(&config);
    if (auto *const *setting = std::get_if<LayerSetting *>(&member)) {
      (*setting)->location = getKeyLocation(training, key->name);
      if ((*setting)->kind == LayerSetting::Kind::Selection)
        (*setting)->selection.location = (*setting)->location;
    }
  }
  return config;
}

SwapConfig passes::getSwapConfig(TrainingAttr training) {
  SwapConfig config = training.getSwap().getConfig();
  config.location = getKeyLocation(training, "swap");
  config.prefetchLocation = getKeyLocation(training, "default_prefetch");
  return config;
}

//===----------------------------------------------------------------------===//
// Fusions
//===----------------------------------------------------------------------===//

FusionConfig passes::getFusionConfig(TrainingAttr training) {
  FusionsAttr fusions = training.getFusions();
  FusionConfig config = fusions ? fusions.getConfig() : FusionConfig();
  for (const FusionKeys &keys : getFusionKeys())
    for (llvm::StringRef key : keys.getAll())
      if (Location place = getKeyLocation(training, key); place.isKnown()) {
        FusionSwitch &fusion = config.*keys.fusion;
        fusion.key = key;
        fusion.location = place;
      }
  return config;
}

//===----------------------------------------------------------------------===//
// The offset
//===----------------------------------------------------------------------===//

static Attribute toAttribute(Builder &builder, const StageOffset &offset) {
  if (offset.kind == StageOffset::Kind::Scalar)
    return builder.getI64IntegerAttr(offset.rows[0][0]);
  llvm::SmallVector<Attribute> rows;
  for (llvm::ArrayRef<int64_t> row : offset.rows)
    rows.push_back(builder.getI64ArrayAttr(row));
  return offset.kind == StageOffset::Kind::PerStage
             ? rows.front()
             : Attribute(builder.getArrayAttr(rows));
}

static void setOffset(Attribute parameter, StageOffset &offset) {
  if (!parameter)
    return;
  if (auto number = dyn_cast<IntegerAttr>(parameter)) {
    offset.rows = {{number.getInt()}};
    return;
  }
  auto items = cast<ArrayAttr>(parameter);
  offset.rows.clear();
  offset.kind = StageOffset::Kind::PerStage;
  if (items.empty() || !isa<ArrayAttr>(items[0])) {
    offset.rows.push_back(getNumbers(items));
    return;
  }
  offset.kind = StageOffset::Kind::PerMiniStage;
  for (Attribute row : items)
    offset.rows.push_back(getNumbers(row));
}

StageOffset passes::getStageOffset(TrainingAttr training) {
  StageOffset offset;
  setOffset(training.getParallel().getOffset(), offset);
  offset.location = getKeyLocation(training, "offset");
  return offset;
}

//===----------------------------------------------------------------------===//
// The training attribute
//===----------------------------------------------------------------------===//

/// Returns the keys that the YAML has. The schedule itself defines the
/// defaults.
static mlir::NamedAttrList getRateParameters(MLIRContext *context,
                                             const LrScheduleConfig &config) {
  mlir::NamedAttrList parameters(toKeys(context, config));
  parameters.erase("type");
  if (config.lateSteps != 0)
    parameters.set("late_steps",
                   Builder(context).getI64IntegerAttr(config.lateSteps));
  return parameters;
}

static LrScheduleAttr getLrSchedule(Builder &builder,
                                    const TrainingConfig &config) {
  mlir::NamedAttrList parameters =
      getRateParameters(builder.getContext(), config.lrSchedule);
  llvm::SmallVector<Attribute> groups;
  for (const LrGroup &group : config.lrGroups) {
    mlir::NamedAttrList keys =
        getRateParameters(builder.getContext(), group.schedule);
    keys.set("type", builder.getStringAttr(group.schedule.type));
    llvm::SmallVector<llvm::StringRef> patterns;
    for (const Node &pattern : group.patterns)
      patterns.push_back(pattern.getText());
    keys.set("params", builder.getStrArrayAttr(patterns));
    groups.push_back(keys.getDictionary(builder.getContext()));
  }
  if (!groups.empty())
    parameters.set("groups", builder.getArrayAttr(groups));
  return LrScheduleAttr::get(builder.getContext(),
                             builder.getStringAttr(config.lrSchedule.type),
                             parameters.getDictionary(builder.getContext()));
}

/// Returns the places of settings that have no attribute with a place.
static mlir::DictionaryAttr getLocations(Builder &builder,
                                         const TrainingConfig &config,
                                         const StageMapOptions &options,
                                         const FusionConfig &fusions) {
  llvm::SmallVector<mlir::NamedAttribute> locations;
  auto add = [&](llvm::StringRef key, const Location &location) {
    if (Attribute place = toPlace(builder.getContext(), location))
      locations.push_back(builder.getNamedAttr(key, place));
  };
  add("offset", options.offset.location);
  for (const KnownSection *section : getKnownSections())
    for (const KnownKey &key : section->keys)
      if (key.hasPlace)
        add(key.name, section->getNode(config.root)[key.name].getLocation());
  add("pipeline_stage", options.location);
  add("fine_grain_interleave",
      config.model.config["fine_grain_interleave"].getLocation());
  for (const FusionKeys &keys : getFusionKeys())
    if (const FusionSwitch &fusion = fusions.*keys.fusion; !fusion.key.empty())
      add(fusion.key, fusion.location);
  if (locations.empty())
    return {};
  return builder.getDictionaryAttr(locations);
}

static ParallelAttr getParallel(passes::EmitError emitError, Builder &builder,
                                const TrainingConfig &config,
                                const StageMapOptions &options,
                                const EffectiveBatch &batch,
                                const RankLayout &ranks, int64_t rowBlocks,
                                llvm::StringRef schedule, bool hasReplicas) {
  const ParallelConfig &parallel = config.parallel;
  MLIRContext *context = builder.getContext();
  mlir::StringAttr algorithm;
  if (ranks.contextParallel > 1)
    algorithm = builder.getStringAttr(
        ranks.headParallel == ranks.contextParallel ? "ulysses_cp"
        : ranks.headParallel == 1                   ? "colossalai_cp"
                                                    : "hybrid_cp");
  bool sharesSamples = ranks.dataParallel > 1;
  OptimizerShardAttr shard;
  if (parallel.enableParallelOptimizer && hasReplicas)
    shard = OptimizerShardAttr::get(context, parallel.optimizerShard);
  return ParallelAttr::getChecked(
      emitError, context, options.pipelineStages, options.interleave,
      batch.getPasses(), toAttribute(builder, options.offset),
      parallel.gradientAggregationGroup, schedule, parallel.seqSplitNum,
      ranks.sequenceParallel, algorithm, shard,
      parallel.gradientsMean && hasReplicas,
      !sharesSamples || (parallel.fullBatch && parallel.isSemiOrAuto()),
      rowBlocks, batch.microBatchInterleaveNum);
}

/// Returns the attribute of a part of the configuration, or null if there is no
/// such part.
template <typename Attr, typename Part>
static Attr getSettings(MLIRContext *context, const std::optional<Part> &part) {
  return part ? Attr::get(context, *part) : Attr();
}

TrainingAttr passes::getTrainingAttr(
    EmitError emitError, MLIRContext *context, const TrainingConfig &config,
    const StageMapOptions &options, const EffectiveBatch &batch,
    const RankLayout &ranks, int64_t rowBlocks, const FusionConfig &fusions,
    llvm::StringRef schedule, bool hasReplicas) {
  Builder builder(context);
  ParallelAttr parallel =
      getParallel(emitError, builder, config, options, batch, ranks, rowBlocks,
                  schedule, hasReplicas);
  if (!parallel)
    return {};
  const OptimizerConfig &source = config.optimizer;
  auto getPatterns = [&](const std::vector<std::string> &patterns) {
    llvm::SmallVector<llvm::StringRef> texts(patterns.begin(), patterns.end());
    return texts.empty() ? ArrayAttr() : builder.getStrArrayAttr(texts);
  };
  auto optimizer = OptimizerAttr::get(
      context, builder.getStringAttr(source.type), llvm::APFloat(source.beta1),
      llvm::APFloat(source.beta2), llvm::APFloat(source.eps),
      llvm::APFloat(source.weightDecay), source.correctsBias(),
      getSettings<WeightAverageAttr>(context, source.average),
      getSettings<MuonAttr>(context, source.muon), source.correctsEps(),
      getSettings<CameAttr>(context, source.came),
      getPatterns(source.decayInclude), getPatterns(source.decayExclude));
  ClippingAttr clipping;
  if (batch.useClipGrad)
    clipping = ClippingAttr::get(context, config.wrapper.clipping);
  ExpertBalanceAttr balance;
  if (const auto &callback = config.callbacks.balance)
    balance = ExpertBalanceAttr::get(context, llvm::APFloat(callback->rate),
                                     llvm::APFloat(callback->getTarget()));
  DropRateAttr dropRate;
  if (const auto &callback = config.callbacks.dropRate)
    dropRate = DropRateAttr::get(
        context,
        llvm::APFloat(callback->capacityFactor /
                      static_cast<double>(callback->expertNum)),
        callback->numLayers);
  // A module whose fusions all have their defaults has no attribute.
  FusionsAttr fused = FusionsAttr::get(context, fusions);
  if (fused.getKeys().empty())
    fused = {};
  const LossScaleConfig &scale = config.wrapper.scaleSense;
  LossScaleUpdateAttr scaleUpdate;
  if (scale.followsOverflows())
    scaleUpdate = LossScaleUpdateAttr::get(context, scale.update);
  return TrainingAttr::get(
      context, parallel, RecomputeConfigAttr::get(context, config.recompute),
      SwapConfigAttr::get(context, config.swap), optimizer,
      getLrSchedule(builder, config), clipping, llvm::APFloat(scale.value),
      scaleUpdate,
      config.context.hasMaxDeviceMemory ? config.context.maxDeviceMemory : 0,
      balance, dropRate, fused, config.context.graphKernelFusion,
      config.chunkLossNum, getLocations(builder, config, options, fusions));
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
      emitted.attachNote(note.location.file.empty() ? where
                                                    : place(note.location))
          << note.message;
  }
  return !list.hasErrors();
}
