//===- StepOptionReader.cpp - What a step does besides the model ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "SectionReader.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

namespace mf {

//===----------------------------------------------------------------------===//
// Muon
//===----------------------------------------------------------------------===//

using Triple = std::array<double, 3>;

/// More steps than any matrix needs.
static constexpr int64_t maxSteps = 64;

static std::optional<Triple> getTriple(const Node &node) {
  const std::vector<Node> &items = node.getElements();
  if (items.size() != 3)
    return std::nullopt;
  Triple triple;
  for (auto [number, item] : llvm::zip(triple, items)) {
    std::optional<double> value = item.getNumber();
    if (!value)
      return std::nullopt;
    number = *value;
  }
  return triple;
}

/// `[[a, b, c], n]` is a triple for n steps.
static bool readRepeated(const Node &node, std::vector<Triple> &coefficients) {
  const std::vector<Node> &items = node.getElements();
  if (items.size() != 2)
    return false;
  std::optional<Triple> triple = getTriple(items[0]);
  std::optional<int64_t> steps = items[1].getInt();
  if (!triple || !steps || *steps < 1 || *steps > maxSteps)
    return false;
  coefficients.insert(coefficients.end(), *steps, *triple);
  return true;
}

static void readCoefficients(SectionReader &reader, MuonConfig &muon) {
  const KnownKey &stepKey = known::nsSteps, &key = known::nsCoefficients;
  const int64_t steps = reader.readInt(stepKey, 5);
  if (steps < 1 || steps > maxSteps)
    return reader.rejectValue(stepKey,
                              "an int from 1 to " + llvm::Twine(maxSteps));
  Node node = reader.get(key);
  if (node.isUndefinedOrNull()) {
    muon.coefficients.assign(steps, {3.4445, -4.7750, 2.0315});
    return;
  }
  if (std::optional<Triple> triple = getTriple(node)) {
    muon.coefficients.assign(steps, *triple);
    return;
  }
  for (const Node &item : node.getElements())
    if (!readRepeated(item, muon.coefficients)) {
      muon.coefficients.clear();
      break;
    }
  if (muon.coefficients.empty())
    reader.rejectValue(key, "three numbers, or a list of [[a, b, c], steps]");
  else if (Node ignored = reader.get(stepKey))
    reader.diagnostics.warning(
        ignored.getLocation(),
        quote(stepKey.name) + " has no effect: " + quote(key.name) +
            " says how many steps each of its triples is for");
}

static void readIncluded(SectionReader &reader, MuonConfig &muon) {
  Node node = reader.get(known::adamwInclude);
  if (node.isUndefinedOrNull()) {
    // Names of the mcore training graph, then those of legacy layer classes.
    muon.adamwInclude = {"*word_embeddings*", "*output_layer*", "*embedding*",
                         "*lm_head*"};
    return;
  }
  for (const Node &item : node.getElements())
    if (item.isString())
      muon.adamwInclude.push_back(item.getText().str());
  if (muon.adamwInclude.size() != node.getElements().size() || !node.isList())
    reader.rejectValue(known::adamwInclude, "a list of patterns");
}

/// The class multiplies the threshold by a number that the trainer does not
/// give it: it counts where the YAML has it.
static void readLogitClip(SectionReader &reader, MuonConfig &muon) {
  const int64_t batches = reader.readInt(known::qkClipBatches, 1);
  const double threshold = reader.readFloat(known::qkClipThreshold, 4.0);
  if (!reader.readBool(known::qkClipEnabled, true))
    return;
  if (threshold <= 0)
    return reader.rejectValue(known::qkClipThreshold, "a number above 0");
  if (batches < 1)
    return reader.rejectValue(known::qkClipBatches, "an int of at least 1");
  muon.logitThreshold = threshold * static_cast<double>(batches);
}

/// Reads the keys of Muon, and rejects unsupported ones. If another optimizer
/// is selected, its keys get a warning. `eps` of `config` is that of AdamW
/// afterwards.
static void readMuon(SectionReader &reader, OptimizerConfig &config) {
  if (!config.muon)
    return reader.warnOfKeys(&partId<MuonConfig>, "the optimizer is not Muon");
  if (Node betas = reader.get(known::betas))
    reader.diagnostics.warning(
        betas.getLocation(),
        quote(known::betas.name) + " has no effect: Muon takes " +
            quote(known::nameOf(&MuonConfig::momentum)) +
            ", and what AdamW updates " + quote(known::adamwBetas.name));
  MuonConfig &muon = *config.muon;
  muon.eps = config.eps;
  config.eps = reader.readFloat(known::adamwEps, 1e-8);
  readCoefficients(reader, muon);
  readIncluded(reader, muon);
  readLogitClip(reader, muon);
  muon.spreadsWeights =
      reader.readString(known::commStrategy, "allgather",
                        {"allgather", "allgather_deredundency"}) != "allgather";
}

//===----------------------------------------------------------------------===//
// Came
//===----------------------------------------------------------------------===//

/// Reads two lists: `[of squares, of parameters' norms, of instability]`. The
/// second element is the epsilon that scale_parameter uses.
static void readConstants(SectionReader &reader, CameConfig &came) {
  Node eps = reader.get(known::eps);
  if (eps.isUndefinedOrNull())
    return;
  const std::vector<Node> &items = eps.getElements();
  std::vector<double> numbers;
  for (const Node &item : items)
    if (std::optional<double> number = item.getNumber())
      if (*number >= 0)
        numbers.push_back(*number);
  if (items.size() != 3 || numbers.size() != 3)
    return reader.rejectValue(known::eps,
                              "a list of three numbers that are not negative, "
                              "as [1.e-30, 1.e-3, 1.e-16]");
  came.eps = numbers[0];
  came.instabilityEps = numbers[2];
}

/// Switches of Came that change the step are off in all that is lowered.
static void checkSwitches(SectionReader &reader) {
  const KnownKey &scale = known::scaleParameter;
  if (reader.readBool(scale, false))
    reader.diagnostics.error(
        reader.get(scale).getLocation(),
        quote(scale.name) + " of Came, a rate that follows the norm of each "
                            "parameter, is not supported; expected False");
  for (const KnownKey *key :
       {&known::relativeStep, &known::warmupInit, &known::compression})
    if (reader.readBool(*key, false))
      reader.diagnostics.error(reader.get(*key).getLocation(),
                               "expected " + quote(key->name) +
                                   " to be False, which is all that Came takes "
                                   "beside an lr_schedule");
}

/// The same for Came.
static void readCame(SectionReader &reader, OptimizerConfig &config) {
  if (!config.came)
    return reader.warnOfKeys(&partId<CameConfig>, "the optimizer is not Came");
  readConstants(reader, *config.came);
  checkSwitches(reader);
  const KnownKey &beta1 = known::findKey(&OptimizerConfig::beta1);
  const KnownKey &beta2 = known::findKey(&OptimizerConfig::beta2);
  const KnownKey &beta3 = known::findKey(&CameConfig::beta3);
  for (const KnownKey *key : {&known::betas, &beta2})
    if (Node value = reader.get(*key))
      reader.diagnostics.error(
          value.getLocation(),
          "expected " + quote(beta1.name) + ", " + quote(beta3.name) + " and " +
              quote(known::nameOf(&CameConfig::decayRate)) +
              " of Came, but got " + quote(key->name));
  if (config.beta1 <= 0)
    reader.rejectValue(beta1, "a number above 0: without a first moment Came "
                              "does not move parameters");
  if (config.came->beta3 >= 1)
    reader.rejectValue(beta3, "a number below 1");
}

//===----------------------------------------------------------------------===//
// The wrapper and the optimizer
//===----------------------------------------------------------------------===//

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
  Node value = wrapper.get(known::scaleSense);
  if (value.isUndefinedOrNull())
    return;
  if (!value.isMap()) {
    std::optional<double> number = value.getNumber();
    if (number && isLossScale(*number))
      scale.value = *number;
    else
      wrapper.rejectValue(
          known::scaleSense,
          "a positive number that fp32 can hold, or a map with a " +
              quote(known::scaleType.name));
    return;
  }
  SectionReader reader(value, lossScaleSection, wrapper.diagnostics);
  Node type = reader.get(known::scaleType);
  std::optional<LossScaleConfig::Kind> kind = getLossScaleKind(type.getText());
  if (!kind) {
    reader.rejectValue(
        known::scaleType, type ? type : reader.getNode(),
        "'DynamicLossScaleUpdateCell', 'FixedLossScaleUpdateCell' or "
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
    reader.rejectValue(known::findKey(&LossScaleConfig::value),
                       "a positive number that fp32 can hold");
  if (scale.kind == LossScaleConfig::Kind::Adaptive)
    wrapper.diagnostics.warning(
        type.getLocation(),
        "the changing window of 'AdaptiveLossScaleUpdateCell' is not modelled; "
        "the scale is that of 'DynamicLossScaleUpdateCell'");
}

void readRunnerWrapper(const Node &root, TrainingConfig &config,
                       DiagnosticList &diagnostics) {
  SectionReader reader(wrapperSection.getNode(root), wrapperSection,
                       diagnostics);
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
        reader.get(&RunnerWrapper::type).getLocation(),
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
  const KnownKey &key = config.muon ? known::adamwBetas : known::betas;
  Node betas = reader.get(key);
  if (betas) {
    const std::vector<Node> &items = betas.getElements();
    auto first = items.size() == 2 ? items[0].getNumber() : std::nullopt;
    auto second = items.size() == 2 ? items[1].getNumber() : std::nullopt;
    if (!first || !second)
      return reader.rejectValue(key, "a list of two numbers");
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
    const std::string algorithm = reader.readString(known::fusedAlgo, "ema");
    config.average->sums = algorithm == "sma";
    if (!config.average->sums && algorithm != "ema")
      reader.rejectValue(known::fusedAlgo, "'ema' or 'sma'");
    return;
  }
  reader.warnOfKeys(&partId<WeightAverageConfig>,
                    "only PmaAdamW averages parameters");
}

void readOptimizer(const Node &root, TrainingConfig &training,
                   DiagnosticList &diagnostics) {
  SectionReader reader(optimizerSection.getNode(root), optimizerSection,
                       diagnostics);
  OptimizerConfig &config = training.optimizer;
  config.node = reader.getNode();
  if (!reader.isPresent())
    return;
  if (Node type = reader.get(&OptimizerConfig::type))
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
    config.eps =
        reader.readFloat(known::eps, config.eps, known::positive.value);
  reader.readAll(training);
  readBetas(reader, config);
  readAverageKind(reader, config);
  readMuon(reader, config);
  readCame(reader, config);
}

//===----------------------------------------------------------------------===//
// Learning rates
//===----------------------------------------------------------------------===//

/// Reads the keys of one schedule.
static LrScheduleSection readSchedule(SectionReader &reader) {
  // The records of keys name members of the whole configuration.
  TrainingConfig training;
  LrScheduleSection &config = training.lrSchedule;
  config.node = reader.getNode();
  // The annealing schedules call it base_lr.
  if (!reader.get(&LrScheduleConfig::learningRate))
    config.learningRate = reader.readFloat(known::baseRate, config.learningRate,
                                           known::notNegative.value);
  reader.readAll(training);
  return config;
}

static LrScheduleSection readLrSchedule(const Node &root,
                                        DiagnosticList &diagnostics) {
  SectionReader reader(lrScheduleSection.getNode(root), lrScheduleSection,
                       diagnostics);
  if (reader.isPresent())
    return readSchedule(reader);
  // The template of the whole section.
  LrScheduleSection config;
  config.node = reader.getNode();
  config.lrEnd = 0.0;
  config.warmupRatio = 0.0;
  return config;
}

/// Reads an item of `grouped`. Its `params` is not a key of a schedule.
static LrGroup readGroup(const Node &item, DiagnosticList &diagnostics) {
  LrGroup group;
  const Node params = item[known::rateParameters.name];
  group.patterns = params.getElements();
  if (group.patterns.empty())
    diagnostics.error(
        (params ? params : item).getLocation(),
        "expected " + known::rateParameters.name + " of an item of " +
            groupedLrSection.name +
            " to be a list of names or wildcards, [..]" +
            (params ? ", but got " + params.repr(60) : std::string()));
  for (const Node &pattern : group.patterns)
    if (!pattern.isString() || pattern.getText().empty())
      diagnostics.error(
          pattern.getLocation(),
          "expected a name or a wildcard in " + known::rateParameters.name +
              " of " + groupedLrSection.name + ", but got " + pattern.repr(60));
  SectionReader reader(item, lrGroupSection, diagnostics);
  group.schedule = readSchedule(reader);
  return group;
}

void readLrSchedules(const Node &root, TrainingConfig &config,
                     DiagnosticList &diagnostics) {
  SectionReader grouped(groupedLrSection.getNode(root), groupedLrSection,
                        diagnostics);
  if (!grouped.isPresent()) {
    config.lrSchedule = readLrSchedule(root, diagnostics);
    return;
  }
  SectionReader standard(grouped.get(known::standardRates), lrScheduleSection,
                         diagnostics);
  if (!standard.isPresent())
    diagnostics.error(grouped.getNode().getLocation(),
                      "expected " + groupedLrSection.name + " to have a " +
                          quote(known::standardRates.name) +
                          ", the schedule of parameters that no item of " +
                          quote(known::groupedRates.name) + " names");
  config.lrSchedule = readSchedule(standard);
  const llvm::StringRef parameters = known::rateParameters.name;
  const Node items = grouped.get(known::groupedRates);
  if (!items.isUndefinedOrNull() && !items.isList())
    grouped.rejectValue(known::groupedRates,
                        "a list of schedules with " + parameters);
  for (const Node &item : items.getElements()) {
    if (item.isMap())
      config.lrGroups.push_back(readGroup(item, diagnostics));
    else
      diagnostics.error(item.getLocation(), "expected a schedule with " +
                                                parameters + " in " +
                                                known::groupedRates.name +
                                                " of " + groupedLrSection.name +
                                                ", but got " + item.repr(60));
  }
}

//===----------------------------------------------------------------------===//
// Callbacks
//===----------------------------------------------------------------------===//

static void readBalance(const Node &callback, TrainingConfig &config,
                        DiagnosticList &diagnostics) {
  SectionReader reader(callback, balanceCallbackSection, diagnostics);
  config.callbacks.balance.emplace().node = callback;
  reader.readAll(config);
  if (!reader.readBool(known::balanceSwitch, false))
    config.callbacks.balance.reset();
}

/// Its keys have no defaults: MindSpore Transformers fails without them.
static void readDropRate(const Node &callback, TrainingConfig &config,
                         DiagnosticList &diagnostics) {
  SectionReader reader(callback, dropRateCallbackSection, diagnostics);
  DropRateCallback &dropRate = config.callbacks.dropRate.emplace();
  dropRate.node = callback;
  for (const KnownKey *key :
       {&known::findKey(&DropRateCallback::expertNum),
        &known::findKey(&DropRateCallback::numLayers), &known::mtpDepth,
        &known::findKey(&DropRateCallback::capacityFactor)})
    if (reader.get(*key))
      reader.read(*key, config);
    else
      diagnostics.error(callback.getLocation(),
                        "expected " + quote(key->name) + " of " +
                            quote(dropRateCallbackSection.name));
  dropRate.numLayers += reader.readInt(known::mtpDepth, 0);
}

void readCallbacks(const Node &root, TrainingConfig &config,
                   DiagnosticList &diagnostics) {
  const CallbackConfig &callbacks = config.callbacks;
  for (const Node &section :
       {root[known::callbackList.name], root[known::otherCallbackList.name]}) {
    if (!section.isUndefinedOrNull() && !section.isList())
      diagnostics.error(section.getLocation(),
                        "expected a list of callbacks, each a map with a " +
                            quote(known::callbackType.name));
    for (const Node &callback : section.getElements()) {
      llvm::StringRef type = callback[known::callbackType.name].getText();
      const bool isBalance = type == balanceCallbackSection.name;
      if (!isBalance && type != dropRateCallbackSection.name)
        continue;
      if (isBalance ? callbacks.balance.has_value()
                    : callbacks.dropRate.has_value())
        diagnostics.warning(callback.getLocation(),
                            "there is a " + quote(type) +
                                " before; this one counts");
      (isBalance ? readBalance : readDropRate)(callback, config, diagnostics);
    }
  }
}

} // namespace mf
