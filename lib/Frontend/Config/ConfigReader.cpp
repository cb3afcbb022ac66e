//===- ConfigReader.cpp - Reads training YAMLs ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/ConfigReader.h"
#include "DynamicConfig.h"
#include "SectionReader.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "mf/Layers/LayerSettings.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <set>

using namespace llvm;

namespace mf {

static constexpr StringLiteral overlapKey = "pp_1f1b_overlap";

/// The exchanges beside which MindSpore lets a pair compute.
static constexpr StringLiteral pairExchanges[] = {
    "AlltoAll",  "AlltoAllV",     "MorphAllGather",    "AllReduce",
    "AllGather", "ReduceScatter", "MorphReduceScatter"};

/// Returns the path of the file, or nothing if there is none.
static std::optional<std::string> findFile(const Node &key) {
  const Location location = key.getLocation();
  const StringRef folder = sys::path::parent_path(location.file);
  const StringRef asked = key.getText();
  for (const StringRef name : {asked, sys::path::filename(asked)}) {
    SmallString<128> path(name);
    if (!sys::path::is_absolute(name)) {
      path = folder;
      sys::path::append(path, name);
    }
    if (sys::fs::is_regular_file(path))
      return path.str().str();
  }
  return std::nullopt;
}

/// Returns whether the value names exchanges.
static bool readOverlap(const Node &value, DiagnosticList &diagnostics) {
  const std::string known = join(ArrayRef(pairExchanges), ", ");
  if (!value.isString()) {
    rejectValue(value, "text with names of " + known, diagnostics);
    return false;
  }
  SmallVector<StringRef> names;
  value.getText().split(names, ',', -1, /*KeepEmpty=*/false);
  for (const StringRef name : names)
    if (!is_contained(pairExchanges, name.trim())) {
      rejectValue(value, "names of " + known + ", divided by commas",
                  diagnostics);
      return false;
    }
  return !names.empty();
}

/// Reads pp_1f1b_overlap from the JSON file that parallel_speed_up_json_path of
/// `ascend`, the section ascend_config, names: in the folder of the YAML, by
/// its path or by its name alone. Warns if the schedule depends on a file that
/// is not there. Other keys of the file change no values and no memory.
static void readSpeedUpFile(const Node &ascend, ParallelConfig &parallel,
                            DiagnosticList &diagnostics) {
  const Node key = ascend[known::speedUpPath.name];
  // Other schedules have no pairs.
  if (!key.isString() || parallel.pipelineScheduler != "zero_bubble_v" ||
      parallel.pipelineStage == 1)
    return;
  const std::optional<std::string> path = findFile(key);
  if (!path) {
    diagnostics.warning(key.getLocation(),
                        "there is no '" + key.getText() +
                            "' in the folder of this file: forwards and "
                            "backwards are not paired, which " +
                            overlapKey +
                            " in it would ask for; put the file there");
    return;
  }
  const Node file = parseYamlFile(*path, diagnostics);
  if (const Node value = file[overlapKey])
    parallel.pairsV = readOverlap(value, diagnostics);
}

/// The number of ranks of a stage that MindSpore Transformers' documentation of
/// auto parallel assumes for each of its models. The names come from the
/// comments in its YAML files.
static constexpr int64_t ranksOfStage = 8;

static int64_t countReplicas(const ParallelConfig &parallel) {
  if (parallel.deviceNum <= 0)
    return ranksOfStage;
  const int64_t others = parallel.getDeviceCount() / parallel.dataParallel;
  return std::max<int64_t>(1, parallel.deviceNum / others);
}

/// Says how a YAML asks for a layout instead.
static std::string adviseLayout() {
  return ("set " + known::parallelMode.name + " to 1, " +
          known::nameOf(&ParallelConfig::dataParallel) + " and " +
          known::nameOf(&ParallelConfig::modelParallel) + ", and " +
          known::nameOf(&RunnerConfig::batchSize) +
          " to the rows of one replica")
      .str();
}

/// Divides batch_size by the number of replicas: with full_batch it is the
/// number of rows of all replicas.
static void shareOutBatch(TrainingConfig &config, DiagnosticList &diagnostics) {
  Node rows = known::find(config.runner, &RunnerConfig::batchSize);
  const int64_t replicas = config.parallel.dataParallel;
  if (!rows || !config.parallel.fullBatch)
    return;
  if (config.runner.batchSize % replicas == 0) {
    config.runner.batchSize /= replicas;
    return;
  }
  diagnostics.error(
      rows.getLocation(),
      known::nameWith(&RunnerConfig::batchSize, config.runner.batchSize) +
          " is that of a stage with " + known::parallelMode.name +
          " 2 and no " + known::nameOf(&ParallelConfig::dataParallel) +
          ", and does not divide over " + llvm::Twine(replicas) + " ranks; " +
          adviseLayout());
}

static std::string describeLayout(const TrainingConfig &config) {
  const ParallelConfig &parallel = config.parallel;
  auto print = [&](int64_t ParallelConfig::*size) {
    return known::nameWith(size, parallel.*size);
  };
  return print(&ParallelConfig::dataParallel) + ", " +
         print(&ParallelConfig::modelParallel) + ", " +
         (parallel.contextParallel > 1
              ? print(&ParallelConfig::contextParallel) + ", "
              : "") +
         print(&ParallelConfig::pipelineStage);
}

/// In auto parallel, MindSpore searches a layout for each operator. This
/// project does not repeat that search: the step is that of semi-auto parallel
/// with the layout of parallel_config. Without a layout there, all ranks of a
/// stage are replicas, and batch_size, which then is the batch size of the
/// stage, is divided among them. Emits a warning at parallel_mode.
static void resolveAutoLayout(TrainingConfig &config,
                              DiagnosticList &diagnostics) {
  ParallelConfig &parallel = config.parallel;
  if (parallel.parallelMode != ParallelMode::Auto)
    return;
  const std::string key = known::parallelMode.name.str();
  Node mode = parallel.parallelNode[key];
  const std::string searched = key + " " + mode.repr(60) +
                               " is auto parallel: MindSpore searches a layout "
                               "for each operator, which is not modelled; ";
  if (known::find(parallel, &ParallelConfig::dataParallel) ||
      known::find(parallel, &ParallelConfig::modelParallel)) {
    diagnostics.warning(mode.getLocation(), searched + "the step is that of " +
                                                key + " 1 with " +
                                                describeLayout(config));
    return;
  }
  parallel.dataParallel = countReplicas(parallel);
  const int64_t wholeBatch = config.runner.batchSize;
  shareOutBatch(config, diagnostics);
  std::string batch;
  if (config.runner.batchSize != wholeBatch)
    batch = " and " + known::nameWith(&RunnerConfig::batchSize, wholeBatch) +
            ", that of a stage, as " + std::to_string(config.runner.batchSize) +
            " of each replica";
  diagnostics.warning(mode.getLocation(),
                      searched + parallelConfigSection.name +
                          " has none either, so the step is that of " + key +
                          " 1 with " + describeLayout(config) + batch + "; " +
                          adviseLayout());
}

/// Reads a section of which all keys are members of its part of `config`.
template <typename Part>
static void readSection(const Node &root, const KnownSection &section,
                        Part TrainingConfig::*part, TrainingConfig &config,
                        DiagnosticList &diagnostics) {
  SectionReader reader(section.getNode(root), section, diagnostics);
  (config.*part).node = reader.getNode();
  reader.readAll(config);
}

/// The names of modes, in the order of ParallelMode. All but the first also
/// have a number, from 0 on.
static constexpr StringLiteral parallelModeNames[] = {
    "stand_alone", "data_parallel", "semi_auto_parallel", "auto_parallel",
    "hybrid_parallel"};

static ParallelMode readParallelMode(SectionReader &reader) {
  Node value = reader.get(known::parallelMode);
  if (!value)
    return ParallelMode::SemiAuto;
  const std::string text = value.getText().lower();
  for (auto [number, name] : enumerate(parallelModeNames))
    if (text == name || (number > 0 && text == std::to_string(number - 1)))
      return static_cast<ParallelMode>(number);
  reader.rejectValue(known::parallelMode,
                     "0 (data parallel), 1 (semi-auto parallel), 2 (auto "
                     "parallel), 3 (hybrid parallel) or one of their names");
  return ParallelMode::SemiAuto;
}

static void readOptimizerSharding(const Node &root, TrainingConfig &config,
                                  DiagnosticList &diagnostics) {
  SectionReader reader(parallelOptimizerSection.getNode(root),
                       parallelOptimizerSection, diagnostics);
  ParallelConfig &parallel = config.parallel;
  reader.readAll(config);
  std::string level = reader.readString(
      known::optimizerLevel,
      parallel.gradientAccumulationShard ? "level2" : "level1",
      {"level1", "level2", "level3"});
  parallel.optimizerShard.level = level.back() - '0';
}

static void readParallelConfig(const Node &root, TrainingConfig &config,
                               DiagnosticList &diagnostics) {
  readSection(root, parallelConfigSection, &TrainingConfig::parallel, config,
              diagnostics);
  ParallelConfig &parallel = config.parallel;
  SectionReader reader(parallelSection.getNode(root), parallelSection,
                       diagnostics);
  parallel.parallelNode = reader.getNode();
  parallel.parallelMode = readParallelMode(reader);
  reader.readAll(config);
  readOptimizerSharding(root, config, diagnostics);
  SectionReader(pipelineSection.getNode(root), pipelineSection, diagnostics)
      .readAll(config);
  if (parallel.pipelineStage > 1 || parallel.parallelMode == ParallelMode::Auto)
    parallel.vocabEmbDp = false;
}

/// jit_level is in jit_config, or in older files in the enclosing section.
static bool readGraphKernelFusion(const Node &root, SectionReader &context,
                                  DiagnosticList &diagnostics) {
  SectionReader jit(jitConfigSection.getNode(root), jitConfigSection,
                    diagnostics);
  bool fuses = false;
  for (SectionReader *reader : {&context, &jit})
    if (Node value = reader->get(known::jitLevel)) {
      llvm::StringRef level = value.getText();
      if (level != "O0" && level != "O1" && level != "O2")
        reader->rejectValue(known::jitLevel, "'O0', 'O1' or 'O2'");
      fuses = level == "O1";
    }
  return fuses || context.readBool(known::graphKernel, false);
}

/// MindSpore takes sizes in GB only; MB and KB are for small examples.
static void readDeviceMemory(SectionReader &reader, const Node &value,
                             ContextConfig &config) {
  const llvm::StringRef text = value.getText();
  const bool hasUnit =
      text.ends_with("GB") || text.ends_with("MB") || text.ends_with("KB");
  const std::optional<int64_t> bytes =
      value.isString() && hasUnit ? parseMemorySize(text) : std::nullopt;
  config.hasMaxDeviceMemory = bytes.has_value();
  if (bytes) {
    config.maxDeviceMemory = *bytes;
    return;
  }
  const std::string inGb = text.rtrim("GiB").str() + "GB";
  reader.rejectValue(known::deviceMemory,
                     "a size such as '58GB'" +
                         std::string(parseMemorySize(inGb)
                                         ? " (write " + quote(inGb) + ")"
                                         : ""));
}

static ContextConfig readContext(const Node &root,
                                 DiagnosticList &diagnostics) {
  SectionReader reader(contextSection.getNode(root), contextSection,
                       diagnostics);
  ContextConfig config;
  config.node = reader.getNode();
  if (Node value = reader.get(known::deviceMemory))
    readDeviceMemory(reader, value, config);
  if (Node value = reader.get(known::memoryOptimizeLevel)) {
    llvm::StringRef level = value.getText();
    config.hasMemoryOptimizeLevel = level == "O0" || level == "O1";
    if (config.hasMemoryOptimizeLevel)
      config.memoryOptimizeLevel = level.str();
    else
      reader.rejectValue(known::memoryOptimizeLevel, "'O0' or 'O1'");
  }
  SectionReader ascend(ascendConfigSection.getNode(root), ascendConfigSection,
                       diagnostics);
  config.graphKernelFusion = readGraphKernelFusion(root, reader, diagnostics);
  return config;
}

static ModelSection readModel(const Node &root, DiagnosticList &diagnostics) {
  SectionReader reader(modelSection.getNode(root), modelSection, diagnostics);
  ModelSection model;
  model.node = reader.getNode();
  model.config = reader.get(known::modelConfig);
  if (!model.config.isUndefinedOrNull() && !model.config.isMap()) {
    reader.rejectValue(known::modelConfig, "a map");
    model.config = Node();
  }
  model.adapters = keys::adapters.find(model.config);
  Node arch = reader.get(known::arch);
  if (arch.isMap())
    arch = arch["type"];
  if (arch.isString())
    model.arch = arch.getText().str();
  return model;
}

static void readTopLevel(const Node &root, TrainingConfig &config,
                         DiagnosticList &diagnostics) {
  checkKeys(root, topLevel, diagnostics);
  auto reject = [&](const KnownKey &key, llvm::StringRef wanted) {
    const Node value = root[key.name];
    diagnostics.error(value.getLocation(), "expected " + wanted + " for " +
                                               quote(key.name) + ", but got " +
                                               value.repr(60));
  };
  if (Node value = root[known::useParallel.name]) {
    config.parallel.useParallelNode = value;
    if (!value.isBool())
      reject(known::useParallel, "a bool");
    else if (!*value.getBool())
      config.parallel.parallelMode = ParallelMode::StandAlone;
  }
  if (Node value = root[known::useLegacy.name]) {
    config.useLegacy = value.getBool();
    if (!value.isBool())
      reject(known::useLegacy, "a bool");
  }
  if (Node value = root[known::microBatchInterleaveNum.name]) {
    int64_t number = value.getInt().value_or(0);
    if (number >= 1 && number <= known::ofCopies.value)
      config.parallel.microBatchInterleaveNum = number;
    else
      reject(known::microBatchInterleaveNum,
             "an int from 1 to " + std::to_string(known::ofCopies.value));
  }
}

/// With swap enabled, lists contain layer indices, so a list of names selects
/// no layers.
static void rejectNamesWithSwap(const RecomputeConfig &recompute,
                                DiagnosticList &diagnostics) {
  auto check = [&](const LayerSelection &layers, llvm::StringRef what,
                   const Location &location) {
    if (layers.kind == LayerSelection::Kind::Names)
      diagnostics.error(location,
                        "expected a bool or a list of layer indices for " +
                            what + " with swap on, but got a list of strings");
  };
  for (auto [key, setting] :
       {std::pair(LayerKey::Recompute, &recompute.recompute),
        std::pair(LayerKey::SelectRecompute, &recompute.selectRecompute),
        std::pair(LayerKey::SelectCommRecompute,
                  &recompute.selectCommRecompute)}) {
    check(setting->selection, quote(getName(key)), setting->location);
    for (const LayerSetting::Pattern &pattern : setting->patterns)
      check(pattern.layers, getName(key).str() + " " + quote(pattern.text),
            pattern.layers.location);
  }
}

/// Checks the settings that the class Muon refuses.
static void checkMuon(const TrainingConfig &config,
                      DiagnosticList &diagnostics) {
  if (!config.optimizer.muon)
    return;
  const KnownKey &swap = known::findKey(&OptimizerConfig::swap);
  if (config.optimizer.swap)
    diagnostics.error(config.optimizer.node[swap.name].getLocation(),
                      "optimizer Muon does not support swap; remove " +
                          quote(swap.name) + " or take AdamW");
  const ParallelConfig &parallel = config.parallel;
  const int64_t shards = parallel.optimizerShard.weightShardSize;
  const int64_t replicas = parallel.dataParallel * parallel.contextParallel;
  if (parallel.enableParallelOptimizer && shards > replicas)
    diagnostics.error(
        known::find(parallelOptimizerSection, config.root,
                    &OptimizerShardConfig::weightShardSize)
            .getLocation(),
        "expected at most the " + llvm::Twine(replicas) + " replicas of " +
            known::nameWith(&ParallelConfig::dataParallel,
                            parallel.dataParallel) +
            " and " +
            known::nameWith(&ParallelConfig::contextParallel,
                            parallel.contextParallel) +
            " for " +
            quote(known::nameOf(&OptimizerShardConfig::weightShardSize)) +
            " with Muon, but got " + llvm::Twine(shards));
}

/// Checks the conditions between sections.
static void checkSections(const TrainingConfig &config,
                          DiagnosticList &diagnostics) {
  const llvm::StringRef pieces = known::nameOf(&ParallelConfig::seqSplitNum);
  const llvm::StringRef level = known::memoryOptimizeLevel.name;
  if (config.parallel.seqSplitNum > 1 && config.recompute.recompute.isTruthy())
    diagnostics.error(config.recompute.recompute.location,
                      "full recompute does not work with " + pieces +
                          " > 1; set " + getName(LayerKey::Recompute) +
                          " to False, or " + pieces + " to 1");
  checkMuon(config, diagnostics);
  if (!config.swap.swap)
    return;
  rejectNamesWithSwap(config.recompute, diagnostics);
  if (config.context.memoryOptimizeLevel != "O0")
    diagnostics.warning(
        config.context.node[level].getLocation(),
        "swap needs " + level +
            " 'O0': memory reuse across devices is not supported at " +
            quote(config.context.memoryOptimizeLevel));
}

/// Reads the sections of the static graph.
static TrainingConfig readStaticFormat(const Node &root,
                                       DiagnosticList &diagnostics) {
  TrainingConfig config;
  config.root = root;
  readSection(root, recomputeSection, &TrainingConfig::recompute, config,
              diagnostics);
  readSwapConfig(root, config, diagnostics);
  readParallelConfig(root, config, diagnostics);
  readSection(root, runnerSection, &TrainingConfig::runner, config,
              diagnostics);
  readRunnerWrapper(root, config, diagnostics);
  readOptimizer(root, config, diagnostics);
  readLrSchedules(root, config, diagnostics);
  config.context = readContext(root, diagnostics);
  readSpeedUpFile(ascendConfigSection.getNode(root), config.parallel,
                  diagnostics);
  config.model = readModel(root, diagnostics);
  readSection(root, moeSection, &TrainingConfig::moe, config, diagnostics);
  readCallbacks(root, config, diagnostics);
  readTopLevel(root, config, diagnostics);
  resolveAutoLayout(config, diagnostics);
  checkSections(config, diagnostics);
  return config;
}

/// Translates the sections of the dynamic graph into those of the static graph
/// and reads the result.
static TrainingConfig readDynamicFormat(const Node &root,
                                        DiagnosticList &diagnostics) {
  checkDynamicFields(root, diagnostics);
  const DynamicLayout layout = resolveDynamicLayout(root, diagnostics);
  TrainingConfig config = readStaticFormat(
      translateDynamicFormat(root, layout, diagnostics), diagnostics);
  addDynamicSettings(root, layout, config, diagnostics);
  return config;
}

TrainingConfig readTrainingConfig(const Node &root,
                                  DiagnosticList &diagnostics) {
  if (!root.isUndefinedOrNull() && !root.isMap())
    diagnostics.error(root.getLocation(),
                      "expected a map of sections, but got " +
                          describe(root.getKind()));
  if (!root || (!root.isMap() && !root.isUndefinedOrNull())) {
    TrainingConfig config;
    config.root = root;
    return config;
  }
  const size_t errors = diagnostics.getErrorCount();
  const bool isDynamic = isDynamicFormat(root, diagnostics);
  if (diagnostics.getErrorCount() != errors) {
    TrainingConfig config;
    config.root = root;
    return config;
  }
  return isDynamic ? readDynamicFormat(root, diagnostics)
                   : readStaticFormat(root, diagnostics);
}

TrainingConfig parseTrainingConfig(llvm::StringRef text,
                                   llvm::StringRef fileName,
                                   DiagnosticList &diagnostics) {
  return readTrainingConfig(parseYaml(text, fileName, diagnostics),
                            diagnostics);
}

TrainingConfig parseTrainingConfigFile(llvm::StringRef path,
                                       DiagnosticList &diagnostics) {
  return readTrainingConfig(parseYamlFile(path, diagnostics), diagnostics);
}

/// Returns the line at which the section around a line begins; 0 if there is
/// none.
static unsigned findSection(const Node &root, unsigned line) {
  unsigned begin = 0;
  for (const Node::Entry &entry : root.getEntries())
    if (const unsigned key = entry.key.getLocation().line; key <= line)
      begin = std::max(begin, key);
  return begin;
}

DiagnosticList findIndependent(llvm::ArrayRef<Diagnostic> later,
                               const DiagnosticList &known, const Node &root) {
  std::set<unsigned> wrong;
  for (const Diagnostic &message : known.getAll())
    if (message.severity == Severity::Error)
      wrong.insert(findSection(root, message.location.line));
  DiagnosticList independent;
  for (const Diagnostic &message : later) {
    const unsigned section = findSection(root, message.location.line);
    if (!wrong.empty() && (section == 0 || wrong.count(section) != 0))
      continue;
    Diagnostic &copy =
        message.severity == Severity::Error
            ? independent.error(message.location, message.message)
            : independent.warning(message.location, message.message);
    copy.notes = message.notes;
  }
  return independent;
}

llvm::StringRef getName(ParallelMode mode) {
  return parallelModeNames[static_cast<size_t>(mode)];
}

int64_t ParallelConfig::getDeviceCount() const {
  // Each is at most 2^31 - 1; a product beyond 64 bits saturates.
  int64_t count = dataParallel;
  for (int64_t factor : {modelParallel, contextParallel, pipelineStage})
    if (__builtin_mul_overflow(count, factor, &count))
      return INT64_MAX;
  return count;
}

} // namespace mf
