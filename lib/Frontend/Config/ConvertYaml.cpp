//===- ConvertYaml.cpp - Conversion between the two YAML formats ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/ConvertYaml.h"
#include "DynamicConfig.h"
#include "LayerNormalizer.h"
#include "NodeBuilder.h"
#include "SettingKeys.h"
#include "mf/Frontend/Config/BatchRules.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/SettingEdit.h"
#include "mf/Support/NumberText.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <set>

namespace mf {

using namespace dynamic;

/// Returns a number in a form that YAML 1.1 reads as the same number: a float
/// has a point.
static std::string printReal(double number) {
  constexpr int mostDigits = 17;
  std::string text;
  for (int digits = 1; digits <= mostDigits; ++digits) {
    text = formatDigits(number, digits);
    double read = 0;
    if (!llvm::StringRef(text).getAsDouble(read) && read == number)
      break;
  }
  if (llvm::StringRef(text).contains('.'))
    return text;
  const size_t exponent = text.find('e');
  return exponent == std::string::npos ? text + ".0"
                                       : text.insert(exponent, ".0");
}

//===----------------------------------------------------------------------===//
// Adapters
//===----------------------------------------------------------------------===//

static Node findPetConfig(const Node &root) {
  return keys::adapters.find(
      root.getPath(getPath(modelSection, known::modelConfig)));
}

Node findAdapterSection(const Node &root) {
  Node section = root[lora::section];
  if (section.isUndefinedOrNull())
    section = findPetConfig(root);
  return section.isUndefinedOrNull() ? Node() : section;
}

namespace {
/// The Cells that a pattern of adapters must name.
struct AdaptedCells {
  /// Names of linear layers, as alternatives of a regular expression.
  std::string names;
  /// Numbers of layers without adapters, as such alternatives.
  std::string layers;
  bool excludesLaterTokens = false;

  AdaptedCells(const MatchedAdapters &adapters, const DynamicDepth &depth);
};
} // namespace

AdaptedCells::AdaptedCells(const MatchedAdapters &adapters,
                           const DynamicDepth &depth) {
  std::set<std::string> leaves;
  auto isAnyBelow = [&](const std::string &cell) {
    return llvm::any_of(adapters.paths, [&](llvm::StringRef path) {
      return path.starts_with(cell + ".");
    });
  };
  for (llvm::StringRef path : adapters.paths)
    leaves.insert(path.rsplit('.').second.empty()
                      ? path.str()
                      : path.rsplit('.').second.str());
  names = llvm::join(leaves, "|");
  llvm::SmallVector<std::string> without;
  for (int64_t layer = 0; layer < depth.layers; ++layer)
    if (std::string number = std::to_string(layer);
        !isAnyBelow("decoder.layers." + number))
      without.push_back(std::move(number));
  // A head alone has no layers with adapters, and needs none to be excluded.
  if (static_cast<int64_t>(without.size()) < depth.layers)
    layers = llvm::join(without, "|");
  excludesLaterTokens = depth.nextTokens > 0 && !isAnyBelow("mtp");
}

/// Writes the numbers of adapters, whose keys have the same names in both
/// sections.
static void writeAdapterNumbers(const MatchedAdapters &adapters,
                                const std::string &path, const Node &section,
                                NodeBuilder &to) {
  auto set = [&](const DynamicKey &key, const std::string &text) {
    to.set(path + "." + key.name.str(), makeScalar(section, text));
  };
  set(lora::loraRank, std::to_string(adapters.rank));
  set(lora::loraAlpha, formatAmount(adapters.alpha));
  set(lora::loraDropout, printReal(adapters.dropout));
}

/// Writes lora_config, which searches paths.
static void writeLoraConfig(const MatchedAdapters &adapters,
                            const DynamicDepth &depth, const Node &section,
                            NodeBuilder &to) {
  const AdaptedCells cells(adapters, depth);
  to.set(lora::targetModules.getPath(),
         makeString(section, "\\.(?:" + llvm::Twine(cells.names) + ")$"));
  std::string exclude;
  if (!cells.layers.empty())
    exclude = "decoder\\.layers\\.(?:" + cells.layers + ")$";
  if (cells.excludesLaterTokens)
    exclude += exclude.empty() ? "\\.mtp$" : "|\\.mtp$";
  if (!exclude.empty())
    to.set(lora::excludeLayers.getPath(), makeString(section, exclude));
  writeAdapterNumbers(adapters, lora::section.str(), section, to);
}

/// Writes pet_config, which matches names of Cells from their start.
static void writePetConfig(const MatchedAdapters &adapters,
                           const DynamicDepth &depth, const Node &section,
                           NodeBuilder &to) {
  const AdaptedCells cells(adapters, depth);
  const std::string path = getPath(keys::adapters);
  auto set = [&](llvm::StringRef key, const Node &value) {
    to.set((path + "." + key).str(), value);
  };
  auto makeTexts = [&](const std::vector<std::string> &texts) {
    std::vector<Node> elements;
    for (const std::string &text : texts)
      elements.push_back(makeString(section, text));
    return makeList(section, std::move(elements));
  };
  set(known::adapter::type, makeString(section, "lora"));
  set(known::adapter::targets,
      makeString(section, "(?:" + llvm::Twine(cells.names) + ")$"));
  std::vector<std::string> exclude;
  if (!cells.layers.empty())
    exclude.push_back("(?:" + cells.layers + ")$");
  if (cells.excludesLaterTokens)
    exclude.push_back("mtp$");
  if (!exclude.empty())
    set(known::adapter::excluded, makeTexts(exclude));
  writeAdapterNumbers(adapters, path, section, to);
  set(known::adapter::frozen, makeTexts({"*"}));
  set(known::adapter::trained, makeTexts({"*lora*"}));
}

//===----------------------------------------------------------------------===//
// The static graph's sections
//===----------------------------------------------------------------------===//

/// Returns the table of the layers that are recomputed as a whole, or none if
/// they are not the first layers of their chunks.
static std::optional<StageTable>
getRecomputeTable(const TrainingConfig &config) {
  DiagnosticList ignored;
  std::optional<StageMap> stages = makeStageMap(config, ignored);
  return stages ? readSettings(config, *stages).recompute : std::nullopt;
}

static void warnNoWords(const Node &value, llvm::StringRef what,
                        llvm::StringRef format, DiagnosticList &diagnostics) {
  if (value)
    diagnostics.warning(value.getLocation(),
                        quote(what) + " cannot be said in the YAML of the " +
                            format + " graph, and is left out");
}

static bool hasExpertBias(const Node &model) {
  return keys::expertBias.find(model).getBool().value_or(false);
}

/// Writes the static graph's closest balancing loss: that of a rank's row.
/// Warns if the static graph counts other choices than the dynamic one.
static void convertBalancingLoss(const Node &model, const DynamicLayout &layout,
                                 int64_t batchSize, NodeBuilder &to,
                                 DiagnosticList &diagnostics) {
  const llvm::StringRef key = keys::balanceLossType.getName();
  Node type = model[key];
  if (type.getText() == "aux_loss")
    to.set(getPath(keys::balanceLossType), "seq_aux_loss", type);
  if (keys::balanceLossFactor.find(model, keys::Mcore).getFloat().value_or(0) <=
      0)
    return;
  llvm::SmallVector<llvm::StringRef, 3> differences;
  if (hasExpertBias(model) ||
      keys::numExpertGroups.find(model).getInt().value_or(0) > 1)
    differences.push_back("after expert bias and groups");
  if (layout.context > 1)
    differences.push_back("of each part of context_parallel on its own");
  if (batchSize > 1 && type.getText() == "seq_aux_loss")
    differences.push_back("of a rank's sequences together");
  if (!differences.empty())
    diagnostics.warning(type.getLocation(),
                        "the balancing loss differs: the static graph counts "
                        "the choices " +
                            llvm::join(differences, ", and "));
}

/// Warns if the static graph chooses from groups of experts in another way.
static void warnAboutGroups(const Node &model, DiagnosticList &diagnostics) {
  auto count = [](const Node &value) { return value.getInt().value_or(0); };
  const Node groups = keys::numExpertGroups.find(model);
  const int64_t kept = count(keys::chosenExpertGroups.find(model));
  const int64_t experts = count(keys::numExperts.find(model));
  const int64_t chosen = count(keys::expertsPerToken.find(model));
  if (count(groups) <= 1 || kept < 1 || experts < 1)
    return;
  constexpr int64_t summed = 2;
  llvm::SmallVector<std::string, 2> differences;
  if (experts > count(groups) && chosen != kept * summed)
    differences.push_back("adds up the best " + std::to_string(chosen) + " / " +
                          std::to_string(kept) +
                          " scores of each, not the best 2");
  if (hasExpertBias(model))
    differences.push_back("gives experts of other groups the score 0, which is "
                          "above one with a large negative bias");
  if (!differences.empty())
    diagnostics.warning(groups.getLocation(),
                        "groups of experts differ: the static graph " +
                            llvm::join(differences, ", and "));
}

/// Returns the sections of the static graph. Emits a warning for each setting
/// that they cannot express.
static Node convertToStatic(const Node &root,
                            const std::optional<MatchedAdapters> &adapters,
                            DiagnosticList &diagnostics) {
  DiagnosticList reading;
  checkDynamicFields(root, reading);
  const DynamicLayout layout = resolveDynamicLayout(root, reading);
  Node sections = translateDynamicFormat(root, layout, reading);
  TrainingConfig config = readTrainingConfig(root, reading);
  if (reading.hasErrors()) {
    diagnostics.append(reading);
    return {};
  }
  NodeBuilder to(root);
  to.set(known::useLegacy.name, "False", root);
  to.setAll(sections);
  auto leaveOut = [&](const DynamicKey &key) {
    warnNoWords(root.getPath(key.getPath()), key.name, "static", diagnostics);
  };
  if (config.recompute.recompute.isTruthy()) {
    const DynamicKey &key = recompute::fullRecomputeLayer;
    if (std::optional<StageTable> table = getRecomputeTable(config))
      to.set(getPath(LayerKey::Recompute),
             makeNumberTable(root.getPath(key.getPath()), *table));
    else
      leaveOut(key);
  }
  leaveOut(recompute::selectModule);
  leaveOut(recompute::excludeOp);
  for (const DynamicKey *key : {&recomputeComm::enable, &swap::enable})
    if (root.getPath(key->getPath()).getBool().value_or(false))
      warnNoWords(root[key->section], key->section, "static", diagnostics);
  const Node optimizer = root[optimizer::section];
  for (llvm::StringRef key : lateAdamKeys)
    if (config.lrSchedule.lateSteps > 0 &&
        optimizer[key].getBool().value_or(false))
      warnNoWords(optimizer[key], key, "static", diagnostics);
  if (Node section = root[lora::section]; adapters) {
    writePetConfig(*adapters, readDynamicDepth(config.model.config), section,
                   to);
    const DynamicReader reader(root, reading);
    for (const DynamicKey *key : {&lora::loraAStd, &lora::loraBStd})
      if (!reader.hasDefault(*key))
        leaveOut(*key);
  }
  const Node model =
      sections.getPath(getPath(modelSection, known::modelConfig));
  warnAboutGroups(model, diagnostics);
  convertBalancingLoss(model, layout, config.runner.batchSize, to, diagnostics);
  leaveOut(training::rampupBatchSize);
  if (layout.getNumRanks() > 1) {
    leaveOut(parallelism::dataParallelShard);
    leaveOut(parallelism::reshardPolicy);
    leaveOut(parallelism::denseFsdpShardSize);
  }
  return to.build();
}

//===----------------------------------------------------------------------===//
// The dynamic graph's sections
//===----------------------------------------------------------------------===//

namespace {

class DynamicSections {
public:
  DynamicSections(const TrainingConfig &config,
                  const std::optional<MatchedAdapters> &adapters,
                  DiagnosticList &diagnostics)
      : config(config), adapters(adapters), diagnostics(diagnostics),
        to(config.root) {}

  Node write();

private:
  void writeTraining();
  void writeParallelism();
  void writeOptimizer();
  void writeModel();
  void writeRecompute(const StageMap &stages);
  void writeStages(const StageMap &stages);
  void set(const DynamicKey &key, const llvm::Twine &text, const Node &origin) {
    to.set(key.getPath(), text, origin);
  }
  void set(const DynamicKey &key, const Node &value) {
    to.set(key.getPath(), value);
  }
  /// Sets a number to that of its counterpart.
  void copy(const DynamicKey &key) {
    set(key, llvm::Twine(*key.counterpart().getValue<int64_t>(config)),
        config.parallel.node);
  }
  void leaveOut(const Node &value, llvm::StringRef what) {
    warnNoWords(value, what, "dynamic", diagnostics);
  }
  /// Leaves out the value of the key with this member.
  template <typename Part, typename Value> void leaveOut(Value Part::*member) {
    leaveOut(config.root.getPath(getPath(member)), known::nameOf(member));
  }

  const TrainingConfig &config;
  const std::optional<MatchedAdapters> &adapters;
  DiagnosticList &diagnostics;
  NodeBuilder to;
};

} // namespace

void DynamicSections::writeTraining() {
  const EffectiveBatch batch = resolveBatch(config, std::nullopt, diagnostics);
  const Node &runner = config.runner.node;
  const RunnerWrapper &wrapper = config.wrapper;
  set(training::localBatchSize, llvm::Twine(batch.batchSize), runner);
  set(training::globalBatchSize, llvm::Twine(batch.globalBatchSize), runner);
  set(training::maxNorm, wrapper.node[known::nameOf(&ClippingConfig::maxNorm)]);
  if (!batch.useClipGrad)
    leaveOut(&RunnerWrapper::useClipGrad);
  set(training::seed, config.root[training::seed.name]);
  if (Node steps =
          config.lrSchedule.node[known::nameOf(&LrScheduleConfig::totalSteps)];
      steps.getInt().value_or(0) > 0)
    set(training::steps, steps);
  if (wrapper.scaleSense.followsOverflows() || wrapper.scaleSense.value != 1.0)
    leaveOut(wrapper.node[known::scaleSense.name], known::scaleSense.name);
}

void DynamicSections::writeParallelism() {
  const ParallelConfig &parallel = config.parallel;
  const Node &node = parallel.node;
  const llvm::StringRef tensor = known::nameOf(&ParallelConfig::modelParallel);
  set(parallelism::dataParallelShard,
      parallel.enableParallelOptimizer ? "-1" : "1", node);
  copy(parallelism::tensorParallel);
  set(parallelism::sequenceParallel, printBool(parallel.modelParallel > 1),
      node);
  copy(parallelism::contextParallel);
  copy(parallelism::expertParallel);
  copy(parallelism::pipelineParallel);
  if (parallel.contextParallel > 1) {
    const ContextMethod &method = getContextMethod(parallel.contextParallelAlgo,
                                                   &ContextMethod::algorithm);
    set(parallelism::contextParallelMethod, method.name, node);
    if (&method == &hybridMethod)
      copy(parallelism::ulyssesDegreeInCp);
  }
  if (parallel.modelParallel > 1 && !parallel.useSeqParallel)
    leaveOut(node[tensor], (tensor + " without " +
                            known::nameOf(&ParallelConfig::useSeqParallel))
                               .str());
  leaveOut(&ParallelConfig::seqSplitNum);
  leaveOut(&ParallelConfig::vocabEmbDp);
  leaveOut(&ParallelConfig::gradientsMean);
  leaveOut(config.root[known::microBatchInterleaveNum.name],
           known::microBatchInterleaveNum.name);
  if (parallel.pipelineStage > 1 && parallel.pipelineScheduler != "1f1b" &&
      parallel.pipelineScheduler != "gpipe")
    leaveOut(pipelineSection.getNode(config.root),
             known::nameOf(&ParallelConfig::pipelineScheduler));
  else if (parallel.pipelineStage > 1)
    set(parallelism::schedule, parallel.pipelineScheduler, node);
}

void DynamicSections::writeOptimizer() {
  const OptimizerConfig &optimizer = config.optimizer;
  const Node &node = optimizer.node;
  if (optimizer.kind != OptimizerKind::AdamW)
    leaveOut(node[optimizer::type.name], "type of optimizer");
  set(optimizer::type, "AdamW", node);
  set(optimizer::betas,
      makeList(node, {makeScalar(node, printReal(optimizer.beta1)),
                      makeScalar(node, printReal(optimizer.beta2))}));
  set(optimizer::eps, printReal(optimizer.eps), node);
  set(optimizer::weightDecay, printReal(optimizer.weightDecay), node);
  const LrScheduleSection &schedule = config.lrSchedule;
  const Node &rates = schedule.node;
  set(lrScheduler::type, makeString(rates, schedule.type));
  for (const Node::Entry &entry : rates.getEntries())
    if (llvm::StringRef key = entry.key.getText();
        key != known::nameOf(&LrScheduleConfig::totalSteps))
      to.set((lrScheduler::section + "." + key).str(), entry.value);
  set(lrScheduler::learningRate, printReal(schedule.learningRate), rates);
  leaveOut(groupedLrSection.getNode(config.root), groupedLrSection.name);
}

void DynamicSections::writeStages(const StageMap &stages) {
  const int64_t count = stages.getNumStages();
  if (count == 1)
    return;
  const Node &origin = config.parallel.node;
  if (stages.getNumChunks() > 1)
    set(parallelism::interleaveNum, llvm::Twine(stages.getNumChunks()), origin);
  const int64_t numLayers = readDynamicDepth(config.model.config).layers;
  std::vector<Node> rows;
  for (int64_t stage = 0; stage < count; ++stage) {
    std::string row;
    for (int64_t chunk = 0; chunk < stages.getNumChunks(); ++chunk) {
      std::vector<int64_t> layers = stages.getLayers(stage, chunk);
      llvm::erase_if(layers, [&](int64_t layer) { return layer >= numLayers; });
      if (layers.empty())
        return leaveOut(keys::offset.find(config.model.config),
                        "stages without layers");
      row += (row.empty() ? "" : ", ") + std::to_string(layers.front()) + "-" +
             std::to_string(layers.back());
    }
    rows.push_back(makeString(origin, row));
  }
  set(parallelism::layersPerStage, makeList(origin, std::move(rows)));
}

void DynamicSections::writeRecompute(const StageMap &stages) {
  const RecomputeConfig &recompute = config.recompute;
  for (const LayerKey key :
       {LayerKey::SelectRecompute, LayerKey::SelectCommRecompute,
        LayerKey::SelectRecomputeExclude, LayerKey::SelectCommRecomputeExclude})
    if (Node value = recompute.node[getName(key)];
        value && value.getBool().value_or(true))
      leaveOut(value, getName(key));
  if (config.swap.swap)
    leaveOut(swapSection.getNode(config.root), swapSection.name);
  const LayerSelection &selection = recompute.recompute.selection;
  const bool dealsCounts = selection.kind == LayerSelection::Kind::Counts &&
                           (stages.getNumChunks() > 1 || config.swap.swap);
  if (!recompute.recompute.isTruthy())
    return;
  const llvm::StringRef key = getName(LayerKey::Recompute);
  Node value = recompute.node[key];
  if (dealsCounts)
    return leaveOut(value, key);
  DiagnosticList ignored;
  const NormalizedLayers layers =
      LayerNormalizer(stages, config.swap.swap, ignored)
          .normalize(selection, key);
  std::vector<Node> items;
  for (int64_t layer = 0; layer < stages.getNumLayers(); ++layer)
    if (layers.covers(stages, layer))
      items.push_back(makeString(value, llvm::Twine(layer)));
  if (items.empty())
    return;
  set(recompute::mode, "full", value);
  set(recompute::fullRecomputeLayer, makeList(value, std::move(items)));
}

void DynamicSections::writeModel() {
  for (const Node::Entry &entry : config.model.config.getEntries())
    if (llvm::StringRef key = entry.key.getText();
        key != keys::offset.getName() && key != keys::interleave.getName() &&
        key != keys::adapters.getName())
      to.set((model::section + "." + key).str(), entry.value);
  if (!adapters)
    return;
  Node section = findPetConfig(config.root);
  if (adapters->alpha != std::floor(adapters->alpha))
    diagnostics.error(section[lora::loraAlpha.name].getLocation(),
                      "expected a whole number for " +
                          quote(lora::loraAlpha.name) +
                          ", as the dynamic graph has, but got " +
                          formatDigits(adapters->alpha, 6));
  writeLoraConfig(*adapters, readDynamicDepth(config.model.config), section,
                  to);
}

Node DynamicSections::write() {
  writeTraining();
  writeParallelism();
  std::optional<StageMap> stages =
      StageMap::create(getStageMapOptions(config, diagnostics), diagnostics);
  if (stages) {
    writeStages(*stages);
    writeRecompute(*stages);
  }
  writeOptimizer();
  Node loader = config.root[known::trainDataset.name][known::dataLoader];
  if (loader)
    to.set(dataloader::section, loader);
  else
    set(dataloader::type, "MindDataset", config.root);
  writeModel();
  set(context::maxDeviceMemory, config.context.node[known::deviceMemory.name]);
  return to.build();
}

std::string convertYaml(const Node &root,
                        const std::optional<MatchedAdapters> &adapters,
                        DiagnosticList &diagnostics) {
  if (!root.isMap()) {
    diagnostics.error(root.getLocation(),
                      "expected a map of sections, but got " +
                          describe(root.getKind()));
    return {};
  }
  const bool isDynamic = isDynamicFormat(root, diagnostics);
  if (diagnostics.hasErrors())
    return {};
  Node converted;
  if (isDynamic) {
    converted = convertToStatic(root, adapters, diagnostics);
  } else {
    DiagnosticList reading;
    const TrainingConfig config = readTrainingConfig(root, reading);
    if (reading.hasErrors())
      diagnostics.append(reading);
    else
      converted = DynamicSections(config, adapters, diagnostics).write();
  }
  return diagnostics.hasErrors() ? std::string() : printYaml(converted);
}

} // namespace mf
