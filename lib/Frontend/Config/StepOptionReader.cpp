//===- StepOptionReader.cpp - Wrapper, optimizer and lr schedule ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "OptimizerReaders.h"
#include "SectionReader.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

namespace mf {

static std::optional<LossScaleConfig::Kind>
getLossScaleKind(llvm::StringRef type) {
  return llvm::StringSwitch<std::optional<LossScaleConfig::Kind>>(type)
      .Case("DynamicLossScaleUpdateCell", LossScaleConfig::Kind::Dynamic)
      .Case("FixedLossScaleUpdateCell", LossScaleConfig::Kind::Fixed)
      .Case("AdaptiveLossScaleUpdateCell", LossScaleConfig::Kind::Adaptive)
      .Default(std::nullopt);
}

/// The scale is a positive fp32 scalar on the device.
static bool isLossScale(double value) {
  const auto scale = static_cast<float>(value);
  return scale > 0 && std::isfinite(scale);
}

static void readLossScale(SectionReader &wrapper, TrainingConfig &config) {
  LossScaleConfig &scale = config.wrapper.scaleSense;
  Node value = wrapper.get("scale_sense");
  if (value.isUndefinedOrNull())
    return;
  if (!value.isMap()) {
    std::optional<double> number = value.getNumber();
    if (number && isLossScale(*number))
      scale.value = *number;
    else
      wrapper.rejectValue("scale_sense", value,
                          "a positive number that fp32 can hold, or a map with "
                          "a 'type'");
    return;
  }
  SectionReader reader(wrapper.getNode(), "scale_sense", lossScaleSection,
                       wrapper.diagnostics);
  Node type = reader.get("type");
  std::optional<LossScaleConfig::Kind> kind = getLossScaleKind(type.getText());
  if (!kind) {
    reader.rejectValue("type", type ? type : reader.getNode(),
                       "'DynamicLossScaleUpdateCell', "
                       "'FixedLossScaleUpdateCell' or "
                       "'AdaptiveLossScaleUpdateCell'");
    return;
  }
  scale.kind = *kind;
  if (scale.kind == LossScaleConfig::Kind::Fixed)
    reader.warnOfKeys(&partId<LossScaleUpdateConfig>,
                      "the scale of 'FixedLossScaleUpdateCell' stays");
  scale.value = 65536.0;
  reader.readAll(config);
  if (!isLossScale(scale.value))
    reader.rejectValue("loss_scale_value", reader.get("loss_scale_value"),
                       "a positive number that fp32 can hold");
  if (scale.kind == LossScaleConfig::Kind::Adaptive)
    wrapper.diagnostics.warning(
        type.getLocation(),
        "the changing window of 'AdaptiveLossScaleUpdateCell' is not modelled; "
        "the scale is that of 'DynamicLossScaleUpdateCell'");
}

void readRunnerWrapper(const Node &root, TrainingConfig &config,
                       DiagnosticList &diagnostics) {
  SectionReader reader(root, "runner_wrapper", wrapperSection, diagnostics);
  RunnerWrapper &wrapper = config.wrapper;
  wrapper.node = reader.getNode();
  if (!reader.isPresent()) {
    wrapper.useClipGrad = true;
    wrapper.scaleSense.kind = LossScaleConfig::Kind::Dynamic;
    wrapper.scaleSense.value = 65536.0;
    return;
  }
  reader.readAll(config);
  if (wrapper.type != "MFTrainOneStepCell" &&
      wrapper.type != "MFPipelineWithLossScaleCell")
    diagnostics.warning(
        reader.get("type").getLocation(),
        "the step of " + quote(wrapper.type) +
            " is not modelled; MFTrainOneStepCell is used instead");
  readLossScale(reader, config);
}

static OptimizerKind getOptimizerKind(llvm::StringRef type) {
  return llvm::StringSwitch<OptimizerKind>(type.lower())
      .Case("adamw", OptimizerKind::AdamW)
      .Case("adamweightdecayx", OptimizerKind::AdamWeightDecayX)
      .Case("pmaadamw", OptimizerKind::PmaAdamW)
      .Case("muon", OptimizerKind::Muon)
      .Case("came", OptimizerKind::Came)
      .Case("fp32stateadamweightdecay", OptimizerKind::FP32StateAdamWeightDecay)
      .Cases({"adamweightdecay", "fusedadamweightdecay"},
             OptimizerKind::AdamWeightDecay)
      .Default(OptimizerKind::Unsupported);
}

/// Reads `betas: [b1, b2]`, or the keys `beta1` and `beta2`. Muon has
/// `adamw_betas` instead.
static void readBetas(SectionReader &reader, OptimizerConfig &config) {
  const char *key = config.muon ? "adamw_betas" : "betas";
  Node betas = reader.get(key);
  if (betas) {
    const std::vector<Node> &items = betas.getElements();
    auto first = items.size() == 2 ? items[0].getNumber() : std::nullopt;
    auto second = items.size() == 2 ? items[1].getNumber() : std::nullopt;
    if (!first || !second)
      return reader.rejectValue(key, betas, "a list of two numbers");
    config.beta1 = *first;
    config.beta2 = *second;
  }
  auto isBeta = [](double beta) { return beta >= 0 && beta < 1; };
  if (!isBeta(config.beta1) || !isBeta(config.beta2))
    reader.diagnostics.error((betas ? betas : reader.getNode()).getLocation(),
                             "expected both betas of the optimizer in [0, 1)");
}

/// `fused_algo` is the kind of average. Only PmaAdamW has one.
static void readAverageKind(SectionReader &reader, OptimizerConfig &config) {
  if (config.average) {
    const std::string algorithm = reader.readString("fused_algo", "ema");
    config.average->sums = algorithm == "sma";
    if (!config.average->sums && algorithm != "ema")
      reader.rejectValue("fused_algo", reader.get("fused_algo"),
                         "'ema' or 'sma'");
    return;
  }
  reader.warnOfKeys(&partId<WeightAverageConfig>,
                    "only PmaAdamW averages parameters");
}

void readOptimizer(const Node &root, TrainingConfig &training,
                   DiagnosticList &diagnostics) {
  SectionReader reader(root, "optimizer", optimizerSection, diagnostics);
  OptimizerConfig &config = training.optimizer;
  config.node = reader.getNode();
  if (!reader.isPresent())
    return;
  if (Node type = reader.get("type"))
    config.kind = getOptimizerKind(type.getText());
  // MindSpore's own Adam with weight decay starts from another eps.
  if (config.kind != OptimizerKind::AdamW && !config.correctsEps())
    config.eps = 1e-6;
  config.learningRate = 1e-3;
  if (config.kind == OptimizerKind::PmaAdamW)
    config.average.emplace();
  if (config.kind == OptimizerKind::Muon) {
    config.muon.emplace();
    config.beta1 = config.beta2 = 0.95;
    config.eps = config.muon->eps;
    config.weightDecay = 0.1;
  }
  if (config.kind == OptimizerKind::Came)
    config.came.emplace();
  else
    config.eps = reader.readFloat("eps", config.eps, known::positive.value);
  reader.readAll(training);
  readBetas(reader, config);
  readAverageKind(reader, config);
  readMuon(reader, config);
  readCame(reader, config);
}

} // namespace mf
