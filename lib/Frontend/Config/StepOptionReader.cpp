//===- StepOptionReader.cpp - Wrapper, optimizer and lr schedule ----------===//

#include "StepOptionReader.h"
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

static LossScaleConfig readLossScale(SectionReader &wrapper) {
  LossScaleConfig scale;
  Node value = wrapper.get("scale_sense");
  if (value.isUndefinedOrNull())
    return scale;
  if (!value.isMap()) {
    std::optional<double> number = getLenientFloat(value);
    if (number && isLossScale(*number))
      scale.value = *number;
    else
      wrapper.rejectValue("scale_sense", value,
                          "a positive number that fp32 can hold, or a map with "
                          "a 'type'");
    return scale;
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
    return scale;
  }
  scale.kind = *kind;
  if (scale.kind == LossScaleConfig::Kind::Fixed)
    for (llvm::StringRef key : {"scale_factor", "scale_window"})
      if (Node value = reader.get(key))
        wrapper.diagnostics.warning(value.getLocation(),
                                    quote(key) +
                                        " has no effect: the scale of "
                                        "'FixedLossScaleUpdateCell' stays");
  scale.value = reader.readFloat("loss_scale_value", 65536.0);
  scale.factor = reader.readInt("scale_factor", scale.factor);
  scale.window = reader.readInt("scale_window", scale.window);
  if (!isLossScale(scale.value))
    reader.rejectValue("loss_scale_value", reader.get("loss_scale_value"),
                       "a positive number that fp32 can hold");
  if (scale.kind == LossScaleConfig::Kind::Adaptive)
    wrapper.diagnostics.warning(
        type.getLocation(),
        "the changing window of 'AdaptiveLossScaleUpdateCell' is not modelled; "
        "the scale is that of 'DynamicLossScaleUpdateCell'");
  return scale;
}

RunnerWrapper readRunnerWrapper(const Node &root, DiagnosticList &diagnostics) {
  SectionReader reader(root, "runner_wrapper", wrapperSection, diagnostics);
  RunnerWrapper wrapper;
  wrapper.node = reader.getNode();
  if (!reader.isPresent()) {
    wrapper.useClipGrad = true;
    wrapper.scaleSense.kind = LossScaleConfig::Kind::Dynamic;
    wrapper.scaleSense.value = 65536.0;
    return wrapper;
  }
  wrapper.type = reader.readString("type", wrapper.type);
  if (wrapper.type != "MFTrainOneStepCell" &&
      wrapper.type != "MFPipelineWithLossScaleCell")
    diagnostics.warning(
        reader.get("type").getLocation(),
        "the step of " + quote(wrapper.type) +
            " is not modelled; MFTrainOneStepCell is used instead");
  if (reader.get("use_clip_grad"))
    wrapper.useClipGrad = reader.readBool("use_clip_grad", false);
  wrapper.maxGradNorm = reader.readFloat("max_grad_norm", wrapper.maxGradNorm);
  if (wrapper.maxGradNorm <= 0)
    reader.rejectValue("max_grad_norm", reader.get("max_grad_norm"),
                       "a positive number");
  wrapper.scaleSense = readLossScale(reader);
  wrapper.localNorm = reader.readBool("local_norm", wrapper.localNorm);
  wrapper.calculatePerTokenLoss = reader.readBool(
      "calculate_per_token_loss", wrapper.calculatePerTokenLoss);
  wrapper.useSkipDataByGlobalNorm = reader.readBool(
      "use_skip_data_by_global_norm", wrapper.useSkipDataByGlobalNorm);
  wrapper.globalNormSpikeThreshold = reader.readFloat(
      "global_norm_spike_threshold", wrapper.globalNormSpikeThreshold);
  return wrapper;
}

static OptimizerKind getOptimizerKind(llvm::StringRef type) {
  return llvm::StringSwitch<OptimizerKind>(type.lower())
      .Case("adamw", OptimizerKind::AdamW)
      .Case("pmaadamw", OptimizerKind::PmaAdamW)
      .Case("fp32stateadamweightdecay", OptimizerKind::FP32StateAdamWeightDecay)
      .Cases({"adamweightdecay", "adamweightdecayx", "fusedadamweightdecay"},
             OptimizerKind::AdamWeightDecay)
      .Default(OptimizerKind::Unsupported);
}

/// `betas: [b1, b2]`, or the keys `beta1` and `beta2`.
static void readBetas(SectionReader &reader, OptimizerConfig &config) {
  config.beta1 = reader.readFloat("beta1", config.beta1);
  config.beta2 = reader.readFloat("beta2", config.beta2);
  Node betas = reader.get("betas");
  if (betas) {
    const std::vector<Node> &items = betas.getElements();
    auto first = items.size() == 2 ? getLenientFloat(items[0]) : std::nullopt;
    auto second = items.size() == 2 ? getLenientFloat(items[1]) : std::nullopt;
    if (!first || !second)
      return reader.rejectValue("betas", betas, "a list of two numbers");
    config.beta1 = *first;
    config.beta2 = *second;
  }
  auto isBeta = [](double beta) { return beta >= 0 && beta < 1; };
  if (!isBeta(config.beta1) || !isBeta(config.beta2))
    reader.diagnostics.error((betas ? betas : reader.getNode()).getLocation(),
                             "expected both betas of the optimizer in [0, 1)");
}

static WeightAverageConfig readWeightAverage(SectionReader &reader) {
  WeightAverageConfig average;
  average.fusedNum = reader.readInt("fused_num", average.fusedNum);
  average.interleaveStep =
      reader.readInt("interleave_step", average.interleaveStep);
  const std::string algorithm = reader.readString("fused_algo", "ema");
  average.sums = algorithm == "sma";
  if (!average.sums && algorithm != "ema")
    reader.rejectValue("fused_algo", reader.get("fused_algo"),
                       "'ema' or 'sma'");
  average.emaAlpha = reader.readFloat("ema_alpha", average.emaAlpha);
  if (average.emaAlpha <= 0 || average.emaAlpha >= 1)
    reader.rejectValue("ema_alpha", reader.get("ema_alpha"),
                       "a number above 0 and below 1");
  return average;
}

OptimizerConfig readOptimizer(const Node &root, DiagnosticList &diagnostics) {
  SectionReader reader(root, "optimizer", optimizerSection, diagnostics);
  OptimizerConfig config;
  config.node = reader.getNode();
  if (!reader.isPresent())
    return config;
  config.type = reader.readString("type", config.type);
  config.kind = getOptimizerKind(config.type);
  // MindSpore's own Adam with weight decay starts from another eps.
  if (config.kind != OptimizerKind::AdamW)
    config.eps = 1e-6;
  config.learningRate = 1e-3;
  readBetas(reader, config);
  config.eps = reader.readFloat("eps", config.eps);
  if (config.eps <= 0)
    reader.rejectValue("eps", reader.get("eps"), "a positive number");
  config.weightDecay = reader.readFloat("weight_decay", config.weightDecay);
  if (config.weightDecay < 0)
    reader.rejectValue("weight_decay", reader.get("weight_decay"),
                       "a number of at least 0");
  config.learningRate = reader.readFloat("learning_rate", config.learningRate);
  config.swap = reader.readBool("swap", config.swap);
  if (config.kind == OptimizerKind::PmaAdamW) {
    config.average = readWeightAverage(reader);
    return config;
  }
  for (llvm::StringRef key :
       {"fused_num", "interleave_step", "fused_algo", "ema_alpha"})
    if (Node value = reader.get(key))
      diagnostics.warning(value.getLocation(),
                          quote(key) + " has no effect: only PmaAdamW averages "
                                       "parameters");
  return config;
}

} // namespace mf
