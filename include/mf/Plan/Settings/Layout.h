//===- Layout.h - Distribution of a step over devices -----------*- C++ -*-===//
//
// The layouts of ranks that a number of devices can have for a model, all of
// which do the same training step: the samples of a step stay as many.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLANNER_LAYOUT_H
#define MF_PLANNER_LAYOUT_H

#include "mf/Frontend/Config/SettingEdit.h"
#include <tuple>

namespace mf::planner {

/// The keys of parallel_config that make a layout, and the samples that a rank
/// then runs at a time.
struct DeviceLayout {
  int64_t dataParallel = 1;
  int64_t modelParallel = 1;
  int64_t contextParallel = 1;
  int64_t expertParallel = 1;
  int64_t stages = 1;
  /// use_seq_parallel; false with model_parallel 1.
  bool sequenceParallel = false;
  /// enable_parallel_optimizer.
  bool optimizerSharding = false;
  /// Forwards of a rank in a step: micro_batch_num, or
  /// gradient_accumulation_steps with one stage.
  int64_t passes = 1;
  /// Samples of each, of one copy of the network.
  int64_t batchSize = 1;

  int64_t getNumRanks() const {
    return dataParallel * modelParallel * contextParallel * stages;
  }
  /// The number of ranks that could share out the optimizer's state.
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

  /// `dp2 mp4 pp8 sp opt`; sizes of 1 are left out, but for data parallel.
  std::string describe() const;
  /// Where layers of a micro-batch cost the same: not what number of stages or
  /// replicas there are.
  std::string describeLayers() const;
};

/// The conditions that layouts have to meet.
struct LayoutRules {
  int64_t devices = 1;
  /// Samples of a step over those of one pass of all copies: what
  /// data_parallel, passes and batchSize multiply to.
  int64_t samples = 1;
  /// The batch size of the YAML; a layout has less only where its samples do
  /// not divide so.
  int64_t batchSize = 1;
  int64_t layers = 1;
  int64_t heads = 1;
  /// Sizes that model_parallel divides beside `heads`.
  int64_t keyValueHeads = 1;
  int64_t sequenceLength = 1;
  /// The number of experts; 1 for none.
  int64_t experts = 1;
  /// Whether each expert is cut among the model-parallel ranks.
  bool cutsExperts = false;
  /// Rows of a sequence can be shared out.
  bool allowsContext = false;
  /// Ranks in the innermost network, which model_parallel stays within; 0 for
  /// any number.
  int64_t nodeRanks = 0;
  /// The setting of the YAML, for layouts in which it makes no difference.
  bool optimizerSharding = false;
};

/// The layouts that keep the rules, each once, in order.
std::vector<DeviceLayout> listLayouts(const LayoutRules &rules);

/// Sets passes and batchSize of a layout: as many samples at a time as the YAML
/// has, or the next smaller number that divides. False if there is none that
/// gives each stage a micro-batch.
bool dealSamples(const LayoutRules &rules, DeviceLayout &layout);

/// The settings to write into a YAML with `layers` layers for a layout: layers
/// are dealt evenly, `interleave` chunks to a stage if there are as many
/// layers, and nothing is recomputed or, unless `keepsSwap`, swapped.
MemorySettings makeLayoutSettings(const DeviceLayout &layout, int64_t layers,
                                  int64_t interleave, bool keepsSwap);

/// Layers dealt evenly, as an offset: what remains goes to the chunks before
/// the last.
StageTable dealLayersEvenly(int64_t layers, int64_t stages, int64_t interleave);

} // namespace mf::planner

#endif // MF_PLANNER_LAYOUT_H
