//===- ConfigAttributes.cpp - Attributes of the configuration -------------===//

#include "passes/config/ConfigAttributes.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/PipelineRules.h"
#include "passes/config/SettingAttributes.h"

using namespace mf;
using namespace mf::ir;
using mlir::ArrayAttr;
using mlir::Attribute;
using mlir::Builder;
using mlir::MLIRContext;

//===----------------------------------------------------------------------===//
// Fusions
//===----------------------------------------------------------------------===//

static FusionsAttr toFusions(MLIRContext *context, const FusionConfig &config) {
  return FusionsAttr::get(context, config.rotary.isOn, config.swiglu.isOn,
                          config.groupMatmuls.isOn, config.permuteTokens.isOn,
                          config.route.isOn);
}

FusionConfig passes::getFusionConfig(TrainingAttr training) {
  FusionsAttr fusions = training.getFusions();
  if (!fusions)
    fusions = toFusions(training.getContext(), FusionConfig());
  FusionConfig config;
  config.rotary.isOn = fusions.getRotary();
  config.swiglu.isOn = fusions.getSwiglu();
  config.groupMatmuls.isOn = fusions.getGroupMatmuls();
  config.permuteTokens.isOn = fusions.getPermuteTokens();
  config.route.isOn = fusions.getRoute();
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
// The training attribute
//===----------------------------------------------------------------------===//

/// Returns the value as an attribute; null if the YAML does not have it.
static Attribute getNumber(Builder &builder, const KnownKey &key,
                           const TrainingConfig &config) {
  if (const auto *number = key.getValue<double>(config))
    return builder.getF64FloatAttr(*number);
  if (const auto *number = key.getValue<int64_t>(config))
    return builder.getI64IntegerAttr(*number);
  if (const auto *number = key.getValue<std::optional<double>>(config))
    return *number ? builder.getF64FloatAttr(**number) : Attribute();
  if (const auto *number = key.getValue<std::optional<int64_t>>(config))
    return *number ? builder.getI64IntegerAttr(**number) : Attribute();
  return {};
}

/// Returns the keys that the YAML has. The schedule itself defines the
/// defaults.
static mlir::NamedAttrList getRateParameters(Builder &builder,
                                             const TrainingConfig &config) {
  mlir::NamedAttrList parameters;
  for (const KnownKey &key : lrScheduleSection.keys)
    if (Attribute number = getNumber(builder, key, config))
      parameters.set(key.name, number);
  if (int64_t steps = config.lrSchedule.lateSteps)
    parameters.set("late_steps", builder.getI64IntegerAttr(steps));
  return parameters;
}

static LrScheduleAttr getLrSchedule(Builder &builder,
                                    const TrainingConfig &config) {
  mlir::NamedAttrList parameters = getRateParameters(builder, config);
  llvm::SmallVector<Attribute> groups;
  for (const LrGroup &group : config.lrGroups) {
    // The records of keys refer to members of a whole configuration.
    TrainingConfig own;
    own.lrSchedule = group.schedule;
    mlir::NamedAttrList keys = getRateParameters(builder, own);
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
    if (Attribute place = passes::toPlace(builder.getContext(), location))
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

/// Returns the keys of the optimizer that only matter if several ranks have
/// copies.
static OptimizerShardAttr getOptimizerShard(MLIRContext *context,
                                            const ParallelConfig &config,
                                            bool hasReplicas) {
  if (!config.enableParallelOptimizer || !hasReplicas)
    return {};
  return OptimizerShardAttr::get(context, config.optimizerLevel,
                                 config.parallelOptimizerThreshold,
                                 config.optimizerWeightShardSize);
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
  return ParallelAttr::getChecked(
      emitError, context, options.pipelineStages, options.interleave,
      batch.getPasses(), passes::toAttribute(builder, options.offset),
      parallel.gradientAggregationGroup, schedule, parallel.seqSplitNum,
      ranks.sequenceParallel, algorithm,
      getOptimizerShard(context, parallel, hasReplicas),
      parallel.gradientsMean && hasReplicas,
      !sharesSamples || (parallel.fullBatch && parallel.isSemiOrAuto()),
      rowBlocks, batch.microBatchInterleaveNum);
}

/// Returns null if all switches have their default values.
static FusionsAttr getFusions(MLIRContext *context,
                              const FusionConfig &fusions) {
  FusionsAttr result = toFusions(context, fusions);
  return result == toFusions(context, FusionConfig()) ? FusionsAttr() : result;
}

static MuonAttr getMuon(Builder &builder, const MuonConfig &config) {
  auto getNumbers = [&](llvm::ArrayRef<double> numbers) {
    return builder.getF64ArrayAttr(numbers);
  };
  llvm::SmallVector<Attribute> coefficients;
  for (const auto &step : config.coefficients)
    coefficients.push_back(getNumbers(step));
  return MuonAttr::get(
      builder.getContext(), llvm::APFloat(config.momentum), config.nesterov,
      llvm::APFloat(config.matchedAdamWRms), llvm::APFloat(config.eps),
      builder.getArrayAttr(coefficients),
      passes::toAttribute(builder, config.adamwInclude), config.spreadsWeights,
      config.logitThreshold ? builder.getF64FloatAttr(*config.logitThreshold)
                            : mlir::FloatAttr());
}

static CameAttr getCame(MLIRContext *context, const CameConfig &config) {
  return CameAttr::get(
      context, llvm::APFloat(config.eps), llvm::APFloat(config.instabilityEps),
      llvm::APFloat(config.clipThreshold), llvm::APFloat(config.decayRate),
      llvm::APFloat(config.beta3));
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
  WeightAverageAttr average;
  if (source.average)
    average = WeightAverageAttr::get(
        context, source.average->interleaveStep, source.average->fusedNum,
        llvm::APFloat(source.average->emaAlpha), source.average->sums);
  auto getPatterns = [&](const std::vector<std::string> &patterns) {
    return patterns.empty() ? ArrayAttr() : toAttribute(builder, patterns);
  };
  auto optimizer = OptimizerAttr::get(
      context, builder.getStringAttr(source.type), llvm::APFloat(source.beta1),
      llvm::APFloat(source.beta2), llvm::APFloat(source.eps),
      llvm::APFloat(source.weightDecay), source.correctsBias(), average,
      source.muon ? getMuon(builder, *source.muon) : MuonAttr(),
      source.correctsEps(),
      source.came ? getCame(context, *source.came) : CameAttr(),
      getPatterns(source.decayInclude), getPatterns(source.decayExclude));
  ClippingAttr clipping;
  if (batch.useClipGrad)
    clipping =
        ClippingAttr::get(context, llvm::APFloat(config.wrapper.maxGradNorm));
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
  const LossScaleConfig &scale = config.wrapper.scaleSense;
  LossScaleUpdateAttr scaleUpdate;
  if (scale.followsOverflows())
    scaleUpdate = LossScaleUpdateAttr::get(context, scale.factor, scale.window);
  return TrainingAttr::get(
      context, parallel, toAttribute(builder, config.recompute),
      toAttribute(builder, config.swap), optimizer,
      getLrSchedule(builder, config), clipping, llvm::APFloat(scale.value),
      scaleUpdate,
      config.context.hasMaxDeviceMemory ? config.context.maxDeviceMemory : 0,
      balance, dropRate, getFusions(context, fusions),
      config.context.graphKernelFusion, config.chunkLossNum,
      getLocations(builder, config, options, fusions));
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
