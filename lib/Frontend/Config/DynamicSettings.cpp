//===- DynamicSettings.cpp - Settings only of the dynamic graph -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicConfig.h"
#include "DynamicLayers.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

namespace mf {

static void addSharding(const Node &root, const DynamicLayout &layout,
                        TrainingConfig &config, DiagnosticList &diagnostics) {
  if (layout.getNumRanks() == 1)
    return;
  DynamicReader reader(root, "parallelism", diagnostics);
  FullyShardedConfig &sharded = config.parallel.fullySharded.emplace();
  sharded.replicate = layout.replicate;
  sharded.shard = layout.shard;
  if (Node dense = reader.getWritten("dense_fsdp_shard_size"))
    sharded.denseShardSize = dense.getInt();
  sharded.reshardAfterForward =
      llvm::StringSwitch<ReshardPolicy>(
          reader.getString("reshard_after_forward_policy"))
          .Case("always", ReshardPolicy::Always)
          .Case("never", ReshardPolicy::Never)
          .Default(ReshardPolicy::Default);
  sharded.dividesGradients = !reader.getBool("disable_gradient_division");
}

/// The trainer drops both for other schedules than the interleaved one.
static void addOverlap(const Node &root, const DynamicLayout &layout,
                       TrainingConfig &config, DiagnosticList &diagnostics) {
  if (layout.interleave == 1)
    return;
  DynamicReader reader(root, "parallelism", diagnostics);
  config.parallel.overlapsBackward =
      reader.getBool("pipeline_parallel_overlap_b_f");
  config.parallel.detachesWeights =
      reader.getBool("pipeline_parallel_enable_dxdw_split");
}

static std::vector<std::string> readPatterns(const DynamicReader &reader,
                                             llvm::StringRef key) {
  std::vector<std::string> patterns;
  for (const Node &item : reader.get(key).getElements())
    patterns.push_back(item.getText().str());
  return patterns;
}

/// The fused AdamW counts steps from -1, and takes the rate before it counts.
static void addLateRates(const Node &optimizer, LrScheduleConfig &rates,
                         DiagnosticList &diagnostics) {
  if (optimizer["type"].getText() != "AdamW")
    return;
  for (llvm::StringRef key : {"use_fused", "enable_fused_opt"}) {
    if (!optimizer[key].getBool().value_or(false))
      continue;
    rates.lateSteps = 1;
    const double warmup =
        rates.warmupRatio ? std::floor(*rates.warmupRatio *
                                       static_cast<double>(rates.totalSteps))
                          : static_cast<double>(rates.warmupSteps.value_or(0));
    const std::optional<LrScheduleKind> kind = findLrScheduleKind(rates.type);
    const bool anneals = kind == LrScheduleKind::CosineAnnealing ||
                         kind == LrScheduleKind::CosineAnnealingWarmRestarts;
    if (warmup == 0 && !anneals)
      diagnostics.warning(optimizer[key].getLocation(),
                          "with " + quote(key) +
                              " and no warm-up steps the trainer divides by 0 "
                              "for the rate of the first step; it has that of "
                              "the second here");
    return;
  }
}

/// Layers read such weights in the type in which they compute.
static bool asksForHalf(const Node &model) {
  return llvm::any_of(
      llvm::ArrayRef<llvm::StringRef>{"params_dtype", "param_init_type"},
      [&](llvm::StringRef key) {
        const llvm::StringRef type = model[key].getText();
        return type == "bfloat16" || type == "float16";
      });
}

void addDynamicSettings(const Node &root, const DynamicLayout &layout,
                        TrainingConfig &config, DiagnosticList &diagnostics) {
  config.wrapper.hasLocalLoss = true;
  config.recompute.isOfDynamicGraph = true;
  config.chunkLossNum = readDynamicLossPieces(root, diagnostics);
  config.parallel.takesFewMicroBatches = true;
  addSharding(root, layout, config, diagnostics);
  addOverlap(root, layout, config, diagnostics);
  DynamicReader optimizer(root, "optimizer", diagnostics);
  config.optimizer.decayInclude =
      readPatterns(optimizer, "weight_decay_include");
  config.optimizer.decayExclude =
      readPatterns(optimizer, "weight_decay_exclude");
  addLateRates(optimizer.getNode(), config.lrSchedule, diagnostics);
  config.model.asksForHalf = asksForHalf(root["model"]);
  config.model.adapters = root["lora_config"];
  const DynamicDepth depth = readDynamicDepth(config.model.config);
  if (depth.getAll() == 0)
    return;
  readDynamicRecompute(root, depth, config, diagnostics);
  readDynamicSwap(root, depth, layout, config, diagnostics);
  if (layout.appliesMemorySettings())
    return;
  const bool isAsked = config.recompute.recompute.isTruthy() ||
                       config.recompute.selectRecompute.isTruthy() ||
                       config.recompute.selectCommRecompute.isTruthy() ||
                       config.swap.swap;
  config.recompute = RecomputeConfig();
  config.recompute.isOfDynamicGraph = true;
  config.swap = SwapConfig();
  if (isAsked)
    diagnostics.warning(
        (root["recompute"] ? root["recompute"] : root["swap"]).getLocation(),
        "recompute and swap have no effect: the trainer applies neither to "
        "one rank, which RANK_SIZE asks for");
}

} // namespace mf
