//===- TrainingConfig.h - A training YAML as typed values -------*- C++ -*-===//
//
// Reads an unmodified MindSpore Transformers training YAML, or one that holds
// only some sections, into plain structs. Missing keys take MindSpore
// Transformers' template defaults. Keys that are unknown in a section that
// checks its keys are errors; keys that would change the training step but are
// not modelled are warnings; keys that cannot matter are passed over.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CONFIG_TRAININGCONFIG_H
#define MF_CONFIG_TRAININGCONFIG_H

#include "mf/Frontend/Config/LayerSetting.h"
#include "mf/Frontend/Config/Node.h"
#include <array>

namespace mf {

/// recompute_config: which layers and operators run again in backward.
struct RecomputeConfig {
  LayerSetting recompute = LayerSetting::fromBool(false);
  LayerSetting selectRecompute = LayerSetting::fromBool(false);
  LayerSetting selectCommRecompute = LayerSetting::fromBool(false);
  LayerSetting selectRecomputeExclude = LayerSetting::fromBool(false);
  LayerSetting selectCommRecomputeExclude = LayerSetting::fromBool(false);
  bool parallelOptimizerCommRecompute = false;
  bool mpCommRecompute = true;
  bool recomputeSliceActivation = false;
  /// Parts of names of operators, in lower case, whose outputs recomputed cells
  /// keep.
  std::vector<std::string> keptOperators;
  Node node; ///< the section as written; undefined if absent
};

/// swap_config: which activations live in host memory between forward and
/// backward.
struct SwapConfig {
  bool swap = false;
  int64_t defaultPrefetch = 1;
  /// Absent is not the same as empty: both lists absent asks for the default
  /// policy, an empty list for nothing.
  std::optional<std::vector<SwapEntry>> layerSwap;
  /// Operator name pattern and its entries, names in order of first use.
  struct OperatorSwap {
    std::string pattern;
    std::vector<SwapEntry> entries;
    Location location;
  };
  std::optional<std::vector<OperatorSwap>> opSwap;
  Location location;         ///< of `swap`
  Location prefetchLocation; ///< of `default_prefetch`
  Node node;
};

/// How ranks share the work, as the framework's parallel mode names it.
enum class ParallelMode : uint8_t {
  StandAlone,
  DataParallel,
  SemiAuto,
  Auto,
  Hybrid
};

llvm::StringRef getName(ParallelMode mode);

/// When the whole weights of a layer are freed that data-parallel ranks share
/// out among them.
enum class ReshardPolicy : uint8_t {
  Default, ///< after forward with one stage; not with several
  Always,  ///< after forward; the head's too
  Never    ///< after backward
};

/// How data-parallel ranks share out parameters, each parameter by itself along
/// its first dimension (FSDP; with several replicas HSDP). Ranks of
/// context_parallel share out too: `shard` * context_parallel neighbours have
/// a parameter between them, and `replicate` such groups have the same parts.
struct FullyShardedConfig {
  int64_t replicate = 1;
  int64_t shard = 1;
  /// So many of these neighbours share out parameters other than experts, and
  /// the rest of them have the same parts; absent means all.
  std::optional<int64_t> denseShardSize;
  ReshardPolicy reshardAfterForward = ReshardPolicy::Default;
  /// Summed gradients are divided by the ranks that share a parameter out.
  bool dividesGradients = false;

  /// Ranks that share one parameter out, experts apart.
  int64_t getDenseShards(int64_t contextParallel) const {
    return denseShardSize.value_or(shard * contextParallel);
  }
};

/// parallel_config, and what `parallel` and the top level add to it.
struct ParallelConfig {
  int64_t dataParallel = 1;
  int64_t modelParallel = 1;
  int64_t contextParallel = 1;
  int64_t expertParallel = 1;
  int64_t pipelineStage = 1;
  int64_t microBatchNum = 1;
  int64_t seqSplitNum = 1;
  int64_t gradientAggregationGroup = 4;
  bool useSeqParallel = false;
  /// Already false where MindSpore Transformers turns it off: with more than
  /// one pipeline stage.
  bool vocabEmbDp = true;
  std::string contextParallelAlgo = "colossalai_cp";
  int64_t ulyssesDegreeInCp = 1;
  Node node;

  // Section `parallel`.
  ParallelMode parallelMode = ParallelMode::SemiAuto;
  bool fullBatch = true;
  bool gradientsMean = false;
  bool enableParallelOptimizer = false;
  /// parallel_optimizer_config: smallest parameter (in KB) that is sharded,
  /// ranks that share one parameter's states (-1: all), accumulated gradients.
  int64_t parallelOptimizerThreshold = 64;
  int64_t optimizerWeightShardSize = -1;
  bool gradientAccumulationShard = false;
  /// In place of enable_parallel_optimizer and its keys; absent with one rank.
  std::optional<FullyShardedConfig> fullySharded;
  /// 1 to 3, as `level1`; follows gradient_accumulation_shard if not given.
  int64_t optimizerLevel = 1;
  /// The number of devices that the launcher is said to start; 0 if not given.
  int64_t deviceNum = 0;
  bool pipelineInterleave = false;
  /// There may be fewer micro-batches than stages.
  bool takesFewMicroBatches = false;
  std::string pipelineScheduler = "1f1b";
  Node parallelNode;

  // Top level.
  int64_t microBatchInterleaveNum = 1;
  Node useParallelNode;

  /// Devices that the parallel sizes multiply to.
  int64_t getDeviceCount() const;
  bool isSemiOrAuto() const {
    return parallelMode == ParallelMode::SemiAuto ||
           parallelMode == ParallelMode::Auto;
  }
};

/// runner_config.
struct RunnerConfig {
  int64_t batchSize = 1;
  int64_t gradientAccumulationSteps = 1;
  Node node;
};

/// scale_sense of the wrapper: a constant factor on the loss, or one that
/// follows overflows.
struct LossScaleConfig {
  enum class Kind : uint8_t { Constant, Fixed, Dynamic, Adaptive };
  Kind kind = Kind::Constant;
  double value = 1.0;
  int64_t factor = 2;
  int64_t window = 1000;

  bool followsOverflows() const {
    return kind == Kind::Dynamic || kind == Kind::Adaptive;
  }
};

/// runner_wrapper: the training step around the network.
struct RunnerWrapper {
  std::string type = "MFTrainOneStepCell";
  /// As written; what counts when it is absent depends on the wrapper that is
  /// really used (resolveBatch).
  std::optional<bool> useClipGrad;
  double maxGradNorm = 1.0;
  LossScaleConfig scaleSense;
  bool localNorm = false;
  bool calculatePerTokenLoss = false;
  /// The loss of a micro-batch is the mean of the means of data-parallel and
  /// context-parallel ranks, not the mean over the tokens of all of them.
  bool hasLocalLoss = false;
  bool useSkipDataByGlobalNorm = false;
  double globalNormSpikeThreshold = 1.0;
  Node node;
};

enum class OptimizerKind : uint8_t {
  AdamW,                    ///< MindSpore Transformers' own, states in fp32
  FP32StateAdamWeightDecay, ///< fp32 states whatever the parameters are
  AdamWeightDecay,          ///< MindSpore's and its fused forms
  AdamWeightDecayX,         ///< iFlytekSpark's: AdamW, eps is corrected too
  PmaAdamW,                 ///< AdamW, and an average of each parameter
  Muon,                     ///< Muon for matrices, AdamW for all others
  Came,                     ///< second moments as means of rows and columns
  Unsupported               ///< anything else: an error when a step is built
};

/// The average of each parameter that PmaAdamW keeps and applies.
struct WeightAverageConfig {
  int64_t fusedNum = 10;
  int64_t interleaveStep = 1000;
  /// fused_algo: sma, not ema.
  bool sums = false;
  double emaAlpha = 0.2;
};

/// The keys of Muon. Other members of the optimizer are then those of AdamW for
/// the parameters that are no matrices.
struct MuonConfig {
  double momentum = 0.95;
  bool nesterov = true;
  double matchedAdamWRms = 0.2;
  /// Added to the norm of a matrix.
  double eps = 1e-7;
  /// For each Newton-Schulz step.
  std::vector<std::array<double, 3>> coefficients;
  /// comm_strategy: allgather_deredundency, not allgather.
  bool spreadsWeights = false;
  std::vector<std::string> adamwInclude;
};

/// The keys of Came, beside `beta1` and `weightDecay`, which are all that it
/// has of the optimizer's other members.
struct CameConfig {
  /// Added to the squares of gradients, and to those of differences between
  /// updates and their running mean.
  double eps = 1e-30, instabilityEps = 1e-16;
  double clipThreshold = 1.0;
  double decayRate = 0.8;
  double beta3 = 0.99;
};

struct OptimizerConfig {
  std::string type = "AdamW";
  OptimizerKind kind = OptimizerKind::AdamW;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weightDecay = 0.0;
  /// Parts of names, or wildcards, of parameters that decay whatever their rank
  /// is, and of others that do not.
  std::vector<std::string> decayInclude, decayExclude;
  double learningRate = 5e-5;
  bool swap = false;
  /// The averages of PmaAdamW; no other optimizer has them.
  std::optional<WeightAverageConfig> average;
  /// The keys that Muon alone has.
  std::optional<MuonConfig> muon;
  /// The keys that Came alone has.
  std::optional<CameConfig> came;
  Node node;

  /// Whether moments are corrected for their begin at 0.
  bool correctsBias() const {
    return kind == OptimizerKind::AdamW || kind == OptimizerKind::PmaAdamW ||
           kind == OptimizerKind::Muon || correctsEps();
  }
  /// Whether eps is added before the correction of moments, not behind it.
  bool correctsEps() const { return kind == OptimizerKind::AdamWeightDecayX; }
};

enum class LrScheduleKind : uint8_t {
  Constant,
  Linear,
  Cosine,
  CosineWithRestarts,
  Polynomial,
  WarmUpStableDecay,
  CosineAnnealing,
  CosineAnnealingWarmRestarts,
  Unsupported
};

/// The section lr_schedule. Steps are optimizer steps; `totalSteps` -1 is the
/// length of the training run. Keys that the YAML leaves out have no value
/// here, since each schedule has defaults of its own
/// (mf/Exec/Data/LrSchedule.h).
struct LrScheduleConfig {
  std::string type = "CosineWithWarmUpLR";
  LrScheduleKind kind = LrScheduleKind::Cosine;
  double learningRate = 5e-5;
  std::optional<double> lrEnd;
  std::optional<double> warmupLrInit;
  std::optional<int64_t> warmupSteps;
  std::optional<double> warmupRatio;
  int64_t totalSteps = -1;
  std::optional<double> numCycles;
  std::optional<double> power;
  std::optional<int64_t> decaySteps;
  std::optional<double> decayRatio;
  std::optional<int64_t> decayStartSteps;
  std::optional<double> decayStartRatio;
  /// For the two annealing schedules only.
  std::optional<int64_t> tMax;
  std::optional<int64_t> t0;
  std::optional<int64_t> tMult;
  std::optional<double> etaMin;
  Node node;

  /// Warm-up steps of a run of `runSteps`: the ratio, if given, beats the
  /// number.
  int64_t getWarmupSteps(int64_t runSteps) const;
};

/// An item of grouped_lr_schedule: the rate of the parameters that match one of
/// its patterns, each a part of a name or a wildcard as Python's fnmatch has
/// them, and no pattern of an item before it.
struct LrGroup {
  /// `params`, with their places.
  std::vector<Node> patterns;
  LrScheduleConfig schedule;
};

struct ContextConfig {
  /// Device memory a rank may use, in bytes (GB is 2^30 as in MindSpore).
  int64_t maxDeviceMemory = int64_t(58) << 30;
  /// Whether the YAML says so, or the template.
  bool hasMaxDeviceMemory = false;
  std::string memoryOptimizeLevel = "O0";
  bool hasMemoryOptimizeLevel = false;
  /// Vector operators are fused (jit_level O1, or enable_graph_kernel): makes a
  /// step faster, and changes neither memory nor results here.
  bool graphKernelFusion = false;
  Node node;
};

/// The part of the model's section that concerns training: the importer reads
/// the rest of model_config.
struct ModelSection {
  /// The network's class, as `LlamaForCausalLM`; empty if not given.
  std::string arch;
  Node config; ///< model.model_config as written
  Node node;
};

/// moe_config, as far as it says how ranks share experts out.
struct MoeConfig {
  int64_t expertNum = 1;
  /// Experts take all tokens that choose them, or up to a capacity.
  bool useGmm = false;
  /// Ranks that cut each expert of a capacity; absent means model_parallel.
  std::optional<int64_t> expertModelParallel;
  Node node;
};

/// TopkBiasBalanceCallback: how the end of a step uses the load of experts. Its
/// own arguments count, not those of moe_config.
struct BalanceCallback {
  double rate = 0;
  int64_t expertNum = 1;
  int64_t microBatchNum = 1;
  int64_t gradientAccumulationSteps = 1;
  Node node;

  /// The load of an expert in a step where all have the same.
  double getTarget() const {
    return static_cast<double>(microBatchNum * gradientAccumulationSteps) /
           static_cast<double>(expertNum);
  }
};

/// MoEDropRateCallback: logs the rate of dropped tokens.
struct DropRateCallback {
  int64_t expertNum = 1;
  double capacityFactor = 1;
  /// The number of layers, including those of multi-token prediction.
  int64_t numLayers = 1;
  Node node;
};

/// callbacks, as far as they change a step or tell of its experts.
struct CallbackConfig {
  std::optional<BalanceCallback> balance;
  std::optional<DropRateCallback> dropRate;
};

struct TrainingConfig {
  RecomputeConfig recompute;
  SwapConfig swap;
  ParallelConfig parallel;
  RunnerConfig runner;
  RunnerWrapper wrapper;
  OptimizerConfig optimizer;
  /// lr_schedule, or `default` of grouped_lr_schedule, which replaces it.
  LrScheduleConfig lrSchedule;
  /// `grouped` of grouped_lr_schedule, in its order.
  std::vector<LrGroup> lrGroups;
  ContextConfig context;
  MoeConfig moe;
  /// chunk_loss_num: into how many pieces of the sequence the loss is cut.
  int64_t chunkLossNum = 1;
  CallbackConfig callbacks;
  ModelSection model;
  /// Classic layer classes (Llama names) or, if false, those of the mcore
  /// training graph; absent leaves it to the model.
  std::optional<bool> useLegacy;
  Node root; ///< the whole document
};

/// Reads a whole YAML text. Always gives a config; it may only be used when
/// `diagnostics` has no errors.
TrainingConfig parseTrainingConfig(llvm::StringRef text,
                                   llvm::StringRef fileName,
                                   DiagnosticList &diagnostics);

/// As parseTrainingConfig for a file; `-` is standard input.
TrainingConfig parseTrainingConfigFile(llvm::StringRef path,
                                       DiagnosticList &diagnostics);

/// As parseTrainingConfig for a document that is already a tree.
TrainingConfig readTrainingConfig(const Node &root,
                                  DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_CONFIG_TRAININGCONFIG_H
