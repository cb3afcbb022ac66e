//===- ConfigAttributes.cpp - Attributes of the configuration -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/config/ConfigAttributes.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/PipelineSchedulers.h"

using namespace mf;
using namespace mf::ir;
using mlir::ArrayAttr;
using mlir::Attribute;
using mlir::Builder;
using mlir::MLIRContext;

//===----------------------------------------------------------------------===//
// The training attribute
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

/// Returns the keys that the YAML has. The schedule itself defines the
/// defaults.
static mlir::NamedAttrList getRateParameters(MLIRContext *context,
                                             LrScheduleConfig config) {
  Builder builder(context);
  mlir::NamedAttrList parameters;
  for (const KnownKey &key : lrScheduleSection.keys) {
    auto add = [&](auto member) {
      using Member = decltype(member);
      if constexpr (std::is_same_v<Member, std::optional<int64_t> *>) {
        if (*member)
          parameters.set(key.name, builder.getI64IntegerAttr(**member));
      } else if constexpr (std::is_same_v<Member, std::optional<double> *>) {
        if (*member)
          parameters.set(key.name, builder.getF64FloatAttr(**member));
      } else if constexpr (std::is_same_v<Member, int64_t *>) {
        parameters.set(key.name, builder.getI64IntegerAttr(*member));
      } else if constexpr (std::is_same_v<Member, double *>) {
        parameters.set(key.name, builder.getF64FloatAttr(*member));
      }
    };
    if (key.member)
      std::visit(add, key.member(&config));
  }
  if (config.lateSteps != 0)
    parameters.set("late_steps", builder.getI64IntegerAttr(config.lateSteps));
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
  auto add = [&](llvm::StringRef key, const mf::Location &location) {
    if (location.isKnown())
      locations.push_back(builder.getNamedAttr(
          key, passes::getLocation(builder.getContext(), location)));
  };
  add(keys::offset.getName(), options.offset.location);
  for (const KnownSection *section : getKnownSections())
    for (const KnownKey &key : section->keys)
      if (key.hasPlace)
        add(key.name, section->getNode(config.root)[key.name].getLocation());
  add(known::nameOf(&ParallelConfig::pipelineStage), options.location);
  add(keys::rowBlocks.getName(),
      keys::rowBlocks.find(config.model.config).getLocation());
  for (const FusionKeys &keys : getFusionKeys())
    if (const FusionSwitch &fusion = fusions.*keys.fusion;
        fusion.location.isKnown())
      locations.push_back(builder.getNamedAttr(
          keys.name,
          mlir::NameLoc::get(
              builder.getStringAttr(fusion.key),
              passes::getLocation(builder.getContext(), fusion.location))));
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
    shard = OptimizerShardAttr::get(context, parallel.optimizerShard.level,
                                    parallel.optimizerShard.threshold,
                                    parallel.optimizerShard.weightShardSize);
  return ParallelAttr::getChecked(
      emitError, context, options.pipelineStages, options.interleave,
      batch.getPasses(), toAttribute(builder, options.offset),
      parallel.gradientAggregationGroup, schedule, parallel.seqSplitNum,
      ranks.sequenceParallel, algorithm, shard,
      parallel.gradientsMean && hasReplicas,
      !sharesSamples || (parallel.fullBatch && parallel.isSemiOrAuto()),
      rowBlocks, batch.microBatchInterleaveNum,
      config.recompute.parallelOptimizerCommRecompute);
}

static ArrayAttr getTexts(Builder &builder,
                          const std::vector<std::string> &texts) {
  llvm::SmallVector<llvm::StringRef> names(texts.begin(), texts.end());
  return names.empty() ? ArrayAttr() : builder.getStrArrayAttr(names);
}

static MuonAttr getMuon(Builder &builder, const MuonConfig &muon) {
  llvm::SmallVector<Attribute> coefficients;
  for (const std::array<double, 3> &step : muon.coefficients)
    coefficients.push_back(builder.getF64ArrayAttr(step));
  return MuonAttr::get(
      builder.getContext(), llvm::APFloat(muon.momentum), muon.nesterov,
      llvm::APFloat(muon.matchedAdamWRms), llvm::APFloat(muon.eps),
      builder.getArrayAttr(coefficients), getTexts(builder, muon.adamwInclude),
      muon.spreadsWeights,
      muon.logitThreshold ? builder.getF64FloatAttr(*muon.logitThreshold)
                          : mlir::FloatAttr());
}

static OptimizerAttr getOptimizer(Builder &builder,
                                  const OptimizerConfig &config) {
  MLIRContext *context = builder.getContext();
  WeightAverageAttr average;
  if (const auto &from = config.average)
    average =
        WeightAverageAttr::get(context, from->interleaveStep, from->fusedNum,
                               llvm::APFloat(from->emaAlpha), from->sums);
  CameAttr came;
  if (const auto &from = config.came)
    came = CameAttr::get(
        context, llvm::APFloat(from->eps), llvm::APFloat(from->instabilityEps),
        llvm::APFloat(from->clipThreshold), llvm::APFloat(from->decayRate),
        llvm::APFloat(from->beta3));
  return OptimizerAttr::get(
      context, builder.getStringAttr(config.type), llvm::APFloat(config.beta1),
      llvm::APFloat(config.beta2), llvm::APFloat(config.eps),
      llvm::APFloat(config.weightDecay), config.correctsBias(), average,
      config.muon ? getMuon(builder, *config.muon) : MuonAttr(),
      config.correctsEps(), came, getTexts(builder, config.decayInclude),
      getTexts(builder, config.decayExclude));
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
  ClippingAttr clipping;
  if (batch.useClipGrad)
    clipping = ClippingAttr::get(
        context, llvm::APFloat(config.wrapper.clipping.maxNorm));
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
  FusionsAttr fused =
      FusionsAttr::get(context, fusions.rotary.isOn, fusions.swiglu.isOn,
                       fusions.groupMatmuls.isOn, fusions.permuteTokens.isOn,
                       fusions.route.isOn, fusions.hyperConnections.isOn);
  if (fused == FusionsAttr::get(context))
    fused = {};
  const LossScaleConfig &scale = config.wrapper.scaleSense;
  LossScaleUpdateAttr scaleUpdate;
  if (scale.followsOverflows())
    scaleUpdate = LossScaleUpdateAttr::get(context, scale.update.factor,
                                           scale.update.window);
  return TrainingAttr::get(
      context, parallel, getOptimizer(builder, config.optimizer),
      getLrSchedule(builder, config), clipping, llvm::APFloat(scale.value),
      scaleUpdate,
      config.context.hasMaxDeviceMemory ? config.context.maxDeviceMemory : 0,
      balance, dropRate, fused, config.context.graphKernelFusion,
      config.chunkLossNum, config.recompute.isOfDynamicGraph,
      getLocations(builder, config, options, fusions));
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

mlir::Location passes::getLocation(MLIRContext *context,
                                   const mf::Location &location) {
  if (location.file.empty())
    return mlir::UnknownLoc::get(context);
  return mlir::FileLineColLoc::get(context, location.file, location.line,
                                   location.column);
}

bool passes::emitDiagnostics(mlir::Location fallback,
                             const DiagnosticList &list) {
  MLIRContext *context = fallback.getContext();
  auto place = [&](const mf::Location &location) {
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
