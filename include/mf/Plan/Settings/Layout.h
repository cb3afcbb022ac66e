//===- Layout.h - Distribution of a step over devices -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Enumerates the layouts of ranks that a number of devices allows for a model.
// All of them run the same training step: the number of samples per step stays
// the same.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLAN_SETTINGS_LAYOUT_H
#define MF_PLAN_SETTINGS_LAYOUT_H

#include "mf/Frontend/Config/SettingEdit.h"
#include <tuple>

namespace mf::planner {

/// The keys of parallel_config that define a layout, and the number of samples
/// that a rank then processes at a time.
struct DeviceLayout {
  int64_t dataParallel = 1;
  int64_t modelParallel = 1;
  int64_t contextParallel = 1;
  int64_t expertParallel = 1;
  int64_t stages = 1;
  /// The value of use_seq_parallel. False if model_parallel is 1.
  bool sequenceParallel = false;
  /// The value of enable_parallel_optimizer.
  bool optimizerSharding = false;
  /// The number of forwards of a rank in a step: micro_batch_num, or
  /// gradient_accumulation_steps if there is one stage.
  int64_t passes = 1;
  /// The number of samples in each forward of one replica.
  int64_t batchSize = 1;

  int64_t getNumRanks() const {
    return dataParallel * modelParallel * contextParallel * stages;
  }
  /// Returns the number of ranks over which the optimizer's state could be
  /// sharded.
  int64_t getReplicas() const { return dataParallel * contextParallel; }
  auto tie() const {
    return std::tie(stages, modelParallel, contextParallel, dataParallel,
                    expertParallel, sequenceParallel, optimizerSharding, passes,
                    batchSize);
  }
  bool operator==(const DeviceLayout &other) const {
    return tie() == other.tie();
  }
  bool operator<(const DeviceLayout &other) const {
    return tie() < other.tie();
  }

  /// Returns a description such as `dp2 mp4 pp8 sp opt`. Sizes of 1 are left
  /// out, except that of data parallel.
  std::string describe() const;
  /// Describes the part of the layout that determines the costs of a layer for
  /// a micro-batch. The numbers of stages and replicas are left out.
  std::string describeLayers() const;
};

/// The conditions that layouts have to meet.
struct LayoutRules {
  int64_t devices = 1;
  /// The product of data_parallel, passes and batchSize, which all layouts have
  /// in common.
  int64_t samples = 1;
  /// The batch size of the YAML. A layout has a smaller one only if its samples
  /// cannot be divided otherwise.
  int64_t batchSize = 1;
  int64_t layers = 1;
  int64_t heads = 1;
  /// Sizes that model_parallel must divide, in addition to `heads`.
  int64_t keyValueHeads = 1;
  int64_t sequenceLength = 1;
  /// The number of experts, or 1 without experts.
  int64_t experts = 1;
  /// True if each expert is sharded over the model-parallel ranks.
  bool cutsExperts = false;
  /// True if the rows of a sequence can be sharded over ranks.
  bool allowsContext = false;
  /// The number of ranks in the innermost network. model_parallel may not
  /// exceed it. 0 for no limit.
  int64_t nodeRanks = 0;
  /// The YAML's setting, which is used for layouts in which it makes no
  /// difference.
  bool optimizerSharding = false;
  /// True if parameters are always sharded over data-parallel ranks, and rows
  /// of the sequence over model-parallel ranks, regardless of the YAML.
  bool alwaysShards = false;
};

/// Returns the layouts that satisfy the rules, each once, in order.
std::vector<DeviceLayout> listLayouts(const LayoutRules &rules);

/// Sets passes and batchSize of a layout: the batch size of the YAML, or the
/// next smaller divisor. Returns false if no batch size gives each stage a
/// micro-batch.
bool dealSamples(const LayoutRules &rules, DeviceLayout &layout);

/// Returns the settings to write into a YAML with `layers` layers for a layout.
/// Layers are distributed evenly over `interleave` chunks per stage if there
/// are enough of them. No layer is recomputed. The YAML's swap settings stay if
/// `keepsSwap` is true; otherwise no layer is swapped.
MemorySettings makeLayoutSettings(const DeviceLayout &layout, int64_t layers,
                                  int64_t interleave, bool keepsSwap);

} // namespace mf::planner

#endif // MF_PLAN_SETTINGS_LAYOUT_H
