//===- TrainingConfig.h - A training YAML as typed values -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The values of a MindSpore Transformers training YAML as plain structs, a
// struct for each section. Missing keys have the defaults of MindSpore
// Transformers' template.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_CONFIG_TRAININGCONFIG_H
#define MF_FRONTEND_CONFIG_TRAININGCONFIG_H

#include "mf/Frontend/Config/LayerSetting.h"
#include "mf/Frontend/Config/Node.h"
#include "mf/Support/LrSchedule.h"
#include <array>

namespace mf {

/// recompute_config: the layers and operators that run again in backward.
struct RecomputeConfig {
  LayerSetting recompute = LayerSetting::fromBool(false);
  LayerSetting selectRecompute = LayerSetting::fromBool(false);
  LayerSetting selectCommRecompute = LayerSetting::fromBool(false);
  LayerSetting selectRecomputeExclude = LayerSetting::fromBool(false);
  LayerSetting selectCommRecomputeExclude = LayerSetting::fromBool(false);
  bool parallelOptimizerCommRecompute = false;
  bool mpCommRecompute = true;
  bool recomputeSliceActivation = false;
  /// Substrings of names of operators, in lower case, whose outputs recomputed
  /// cells keep.
  std::vector<std::string> keptOperators;
  /// True for a YAML of the dynamic graph, whose trainer does not log what
  /// layers get.
  bool isOfDynamicGraph = false;
  Node node; ///< the section as written; undefined if absent
};

/// swap_config: the activations that are in host memory between forward and
/// backward.
struct SwapConfig {
  bool swap = false;
  int64_t defaultPrefetch = 1;
  /// Absent differs from empty: if both lists are absent, the default policy
  /// applies. An empty list swaps nothing.
  std::optional<std::vector<SwapEntry>> layerSwap;
  /// A pattern of operator names and its entries. Patterns are in the order of
  /// first use.
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

/// The framework's parallel mode, which defines how ranks share the work.
enum class ParallelMode : uint8_t {
  StandAlone,
  DataParallel,
  SemiAuto,
  Auto,
  Hybrid
};

llvm::StringRef getName(ParallelMode mode);

/// The time at which the gathered weights of a layer are freed, if they are
/// sharded over data-parallel ranks.
enum class ReshardPolicy : uint8_t {
  Default, ///< after forward with one stage, after backward with several
  Always,  ///< after forward, including the head's
  Never    ///< after backward
};

/// How parameters are sharded over data-parallel ranks, each parameter
/// separately along its first dimension (FSDP; with several replicas HSDP). The
/// ranks of context_parallel take part: `shard` * context_parallel neighbouring
/// ranks shard a parameter, and `replicate` such groups have the same shards.
struct FullyShardedConfig {
  int64_t replicate = 1;
  int64_t shard = 1;
  /// The number of these neighbours over which parameters other than experts
  /// are sharded. The rest of them have copies. Absent means all.
  std::optional<int64_t> denseShardSize;
  ReshardPolicy reshardAfterForward = ReshardPolicy::Default;
  /// True if summed gradients are divided by the number of ranks that shard the
  /// parameter.
  bool dividesGradients = false;

  /// Returns the number of ranks over which a parameter other than an expert is
  /// sharded.
  int64_t getDenseShards(int64_t contextParallel) const {
    return denseShardSize.value_or(shard * contextParallel);
  }
};

/// parallel_optimizer_config: how a parameter and the state of the optimizer
/// are sharded over the ranks that have copies.
struct OptimizerShardConfig {
  /// 1 to 3, for example `level1`. Follows gradient_accumulation_shard if not
  /// given.
  int64_t level = 1;
  /// The smallest parameter (in KB) that is sharded.
  int64_t threshold = 64;
  /// The number of ranks over which a parameter is sharded; -1 means all.
  int64_t weightShardSize = -1;
};

/// parallel_config, together with keys of the section `parallel` and of the top
/// level.
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
  /// Already false if MindSpore Transformers disables it, which it does with
  /// more than one pipeline stage.
  bool vocabEmbDp = true;
  std::string contextParallelAlgo = "colossalai_cp";
  int64_t ulyssesDegreeInCp = 1;
  Node node;

  // The section `parallel`.
  ParallelMode parallelMode = ParallelMode::SemiAuto;
  bool fullBatch = true;
  bool gradientsMean = false;
  bool enableParallelOptimizer = false;
  OptimizerShardConfig optimizerShard;
  /// Whether accumulated gradients are sharded.
  bool gradientAccumulationShard = false;
  /// Replaces enable_parallel_optimizer and its keys. Absent with one rank.
  std::optional<FullyShardedConfig> fullySharded;
  /// The number of devices that the launcher starts according to the YAML; 0 if
  /// not given.
  int64_t deviceNum = 0;
  bool pipelineInterleave = false;
  /// True if there may be fewer micro-batches than stages.
  bool takesFewMicroBatches = false;
  std::string pipelineScheduler = "1f1b";
  /// True if a backward runs concurrently with the next forward, and gradients
  /// of weights are computed after both.
  bool overlapsBackward = false;
  bool detachesWeights = false;
  /// True if forwards and backwards of zero_bubble_v are paired.
  bool pairsV = false;
  Node parallelNode;

  // Top level.
  int64_t microBatchInterleaveNum = 1;
  Node useParallelNode;

  /// Returns the product of the parallel sizes.
  int64_t getDeviceCount() const;
  bool isSemiOrAuto() const {
    return parallelMode == ParallelMode::SemiAuto ||
           parallelMode == ParallelMode::Auto;
  }
};

/// The classes of optimizers that can be lowered.
enum class OptimizerKind : uint8_t {
  AdamW, ///< MindSpore Transformers' own, with states in fp32
  FP32StateAdamWeightDecay, ///< fp32 states for parameters of any type
  AdamWeightDecay,          ///< MindSpore's, including its fused forms
  AdamWeightDecayX, ///< iFlytekSpark's: AdamW whose eps is corrected too
  PmaAdamW,         ///< AdamW with an average of each parameter
  Muon,             ///< Muon for matrices, AdamW for all other parameters
  Came,             ///< second moments as means of rows and columns
  Unsupported       ///< anything else: an error when a step is built
};

/// The average of each parameter that PmaAdamW maintains and applies.
struct WeightAverageConfig {
  int64_t fusedNum = 10;
  int64_t interleaveStep = 1000;
  /// True for fused_algo sma, false for ema.
  bool sums = false;
  double emaAlpha = 0.2;
};

/// The keys of Muon. The other members of the optimizer then are those of AdamW
/// for the parameters that are not matrices.
struct MuonConfig {
  double momentum = 0.95;
  bool nesterov = true;
  double matchedAdamWRms = 0.2;
  /// Added to the norm of a matrix.
  double eps = 1e-7;
  /// The coefficients of each Newton-Schulz step.
  std::vector<std::array<double, 3>> coefficients;
  /// True for comm_strategy allgather_deredundency, false for allgather.
  bool spreadsWeights = false;
  std::vector<std::string> adamwInclude;
  /// The logit from which on heads of latent attention are clipped; none for
  /// qk_clip_enabled: False.
  std::optional<double> logitThreshold;
};

/// The keys of Came in addition to `beta1` and `weightDecay`, the only other
/// members of the optimizer that it uses.
struct CameConfig {
  /// Added to the squares of gradients, and to the squares of the differences
  /// between updates and their running mean.
  double eps = 1e-30, instabilityEps = 1e-16;
  double clipThreshold = 1.0;
  double decayRate = 0.8;
  double beta3 = 0.99;
};

/// The section optimizer.
struct OptimizerConfig {
  std::string type = "AdamW";
  OptimizerKind kind = OptimizerKind::AdamW;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weightDecay = 0.0;
  /// Substrings or wildcards of the names of parameters that decay whatever
  /// their rank is, and of parameters that do not decay.
  std::vector<std::string> decayInclude, decayExclude;
  double learningRate = 5e-5;
  bool swap = false;
  /// The averages of PmaAdamW. Empty for other optimizers.
  std::optional<WeightAverageConfig> average;
  /// The keys that only Muon has.
  std::optional<MuonConfig> muon;
  /// The keys that only Came has.
  std::optional<CameConfig> came;
  Node node;

  /// Returns whether moments are corrected for their initial value 0.
  bool correctsBias() const {
    return kind == OptimizerKind::AdamW || kind == OptimizerKind::PmaAdamW ||
           kind == OptimizerKind::Muon || correctsEps();
  }
  /// Returns whether eps is added before the correction of moments instead of
  /// after it.
  bool correctsEps() const { return kind == OptimizerKind::AdamWeightDecayX; }
};

/// The section lr_schedule, and where it is.
struct LrScheduleSection : LrScheduleConfig {
  Node node;
};

/// An item of grouped_lr_schedule: the learning rate of the parameters that
/// match one of its patterns and no pattern of an earlier item. A pattern is a
/// substring of a name, or a wildcard as in Python's fnmatch.
struct LrGroup {
  /// The elements of `params`, with their places.
  std::vector<Node> patterns;
  LrScheduleSection schedule;
};

/// runner_config.
struct RunnerConfig {
  int64_t batchSize = 1;
  int64_t gradientAccumulationSteps = 1;
  Node node;
};

/// How a factor on the loss adapts to overflows.
struct LossScaleUpdateConfig {
  int64_t factor = 2;
  int64_t window = 1000;
};

/// scale_sense of the wrapper: a constant factor on the loss, or one that
/// adapts to overflows.
struct LossScaleConfig {
  enum class Kind : uint8_t { Constant, Fixed, Dynamic, Adaptive };
  Kind kind = Kind::Constant;
  double value = 1.0;
  LossScaleUpdateConfig update;

  bool followsOverflows() const {
    return kind == Kind::Dynamic || kind == Kind::Adaptive;
  }
};

/// Clipping of gradients by their global norm.
struct ClippingConfig {
  double maxNorm = 1.0;
};

/// runner_wrapper: the training step around the network.
struct RunnerWrapper {
  std::string type = "MFTrainOneStepCell";
  /// The value as written. Its default depends on the wrapper that is really
  /// used (resolveBatch).
  std::optional<bool> useClipGrad;
  ClippingConfig clipping;
  LossScaleConfig scaleSense;
  bool localNorm = false;
  bool calculatePerTokenLoss = false;
  /// True if the loss of a micro-batch is the mean of the means of
  /// data-parallel and context-parallel ranks, instead of the mean over the
  /// tokens of all of them.
  bool hasLocalLoss = false;
  bool useSkipDataByGlobalNorm = false;
  double globalNormSpikeThreshold = 1.0;
  Node node;
};

/// The section context.
struct ContextConfig {
  /// The device memory that a rank may use, in bytes (GB is 2^30, as in
  /// MindSpore).
  int64_t maxDeviceMemory = int64_t(58) << 30;
  /// True if the YAML has the key, false if the value is the template's.
  bool hasMaxDeviceMemory = false;
  std::string memoryOptimizeLevel = "O0";
  bool hasMemoryOptimizeLevel = false;
  /// True if vector operators are fused (jit_level O1, or enable_graph_kernel).
  /// This makes a step faster, and changes neither memory nor results here.
  bool graphKernelFusion = false;
  Node node;
};

/// The part of the model's section that concerns training. The importer reads
/// the rest of model_config.
struct ModelSection {
  /// The class of the network, for example `LlamaForCausalLM`; empty if not
  /// given.
  std::string arch;
  Node config; ///< model.model_config as written
  /// pet_config of model_config, or lora_config of the dynamic graph.
  Node adapters;
  /// True if a YAML of the dynamic graph asks for weights narrower than fp32,
  /// in which the optimizer has them.
  bool asksForHalf = false;
  Node node;
};

/// moe_config, as far as it defines how experts are distributed over ranks.
struct MoeConfig {
  int64_t expertNum = 1;
  /// True if experts process all tokens that choose them, false if only up to a
  /// capacity.
  bool useGmm = false;
  /// The number of ranks over which each expert with a capacity is cut. Absent
  /// means model_parallel.
  std::optional<int64_t> expertModelParallel;
  Node node;
};

/// TopkBiasBalanceCallback, which defines how the end of a step uses the load
/// of experts. Its own arguments are used, not those of moe_config.
struct BalanceCallback {
  double rate = 0;
  int64_t expertNum = 1;
  int64_t microBatchNum = 1;
  int64_t gradientAccumulationSteps = 1;
  Node node;

  /// Returns the load of an expert in a step in which all experts have the same
  /// load.
  double getTarget() const {
    return static_cast<double>(microBatchNum * gradientAccumulationSteps) /
           static_cast<double>(expertNum);
  }
};

/// MoEDropRateCallback, which logs the rate of dropped tokens.
struct DropRateCallback {
  int64_t expertNum = 1;
  double capacityFactor = 1;
  /// The number of layers, including those of multi-token prediction.
  int64_t numLayers = 1;
  Node node;
};

/// callbacks, as far as they change a step or report about its experts.
struct CallbackConfig {
  std::optional<BalanceCallback> balance;
  std::optional<DropRateCallback> dropRate;
};

/// A whole training YAML.
struct TrainingConfig {
  RecomputeConfig recompute;
  SwapConfig swap;
  ParallelConfig parallel;
  RunnerConfig runner;
  RunnerWrapper wrapper;
  OptimizerConfig optimizer;
  /// lr_schedule, or `default` of grouped_lr_schedule, which replaces it.
  LrScheduleSection lrSchedule;
  /// `grouped` of grouped_lr_schedule, in its order.
  std::vector<LrGroup> lrGroups;
  ContextConfig context;
  MoeConfig moe;
  /// chunk_loss_num: the number of pieces of the sequence for which the loss is
  /// computed separately.
  int64_t chunkLossNum = 1;
  CallbackConfig callbacks;
  ModelSection model;
  /// True for classic layer classes (Llama names), false for those of the mcore
  /// training graph. If absent, the model decides.
  std::optional<bool> useLegacy;
  Node root; ///< the whole document

  /// Returns whether the YAML is one of the dynamic graph, whose loss is always
  /// local.
  bool isOfDynamicGraph() const { return wrapper.hasLocalLoss; }
};

} // namespace mf

#endif // MF_FRONTEND_CONFIG_TRAININGCONFIG_H
