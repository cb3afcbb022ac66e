//===- TrainingConfig.cpp - A training YAML as typed values ---------------===//

#include "mf/Frontend/Config/TrainingConfig.h"
#include "AutoLayout.h"
#include "CallbackReader.h"
#include "SectionReader.h"
#include "StepOptionReader.h"
#include "SwapReader.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Frontend/Config/PipelineRules.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

namespace mf {

llvm::StringRef getName(ParallelMode mode) {
  switch (mode) {
  case ParallelMode::StandAlone:
    return "stand_alone";
  case ParallelMode::DataParallel:
    return "data_parallel";
  case ParallelMode::SemiAuto:
    return "semi_auto_parallel";
  case ParallelMode::Auto:
    return "auto_parallel";
  case ParallelMode::Hybrid:
    return "hybrid_parallel";
  }
  llvm_unreachable("unknown mode");
}

int64_t ParallelConfig::getDeviceCount() const {
  // Each is at most 2^31 - 1; a product beyond 64 bits saturates.
  int64_t count = dataParallel;
  for (int64_t factor : {modelParallel, contextParallel, pipelineStage})
    if (__builtin_mul_overflow(count, factor, &count))
      return INT64_MAX;
  return count;
}

static RecomputeConfig readRecomputeConfig(const Node &root,
                                           DiagnosticList &diagnostics) {
  SectionReader reader(root, "recompute_config", recomputeSection, diagnostics);
  RecomputeConfig config;
  config.node = reader.getNode();
  auto readSetting = [&](llvm::StringRef key, bool allowPatterns,
                         LayerSetting &setting) {
    Node value = reader.get(key);
    if (!value)
      return;
    if (auto read = readLayerSetting(value, key, allowPatterns, diagnostics))
      setting = std::move(*read);
  };
  readSetting("recompute", false, config.recompute);
  readSetting("select_recompute", true, config.selectRecompute);
  readSetting("select_comm_recompute", true, config.selectCommRecompute);
  readSetting("select_recompute_exclude", true, config.selectRecomputeExclude);
  readSetting("select_comm_recompute_exclude", true,
              config.selectCommRecomputeExclude);
  config.parallelOptimizerCommRecompute =
      reader.readBool("parallel_optimizer_comm_recompute",
                      config.parallelOptimizerCommRecompute);
  config.mpCommRecompute =
      reader.readBool("mp_comm_recompute", config.mpCommRecompute);
  config.recomputeSliceActivation = reader.readBool(
      "recompute_slice_activation", config.recomputeSliceActivation);
  return config;
}

static ParallelMode readParallelMode(SectionReader &reader) {
  Node value = reader.get("parallel_mode");
  if (!value)
    return ParallelMode::SemiAuto;
  auto mode =
      llvm::StringSwitch<std::optional<ParallelMode>>(value.getText().lower())
          .Cases({"0", "data_parallel"}, ParallelMode::DataParallel)
          .Cases({"1", "semi_auto_parallel"}, ParallelMode::SemiAuto)
          .Cases({"2", "auto_parallel"}, ParallelMode::Auto)
          .Cases({"3", "hybrid_parallel"}, ParallelMode::Hybrid)
          .Case("stand_alone", ParallelMode::StandAlone)
          .Default(std::nullopt);
  if (mode)
    return *mode;
  reader.rejectValue("parallel_mode", value,
                     "0 (data parallel), 1 (semi-auto parallel), 2 (auto "
                     "parallel), 3 (hybrid parallel) or one of their names");
  return ParallelMode::SemiAuto;
}

/// The error for a `value` of `key` that is none of `known`.
static void checkName(SectionReader &reader, llvm::StringRef key,
                      llvm::StringRef value,
                      llvm::ArrayRef<llvm::StringRef> known) {
  if (!llvm::is_contained(known, value))
    reader.diagnostics.error(reader.get(key).getLocation(),
                             "unknown " + key + " " + quote(value) +
                                 suggest(value, known) + "; known are " +
                                 llvm::join(known, ", "));
}

static void readParallelSection(const Node &root, ParallelConfig &config,
                                DiagnosticList &diagnostics) {
  SectionReader reader(root, "parallel", parallelSection, diagnostics);
  config.parallelNode = reader.getNode();
  config.parallelMode = readParallelMode(reader);
  config.fullBatch = reader.readBool("full_batch", config.fullBatch);
  config.gradientsMean =
      reader.readBool("gradients_mean", config.gradientsMean);
  config.enableParallelOptimizer = reader.readBool(
      "enable_parallel_optimizer", config.enableParallelOptimizer);
  if (Node devices = reader.get("device_num");
      devices && devices.getKind() != NodeKind::Null)
    config.deviceNum = reader.readInt("device_num", config.deviceNum);

  SectionReader optimizer(reader.getNode(), "parallel_optimizer_config",
                          parallelOptimizerSection, diagnostics);
  config.gradientAccumulationShard = optimizer.readBool(
      "gradient_accumulation_shard", config.gradientAccumulationShard);
  config.parallelOptimizerThreshold = optimizer.readInt(
      "parallel_optimizer_threshold", config.parallelOptimizerThreshold, 0);
  config.optimizerWeightShardSize = optimizer.readInt(
      "optimizer_weight_shard_size", config.optimizerWeightShardSize, -1);
  if (config.optimizerWeightShardSize == 0)
    diagnostics.error(
        optimizer.get("optimizer_weight_shard_size").getLocation(),
        "expected a number of ranks, or -1 for all, for "
        "'optimizer_weight_shard_size', but got 0");
  config.optimizerLevel = config.gradientAccumulationShard ? 2 : 1;
  std::string level = optimizer.readString(
      "optimizer_level", "level" + std::to_string(config.optimizerLevel));
  checkName(optimizer, "optimizer_level", level,
            {"level1", "level2", "level3"});
  config.optimizerLevel = llvm::StringSwitch<int64_t>(level)
                              .Case("level2", 2)
                              .Case("level3", 3)
                              .Default(1);

  SectionReader pipeline(reader.getNode(), "pipeline_config", pipelineSection,
                         diagnostics);
  config.pipelineInterleave =
      pipeline.readBool("pipeline_interleave", config.pipelineInterleave);
  config.pipelineScheduler =
      pipeline.readString("pipeline_scheduler", config.pipelineScheduler);
  checkName(pipeline, "pipeline_scheduler", config.pipelineScheduler,
            getPipelineSchedulers());
}

static ParallelConfig readParallelConfig(const Node &root,
                                         DiagnosticList &diagnostics) {
  ParallelConfig config;
  SectionReader reader(root, "parallel_config", parallelConfigSection,
                       diagnostics);
  config.node = reader.getNode();
  config.dataParallel = reader.readInt("data_parallel", config.dataParallel);
  config.modelParallel = reader.readInt("model_parallel", config.modelParallel);
  config.contextParallel =
      reader.readInt("context_parallel", config.contextParallel);
  config.expertParallel =
      reader.readInt("expert_parallel", config.expertParallel);
  config.pipelineStage = reader.readInt("pipeline_stage", config.pipelineStage);
  config.microBatchNum =
      reader.readInt("micro_batch_num", config.microBatchNum);
  config.seqSplitNum = reader.readInt("seq_split_num", config.seqSplitNum);
  config.gradientAggregationGroup = reader.readInt(
      "gradient_aggregation_group", config.gradientAggregationGroup);
  config.useSeqParallel =
      reader.readBool("use_seq_parallel", config.useSeqParallel);
  config.vocabEmbDp = reader.readBool("vocab_emb_dp", config.vocabEmbDp);
  config.contextParallelAlgo =
      reader.readString("context_parallel_algo", config.contextParallelAlgo);
  checkName(reader, "context_parallel_algo", config.contextParallelAlgo,
            {"colossalai_cp", "ulysses_cp", "hybrid_cp"});
  config.ulyssesDegreeInCp =
      reader.readInt("ulysses_degree_in_cp", config.ulyssesDegreeInCp);
  readParallelSection(root, config, diagnostics);
  if (config.pipelineStage > 1 || config.parallelMode == ParallelMode::Auto)
    config.vocabEmbDp = false;
  return config;
}

static RunnerConfig readRunnerConfig(const Node &root,
                                     DiagnosticList &diagnostics) {
  SectionReader reader(root, "runner_config", runnerSection, diagnostics);
  RunnerConfig config;
  config.node = reader.getNode();
  config.batchSize = reader.readInt("batch_size", config.batchSize);
  Node steps = reader.get("gradient_accumulation_steps");
  if (steps.getKind() != NodeKind::Null)
    config.gradientAccumulationSteps = reader.readInt(
        "gradient_accumulation_steps", config.gradientAccumulationSteps);
  return config;
}

/// jit_level stands in jit_config, or in older files beside it.
static bool readGraphKernelFusion(SectionReader &context,
                                  DiagnosticList &diagnostics) {
  SectionReader jit(context.getNode(), "jit_config", jitConfigSection,
                    diagnostics);
  bool fuses = false;
  for (SectionReader *reader : {&context, &jit})
    if (Node value = reader->get("jit_level")) {
      llvm::StringRef level = value.getText();
      if (level != "O0" && level != "O1" && level != "O2")
        reader->rejectValue("jit_level", value, "'O0', 'O1' or 'O2'");
      fuses = level == "O1";
    }
  return fuses || context.readBool("enable_graph_kernel", false);
}

static ContextConfig readContext(const Node &root,
                                 DiagnosticList &diagnostics) {
  SectionReader reader(root, "context", contextSection, diagnostics);
  ContextConfig config;
  config.node = reader.getNode();
  if (Node value = reader.get("max_device_memory")) {
    auto bytes =
        value.isString() ? parseMemorySize(value.getText()) : std::nullopt;
    config.hasMaxDeviceMemory = bytes.has_value();
    if (bytes)
      config.maxDeviceMemory = *bytes;
    else
      reader.rejectValue("max_device_memory", value, "a size such as '58GB'");
  }
  if (Node value = reader.get("memory_optimize_level")) {
    llvm::StringRef level = value.getText();
    config.hasMemoryOptimizeLevel = level == "O0" || level == "O1";
    if (config.hasMemoryOptimizeLevel)
      config.memoryOptimizeLevel = level.str();
    else
      reader.rejectValue("memory_optimize_level", value, "'O0' or 'O1'");
  }
  SectionReader ascend(reader.getNode(), "ascend_config", ascendConfigSection,
                       diagnostics);
  config.graphKernelFusion = readGraphKernelFusion(reader, diagnostics);
  return config;
}

static ModelSection readModel(const Node &root, DiagnosticList &diagnostics) {
  SectionReader reader(root, "model", modelSection, diagnostics);
  ModelSection model;
  model.node = reader.getNode();
  model.config = reader.get("model_config");
  if (!model.config.isUndefinedOrNull() && !model.config.isMap()) {
    reader.rejectValue("model_config", model.config, "a map");
    model.config = Node();
  }
  Node arch = reader.get("arch");
  if (arch.isMap())
    arch = arch["type"];
  if (arch.isString())
    model.arch = arch.getText().str();
  return model;
}

static void readTopLevel(const Node &root, TrainingConfig &config,
                         DiagnosticList &diagnostics) {
  checkKeys(root, topLevel, diagnostics);
  auto reject = [&](const Node &value, llvm::StringRef key,
                    llvm::StringRef wanted) {
    diagnostics.error(value.getLocation(), "expected " + wanted + " for " +
                                               quote(key) + ", but got " +
                                               value.repr(60));
  };
  if (Node value = root["use_parallel"]) {
    config.parallel.useParallelNode = value;
    if (!value.isBool())
      reject(value, "use_parallel", "a bool");
    else if (!*value.getBool())
      config.parallel.parallelMode = ParallelMode::StandAlone;
  }
  if (Node value = root["use_legacy"]) {
    config.useLegacy = value.getBool();
    if (!value.isBool())
      reject(value, "use_legacy", "a bool");
  }
  if (Node value = root["micro_batch_interleave_num"]) {
    int64_t number = value.getInt().value_or(0);
    if (number >= 1 && number <= INT32_MAX)
      config.parallel.microBatchInterleaveNum = number;
    else
      reject(value, "micro_batch_interleave_num", "an int of at least 1");
  }
}

/// With swap on, lists hold layer indices: a list of names says no layers.
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
       {std::pair("recompute", &recompute.recompute),
        std::pair("select_recompute", &recompute.selectRecompute),
        std::pair("select_comm_recompute", &recompute.selectCommRecompute)}) {
    check(setting->selection, quote(key), setting->location);
    for (const LayerSetting::Pattern &pattern : setting->patterns)
      check(pattern.layers, key + (" " + quote(pattern.text)),
            pattern.layers.location);
  }
}

/// Checks the conditions between sections.
static void checkSections(const TrainingConfig &config,
                          DiagnosticList &diagnostics) {
  if (config.parallel.seqSplitNum > 1 && config.recompute.recompute.isTruthy())
    diagnostics.error(config.recompute.recompute.location,
                      "full recompute does not work with seq_split_num > 1; "
                      "set recompute to False, or seq_split_num to 1");
  if (!config.swap.swap)
    return;
  rejectNamesWithSwap(config.recompute, diagnostics);
  if (config.context.memoryOptimizeLevel != "O0")
    diagnostics.warning(
        config.context.node["memory_optimize_level"].getLocation(),
        "swap needs memory_optimize_level 'O0': memory reuse across devices "
        "is not supported at " +
            quote(config.context.memoryOptimizeLevel));
}

TrainingConfig readTrainingConfig(const Node &root,
                                  DiagnosticList &diagnostics) {
  TrainingConfig config;
  config.root = root;
  if (!root)
    return config;
  if (!root.isUndefinedOrNull() && !root.isMap()) {
    diagnostics.error(root.getLocation(),
                      "expected a map of sections, but got " +
                          describe(root.getKind()));
    return config;
  }
  config.recompute = readRecomputeConfig(root, diagnostics);
  config.swap = readSwapConfig(root, diagnostics);
  config.parallel = readParallelConfig(root, diagnostics);
  config.runner = readRunnerConfig(root, diagnostics);
  config.wrapper = readRunnerWrapper(root, diagnostics);
  config.optimizer = readOptimizer(root, diagnostics);
  readLrSchedules(root, config, diagnostics);
  config.context = readContext(root, diagnostics);
  config.model = readModel(root, diagnostics);
  SectionReader moe(root, "moe_config", moeSection, diagnostics);
  config.moe.node = moe.getNode();
  config.moe.expertNum = moe.readInt("expert_num", config.moe.expertNum, 0);
  config.moe.useGmm = moe.readBool("use_gmm", config.moe.useGmm);
  if (Node cut = moe.get("expert_model_parallel"); !cut.isUndefinedOrNull())
    config.moe.expertModelParallel = moe.readInt("expert_model_parallel", 1);
  config.callbacks = readCallbacks(root, diagnostics);
  readTopLevel(root, config, diagnostics);
  resolveAutoLayout(config, diagnostics);
  checkSections(config, diagnostics);
  return config;
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

} // namespace mf
