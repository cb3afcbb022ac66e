//===- ReadConfig.cpp - Reads a training YAML into a typed attribute ------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/config/ReadConfig.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/PipelineSchedulers.h"
#include "mf/Frontend/Families/Family.h"
#include "mf/Pipeline/Policy.h"
#include "mf/Support/NearestName.h"
#include "mlir/IR/Remarks.h"
#include "passes/PrintedPlan.h"
#include "passes/config/ConfigAttributes.h"
#include "passes/config/ExpertAxes.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::passes {
#define GEN_PASS_DEF_READCONFIG
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;

namespace {

/// Emits one warning per key, at its value.
class Requests {
public:
  explicit Requests(DiagnosticList &diagnostics) : diagnostics(diagnostics) {}

  /// Warns if `isAsked` is true and the YAML itself has the key. `instead` is
  /// the program's behaviour. `sectionName` distinguishes keys of the same
  /// name.
  void add(bool isAsked, const Node &section, llvm::StringRef key,
           const llvm::Twine &instead, llvm::StringRef sectionName = "") {
    Node value = section[key];
    if (!isAsked || !value)
      return;
    // The message need not contain the value of a flag.
    bool isPlain = value.isMap() || value.getBool().value_or(false);
    diagnostics.warning(value.getLocation(),
                        sectionName + key +
                            (isPlain ? "" : " " + value.repr(60)) +
                            " is not lowered; " + instead);
  }

private:
  DiagnosticList &diagnostics;
};

} // namespace

/// Returns whether every rank is a replica and the launcher defines their
/// number.
static bool isDataParallelMode(const ParallelConfig &config) {
  return config.parallelMode == ParallelMode::DataParallel ||
         config.parallelMode == ParallelMode::Hybrid;
}

/// Checks the keys that distribute a step over ranks.
static void checkRanks(const ParallelConfig &config, const RankLayout &ranks,
                       bool hasExperts, Requests &requests,
                       DiagnosticList &diagnostics) {
  const llvm::StringRef key = known::parallelMode.name;
  const llvm::StringRef layout = parallelConfigSection.name;
  Node mode = config.parallelNode[key];
  if (isDataParallelMode(config) && ranks.dataParallel > 1)
    diagnostics.warning(mode.getLocation(),
                        key + " " + mode.repr(60) +
                            " is lowered as semi-auto parallel with " +
                            known::nameOf(&ParallelConfig::dataParallel) + " " +
                            llvm::Twine(ranks.dataParallel) +
                            ": the loss is the mean over the tokens of all "
                            "replicas, not the mean of the replicas' means");
  else
    requests.add(isDataParallelMode(config), config.parallelNode, key,
                 layout + " does not say how many replicas there are, and the "
                          "program trains one");
  bool isAlone = config.parallelMode == ParallelMode::StandAlone;
  if (int64_t devices = config.getDeviceCount();
      isAlone && devices > 1 && config.useParallelNode)
    diagnostics.warning(
        config.useParallelNode.getLocation(),
        known::useParallel.name + " " + config.useParallelNode.repr(60) +
            " trains on one device, not on the " + llvm::Twine(devices) +
            " of " + layout + "; set it to True if the launcher does");
  requests.add(config.expertParallel > 1 && !hasExperts, config.node,
               known::nameOf(&ParallelConfig::expertParallel),
               "a dense model has no experts to distribute");
}

/// Checks the keys for parts of the pipeline and for pieces of the sequence.
static void checkPipeline(const TrainingConfig &config, const RankLayout &ranks,
                          int64_t rowBlocks, bool hasExperts,
                          DiagnosticList &diagnostics) {
  const ParallelConfig &parallel = config.parallel;
  for (const ModelKey *key : {&keys::stageNum, &keys::startStage}) {
    Node value = key->find(config.model.config);
    if (value.getInt().value_or(0) != 0)
      diagnostics.error(value.getLocation(),
                        "a part of a pipeline (" + quote(key->getName()) +
                            ") is not lowered; expected the whole model");
  }
  if (parallel.seqSplitNum == 1)
    return;
  const llvm::StringRef pieces = known::nameOf(&ParallelConfig::seqSplitNum);
  const mf::Location place = parallel.node[pieces].getLocation();
  // Each of these keys cuts a layer's input in its own way.
  auto excludeWithPieces = [&](llvm::StringRef key, int64_t value) {
    if (value > 1)
      diagnostics.error(place, pieces + " " +
                                   llvm::Twine(parallel.seqSplitNum) +
                                   " with " + key + " " + llvm::Twine(value) +
                                   " is not lowered; set either to 1");
  };
  excludeWithPieces(known::nameOf(&ParallelConfig::contextParallel),
                    ranks.contextParallel);
  excludeWithPieces(known::microBatchInterleaveNum.name,
                    parallel.microBatchInterleaveNum);
  excludeWithPieces(keys::rowBlocks.getName(), rowBlocks);
  if ((hasExperts || config.moe.expertNum > 1) && config.moe.useGmm)
    diagnostics.error(place, pieces + " " + llvm::Twine(parallel.seqSplitNum) +
                                 " with " + known::expert::useGmm.name +
                                 " is not lowered; set it to 1");
}

/// Checks keys that enable features that the program does not have.
static void checkStep(const TrainingConfig &config, Requests &requests) {
  const RunnerWrapper &wrapper = config.wrapper;
  Node threshold =
      known::find(wrapper, &RunnerWrapper::globalNormSpikeThreshold);
  requests.add(wrapper.useSkipDataByGlobalNorm, wrapper.node,
               known::nameOf(&RunnerWrapper::useSkipDataByGlobalNorm),
               "no step is skipped for a norm above " +
                   (threshold ? threshold.repr(60) : std::string("1.0")));
  for (const KnownSection *section : getKnownSections())
    for (const KnownKey &key : section->keys)
      if (!key.instead.empty())
        requests.add(*key.getValue<bool>(config), section->getNode(config.root),
                     key.name, key.instead,
                     // Other sections have a key of this name too.
                     section == &optimizerSection
                         ? (optimizerSection.name + ".").str()
                         : "");
}

/// There is always a schedule, because MindSpore Transformers has a default for
/// the whole section.
static void checkLearningRate(const TrainingConfig &config,
                              DiagnosticList &diagnostics) {
  const llvm::StringRef key = known::nameOf(&OptimizerConfig::learningRate);
  Node rate = config.optimizer.node[key];
  if (!rate || config.optimizer.learningRate == config.lrSchedule.learningRate)
    return;
  const bool hasSchedule = !config.lrSchedule.node.getEntries().empty();
  diagnostics.warning(
      rate.getLocation(),
      optimizerSection.name + "." + key + " " + rate.repr(60) +
          " has no effect: " +
          (hasSchedule ? "where " + lrScheduleSection.name + " is given, its " +
                             key + " is the rate; change that"
                       : "without " + lrScheduleSection.name +
                             " the rate is that of its defaults, 5e-05; add " +
                             lrScheduleSection.name + " with the " + key +
                             " that is meant"));
}

/// Warns, once per key, about settings of `config` that the program will not
/// have, and states the program's behaviour instead. It is an error if layers
/// would be placed differently than requested. `ranks` is the distribution of a
/// layer over ranks, `rowBlocks` the number of blocks in which layers run, and
/// `hasExperts` tells whether a model has several experts.
static void checkNotLowered(const TrainingConfig &config,
                            const RankLayout &ranks, int64_t rowBlocks,
                            bool hasExperts, DiagnosticList &diagnostics) {
  Requests requests(diagnostics);
  checkRanks(config.parallel, ranks, hasExperts, requests, diagnostics);
  checkPipeline(config, ranks, rowBlocks, hasExperts, diagnostics);
  checkStep(config, requests);
  checkLearningRate(config, diagnostics);
}

namespace {

/// Reports settings that MindSpore Transformers supports but this compiler
/// cannot lower.
void checkLowerable(const TrainingConfig &config, DiagnosticList &diagnostics) {
  if (config.optimizer.kind == OptimizerKind::Unsupported)
    diagnostics.error(
        known::find(config.optimizer, &OptimizerConfig::type).getLocation(),
        "optimizer '" + config.optimizer.type +
            "' is not supported; expected AdamW, PmaAdamW, Muon, Came, "
            "FP32StateAdamWeightDecay, FusedAdamWeightDecay, AdamWeightDecayX "
            "or AdamWeightDecay");
  if (config.optimizer.came && !config.lrGroups.empty())
    diagnostics.error(
        known::find(config.optimizer, &OptimizerConfig::type).getLocation(),
        "optimizer Came takes one learning rate for all parameters; expected " +
            lrScheduleSection.name + " in place of " + groupedLrSection.name);
  std::vector<LrScheduleSection> schedules = {config.lrSchedule};
  for (const LrGroup &group : config.lrGroups)
    schedules.push_back(group.schedule);
  for (const LrScheduleSection &schedule : schedules)
    if (schedule.type.empty() || !findLrScheduleKind(schedule.type))
      diagnostics.error(
          schedule.node[known::nameOf(&LrScheduleConfig::type)].getLocation(),
          "learning rate schedule '" + schedule.type +
              "' is not supported; expected ConstantWarmUpLR, "
              "LinearWithWarmUpLR, CosineWithWarmUpLR, "
              "CosineWithRestartsAndWarmUpLR, PolynomialWithWarmUpLR, "
              "WarmUpStableDecayLR, CosineAnnealingLR or "
              "CosineAnnealingWarmRestarts");
}

/// Checks that the model's layers have the names that the YAML selects.
void checkNames(ir::ModelOp model, const TrainingConfig &config,
                DiagnosticList &diagnostics) {
  if (!config.useLegacy || !model.getFamily())
    return;
  const bool isLegacy = !isMcore(model.getFamily());
  if (*config.useLegacy != isLegacy)
    diagnostics.warning(
        config.root[known::useLegacy.name].getLocation(),
        known::useLegacy.name + " has no effect: this model has the names " +
            llvm::Twine(isLegacy ? "of the legacy layer classes"
                                 : "of the mcore training graph"));
}

/// Rejects a pattern that matches no parameter, as MindSpore Transformers does.
void checkGroups(ModuleOp module, const TrainingConfig &config,
                 DiagnosticList &diagnostics) {
  std::vector<std::string> names;
  module.walk([&](ir::ParamOp param) {
    if (!param.getUpdateRule())
      names.push_back(param.getSymName().str());
  });
  if (names.empty())
    return;
  llvm::SmallVector<llvm::StringRef> known(names.begin(), names.end());
  for (const LrGroup &group : config.lrGroups)
    for (const Node &pattern : group.patterns)
      if (llvm::none_of(known, [&](llvm::StringRef name) {
            return ir::LrScheduleAttr::matches(pattern.getText(), name);
          }))
        diagnostics.error(pattern.getLocation(),
                          "no parameter of the model has " +
                              quote(pattern.getText()) + " in its name, as " +
                              known::rateParameters.name + " of " +
                              groupedLrSection.name + " asks" +
                              suggestName(pattern.getText(), known));
}

/// Returns how many parameters of the models are statistics of this kind.
int64_t countStatistics(ModuleOp module, ir::UpdateRule rule) {
  int64_t count = 0;
  module.walk(
      [&](ir::ParamOp param) { count += param.getUpdateRule() == rule; });
  return count;
}

/// The importer marks the weights that QK-clip scales.
void checkLogitClip(ModuleOp module, const TrainingConfig &config,
                    DiagnosticList &diagnostics) {
  Node asked = config.optimizer.node[known::qkClipThreshold.name];
  if (!asked || !config.optimizer.muon ||
      !config.optimizer.muon->logitThreshold)
    return;
  bool hasParameters = false, hasClipped = false;
  module.walk([&](ir::ParamOp param) {
    hasParameters = true;
    hasClipped |= param.getLogitClip().has_value();
  });
  if (hasParameters && !hasClipped)
    diagnostics.warning(
        asked.getLocation(),
        quote(known::qkClipThreshold.name) +
            " has no effect: no weight of the model is marked for it, as those "
            "of latent attention with " +
            keys::flashAttention.getName() +
            " are in a model that is imported with this optimizer");
}

/// Resolves callbacks, which use statistics of the model. In the mcore training
/// graph the rate is the router's, and the callback only decides when it is
/// applied.
void resolveCallbacks(ModuleOp module, TrainingConfig &config,
                      DiagnosticList &diagnostics) {
  CallbackConfig &callbacks = config.callbacks;
  int64_t biases = countStatistics(module, ir::UpdateRule::Balance);
  if (callbacks.balance && biases == 0)
    diagnostics.warning(
        callbacks.balance->node.getLocation(),
        quote(balanceCallbackSection.name) +
            " has no effect: no router of the model has a bias");
  Node asked = config.root[known::callbackList.name];
  if (!asked)
    asked = config.moe.node[known::expert::hasBias.name];
  if (!callbacks.balance && biases > 0)
    diagnostics.warning(asked.getLocation(),
                        "the biases of " + llvm::Twine(biases) +
                            " routers stay as they are: there is no "
                            "'TopkBiasBalanceCallback' among the callbacks");
  if (callbacks.dropRate &&
      countStatistics(module, ir::UpdateRule::Record) == 0)
    diagnostics.warning(
        callbacks.dropRate->node.getLocation(),
        "'MoEDropRateCallback' finds nothing to log: no router keeps its load, "
        "as those of capacity with an 'expert' loss do where " +
            known::expert::recordsLoad.name + " is True");
  for (auto model : module.getOps<ir::ModelOp>())
    if (callbacks.balance && isMcore(model.getFamily())) {
      const Node rate = keys::expertBiasRate.find(config.model.config);
      callbacks.balance->rate = rate.getFloat().value_or(1e-3);
    }
}

struct ReadConfigPass : mf::passes::PrintingPass<
                            mf::passes::impl::ReadConfigBase<ReadConfigPass>> {
  using PrintingPass::PrintingPass;
  ReadConfigPass(const mf::passes::ReadConfigOptions &options,
                 std::optional<std::string> text,
                 mf::passes::LayerReportHandler handler)
      : PrintingPass(options), text(std::move(text)),
        handler(std::move(handler)) {}

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    if (file.empty()) {
      getOperation().emitError("mf-read-config needs the option file=<yaml>");
      return signalPassFailure();
    }
    if (gradientAccumulationSteps < 0) {
      getOperation().emitError(
          "expected at least 1 for gradient_accumulation_steps, or 0 for the "
          "YAML's number, but got ")
          << gradientAccumulationSteps.getValue();
      return signalPassFailure();
    }
    if (!schedule.empty())
      if (llvm::Error error = mf::schedule::findPolicy(schedule).takeError()) {
        getOperation().emitError(llvm::toString(std::move(error)));
        return signalPassFailure();
      }
    DiagnosticList diagnostics;
    TrainingConfig config = text ? parseTrainingConfig(*text, file, diagnostics)
                                 : parseTrainingConfigFile(file, diagnostics);
    if (!diagnostics.hasErrors()) {
      mf::passes::checkModelKeys(getOperation(), config, diagnostics);
      // What follows would be about another model.
      if (diagnostics.hasErrors())
        return fail(diagnostics);
    }
    // Sections of the dynamic graph become others, so that messages do not say
    // which section they are about.
    if (diagnostics.hasErrors() &&
        (!config.root.isMap() || config.isOfDynamicGraph()))
      return fail(diagnostics);
    // All errors of the YAML are reported together.
    DiagnosticList later;
    // The rules for YAMLs are then those of this schedule.
    if (!schedule.empty())
      config.parallel.pipelineScheduler = getSchedulerOf(schedule).str();
    std::optional<int64_t> accumulation;
    if (gradientAccumulationSteps > 0)
      accumulation = gradientAccumulationSteps;
    EffectiveBatch batch = resolveBatch(config, accumulation, later);
    StageMapOptions options = getStageMapOptions(config, later);
    RankLayout ranks = resolveRanks(config, later);
    int64_t rowBlocks = resolveRowBlocks(config, ranks, later);
    mf::passes::checkDeviceNum(config.parallel, ranks, later);
    checkPipelineRules(config, options, schedule, later);
    checkLowerable(config, later);
    int64_t numExperts = 1;
    bool hasMcore = false;
    for (auto model : getOperation().getOps<ir::ModelOp>()) {
      checkNames(model, config, later);
      hasMcore |= isMcore(model.getFamily());
      numExperts = std::max(numExperts, mf::passes::getNumExperts(model));
      checkExpertParallel(config, ranks, mf::passes::getNumExperts(model),
                          !isMcore(model.getFamily()), later);
    }
    checkNotLowered(config, ranks, rowBlocks, numExperts > 1, later);
    resolveCallbacks(getOperation(), config, later);
    checkGroups(getOperation(), config, later);
    checkLogitClip(getOperation(), config, later);
    FusionConfig fusions = readFusionConfig(config, hasMcore, later);
    diagnostics.append(
        findIndependent(later.getAll(), diagnostics, config.root));
    if (diagnostics.hasErrors())
      return fail(diagnostics);
    mf::passes::emitDiagnostics(getOperation().getLoc(), diagnostics);
    llvm::StringRef policy = schedule.empty() ? getScheduleName(config.parallel)
                                              : llvm::StringRef(schedule);
    auto emitError = [&] { return getOperation().emitError(); };
    ir::TrainingAttr training = mf::passes::getTrainingAttr(
        emitError, context, config, options, batch, ranks, rowBlocks, fusions,
        policy, hasReplicas(ranks));
    if (!training ||
        failed(mf::passes::setRankMesh(getOperation(), config, ranks)))
      return signalPassFailure();
    for (auto model : getOperation().getOps<ir::ModelOp>()) {
      model.setTrainingAttr(training);
      if (!setLayerSettings(model, config))
        return signalPassFailure();
    }
    if (config.wrapper.hasLocalLoss)
      getOperation().walk(
          [](ir::CrossEntropyOp loss) { loss.setOwnMeans(true); });
    emitRemark(options, batch);
  }

private:
  /// The text to read instead of the file.
  std::optional<std::string> text;
  mf::passes::LayerReportHandler handler;

  bool setLayerSettings(ir::ModelOp model, const TrainingConfig &config) {
    DiagnosticList diagnostics;
    const std::optional<ResolvedLayers> resolved =
        mf::passes::setLayerSettings(model, config, diagnostics);
    if (!mf::passes::emitDiagnostics(model.getLoc(), diagnostics))
      return false;
    if (!resolved)
      return true;
    for (llvm::StringRef line : resolved->initLines)
      remark::analysis(model.getLoc(), remark::RemarkOpts::name("Settings")
                                           .category("recompute")
                                           .function(model.getSymName()))
          << remark::add("{0}", line);
    if (!quiet)
      resolved->printLog(mf::passes::PrintedPlan(model).os());
    if (handler) {
      llvm::json::Object report = resolved->toJson();
      report["model"] = model.getSymName();
      handler(std::move(report));
    }
    return true;
  }

  /// Returns whether ranks have copies of anything, by the YAML or by a mesh
  /// that the module already has.
  bool hasReplicas(const RankLayout &ranks) {
    auto mesh = getOperation()->getAttrOfType<ir::MeshAttr>(
        ir::MeshAttr::attributeName);
    return ranks.getNumRanks() > ranks.pipelineStages ||
           (mesh && llvm::any_of(mesh.getSizes().drop_front(),
                                 [](int64_t size) { return size > 1; }));
  }

  void emitRemark(const StageMapOptions &options, const EffectiveBatch &batch) {
    remark::analysis(
        getOperation().getLoc(),
        remark::RemarkOpts::name("Config").category("config").function(file))
        << remark::add("one training step")
        << remark::metric("stages", options.pipelineStages)
        << remark::metric("interleave", options.interleave)
        << remark::metric("micro-batches", batch.getPasses());
  }

  void fail(const DiagnosticList &diagnostics) {
    mf::passes::emitDiagnostics(getOperation().getLoc(), diagnostics);
    signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass>
mf::passes::createReadConfig(const ReadConfigOptions &options,
                             std::optional<std::string> text,
                             LayerReportHandler handler) {
  return std::make_unique<ReadConfigPass>(options, std::move(text),
                                          std::move(handler));
}
