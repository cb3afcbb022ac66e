//===- ReadConfig.cpp - Reads a training YAML into a typed attribute ------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/config/ReadConfig.h"
#include "mf/Frontend/Config/PipelineRules.h"
#include "mf/Frontend/Config/RowBlocks.h"
#include "mf/Pipeline/Policy.h"
#include "mf/Support/NearestName.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/config/ConfigAttributes.h"
#include "passes/config/ExpertAxes.h"
#include "passes/config/NotLowered.h"
#include "passes/config/RankMesh.h"
#include "llvm/ADT/StringSwitch.h"

namespace mf::passes {
#define GEN_PASS_DEF_READCONFIG
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;

namespace {

/// Reports settings that MindSpore Transformers supports but this compiler
/// cannot lower.
void checkLowerable(const TrainingConfig &config, DiagnosticList &diagnostics) {
  if (config.optimizer.kind == OptimizerKind::Unsupported)
    diagnostics.error(config.optimizer.node["type"].getLocation(),
                      "optimizer '" + config.optimizer.type +
                          "' is not supported; expected AdamW, PmaAdamW, "
                          "Muon, Came, FP32StateAdamWeightDecay, "
                          "FusedAdamWeightDecay, AdamWeightDecayX or "
                          "AdamWeightDecay");
  if (config.optimizer.came && !config.lrGroups.empty())
    diagnostics.error(config.optimizer.node["type"].getLocation(),
                      "Came takes one learning rate for all parameters; "
                      "expected lr_schedule in place of grouped_lr_schedule");
  std::vector<LrScheduleSection> schedules = {config.lrSchedule};
  for (const LrGroup &group : config.lrGroups)
    schedules.push_back(group.schedule);
  for (const LrScheduleSection &schedule : schedules)
    if (schedule.type.empty() || !findLrScheduleKind(schedule.type))
      diagnostics.error(schedule.node["type"].getLocation(),
                        "learning rate schedule '" + schedule.type +
                            "' is not supported; expected ConstantWarmUpLR, "
                            "LinearWithWarmUpLR, CosineWithWarmUpLR, "
                            "CosineWithRestartsAndWarmUpLR, "
                            "PolynomialWithWarmUpLR, WarmUpStableDecayLR, "
                            "CosineAnnealingLR or CosineAnnealingWarmRestarts");
}

/// Returns whether `model` uses the legacy layer classes rather than the mcore
/// training graph.
bool isLegacy(ir::ModelOp model) {
  return !model.getFamily().value_or("").starts_with("mcore");
}

/// Checks that the model's layers have the names that the YAML selects.
void checkNames(ir::ModelOp model, const TrainingConfig &config,
                DiagnosticList &diagnostics) {
  if (!config.useLegacy || !model.getFamily())
    return;
  if (*config.useLegacy != isLegacy(model))
    diagnostics.warning(config.root["use_legacy"].getLocation(),
                        "use_legacy has no effect: this model has the names " +
                            llvm::Twine(isLegacy(model)
                                            ? "of the legacy layer classes"
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
                              quote(pattern.getText()) +
                              " in its name, as params of grouped_lr_schedule "
                              "asks" +
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
  Node asked = config.optimizer.node["qk_clip_threshold"];
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
        "'qk_clip_threshold' has no effect: no weight of the model is marked "
        "for it, as those of latent attention with use_flash_attention are in "
        "a model that is imported with this optimizer");
}

/// Resolves callbacks, which use statistics of the model. In the mcore training
/// graph the rate is the router's, and the callback only decides when it is
/// applied.
void resolveCallbacks(ModuleOp module, TrainingConfig &config,
                      DiagnosticList &diagnostics) {
  CallbackConfig &callbacks = config.callbacks;
  int64_t biases = countStatistics(module, ir::UpdateRule::Balance);
  if (callbacks.balance && biases == 0)
    diagnostics.warning(callbacks.balance->node.getLocation(),
                        "'TopkBiasBalanceCallback' has no effect: no router of "
                        "the model has a bias");
  Node asked = config.root["callbacks"];
  if (!asked)
    asked = config.moe.node["balance_via_topk_bias"];
  if (!callbacks.balance && biases > 0)
    diagnostics.warning(asked.getLocation(),
                        "the biases of " + llvm::Twine(biases) +
                            " routers stay as they are: there is no "
                            "'TopkBiasBalanceCallback' among the callbacks");
  if (callbacks.dropRate &&
      countStatistics(module, ir::UpdateRule::Record) == 0)
    diagnostics.warning(callbacks.dropRate->node.getLocation(),
                        "'MoEDropRateCallback' finds nothing to log: no router "
                        "keeps its load, as those of capacity with an 'expert' "
                        "loss do where callback_moe_droprate is True");
  for (auto model : module.getOps<ir::ModelOp>())
    if (callbacks.balance && model.getFamily().value_or("") == "mcore") {
      const Node &keys = config.model.config;
      Node rate = keys["moe_router_bias_update_rate"];
      if (!rate)
        rate = keys["topk_bias_update_rate"];
      callbacks.balance->rate = rate.getFloat().value_or(1e-3);
    }
}

struct ReadConfigPass : mf::passes::impl::ReadConfigBase<ReadConfigPass> {
  using ReadConfigBase::ReadConfigBase;
  ReadConfigPass(const mf::passes::ReadConfigOptions &options,
                 std::optional<std::string> text)
      : ReadConfigBase(options), text(std::move(text)) {}

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    if (file.empty()) {
      getOperation().emitError("mf-read-config needs the option file=<yaml>");
      return signalPassFailure();
    }
    if (gradientAccumulationSteps < 0) {
      getOperation().emitError("expected gradient-accumulation-steps to be "
                               "positive, or 0 for the YAML's, but got ")
          << gradientAccumulationSteps.getValue();
      return signalPassFailure();
    }
    if (!schedule.empty())
      if (llvm::Error error = mf::schedule::findPolicy(schedule).takeError()) {
        getOperation().emitError("got option schedule: ")
            << llvm::toString(std::move(error));
        return signalPassFailure();
      }
    DiagnosticList diagnostics;
    TrainingConfig config = text ? parseTrainingConfig(*text, file, diagnostics)
                                 : parseTrainingConfigFile(file, diagnostics);
    if (diagnostics.hasErrors())
      return fail(diagnostics);
    // The rules for YAMLs are then those of this schedule.
    if (!schedule.empty())
      config.parallel.pipelineScheduler = getSchedulerOf(schedule).str();
    std::optional<int64_t> accumulation;
    if (gradientAccumulationSteps > 0)
      accumulation = gradientAccumulationSteps;
    EffectiveBatch batch = resolveBatch(config, accumulation, diagnostics);
    StageMapOptions options = getStageMapOptions(config, diagnostics);
    RankLayout ranks = resolveRanks(config, diagnostics);
    int64_t rowBlocks = resolveRowBlocks(config, ranks, diagnostics);
    mf::passes::checkDeviceNum(config.parallel, ranks, diagnostics);
    checkPipelineRules(config, options, schedule, diagnostics);
    checkLowerable(config, diagnostics);
    int64_t numExperts = 1;
    bool isMcore = false;
    for (auto model : getOperation().getOps<ir::ModelOp>()) {
      checkNames(model, config, diagnostics);
      isMcore |= model.getFamily().value_or("").starts_with("mcore");
      numExperts = std::max(numExperts, mf::passes::getNumExperts(model));
      checkExpertParallel(config, ranks, mf::passes::getNumExperts(model),
                          isLegacy(model), diagnostics);
    }
    mf::passes::checkNotLowered(config, ranks, rowBlocks, numExperts > 1,
                                diagnostics);
    resolveCallbacks(getOperation(), config, diagnostics);
    checkGroups(getOperation(), config, diagnostics);
    checkLogitClip(getOperation(), config, diagnostics);
    FusionConfig fusions = readFusionConfig(config, isMcore, diagnostics);
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
    for (auto model : getOperation().getOps<ir::ModelOp>())
      model.setTrainingAttr(training);
    if (config.wrapper.hasLocalLoss)
      getOperation().walk(
          [](ir::CrossEntropyOp loss) { loss.setOwnMeans(true); });
    emitRemark(options, batch);
  }

private:
  /// The text to read instead of the file.
  std::optional<std::string> text;

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
                             std::string text) {
  return std::make_unique<ReadConfigPass>(options, std::move(text));
}
