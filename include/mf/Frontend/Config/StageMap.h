//===- StageMap.h - Maps layers to stages and chunks ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The placement of layers when a model is cut into pipeline stages and, with
// interleaving, each stage into several chunks. A pair (chunk, stage) is a mini
// stage. Layers are distributed evenly and then moved by `offset`. They are
// numbered over all stages of chunk 0, then of chunk 1, and so on. A chunk
// visits the stages in the order of the schedule, which is usually from the
// first to the last. The embedding is on the stage that is visited first. The
// final norm, head and loss are on the stage that is visited last.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_CONFIG_STAGEMAP_H
#define MF_FRONTEND_CONFIG_STAGEMAP_H

#include "mf/Frontend/Config/TrainingConfig.h"
#include <algorithm>

namespace mf {

/// The value of model_config.offset: one int for every mini stage, one per
/// stage, or one per chunk and stage.
struct StageOffset {
  enum class Kind : uint8_t { Scalar, PerStage, PerMiniStage };
  Kind kind = Kind::Scalar;
  /// One row for Scalar (one value) and PerStage, one row per chunk for
  /// PerMiniStage.
  std::vector<std::vector<int64_t>> rows = {{0}};
  Location location;

  int64_t getSum() const;
  /// Returns Python's representation.
  std::string repr() const;
};

/// Reads `offset`. An undefined or null node is 0. Values that numpy casts to
/// int are accepted with the same result (0.9 is 0, True is 1, "0" is 0).
std::optional<StageOffset> readStageOffset(const Node &node,
                                           DiagnosticList &diagnostics);

/// Returns an offset, one row per interleave, with which the numbers of layers
/// of mini stages differ by at most one. The last mini stage, which also has
/// the head, is not one of the larger ones.
std::vector<std::vector<int64_t>>
dealLayersEvenly(int64_t layers, int64_t stages, int64_t interleave);

/// The numbers from which a stage map is computed.
struct StageMapOptions {
  /// The layers of the model, without those for multi-token prediction.
  int64_t numLayers = 0;
  /// Multi-token-prediction layers that the model family counts as layers after
  /// the last one (DeepSeek-V3 and the mcore models).
  int64_t mtpLayers = 0;
  /// True if `offset` may also count the layers without `mtpLayers`, as current
  /// releases of the mcore training graph do.
  bool mayLeaveOutMtp = false;
  int64_t pipelineStages = 1;
  /// The chunks per stage; 1 without interleaving.
  int64_t interleave = 1;
  StageOffset offset;
  /// For a model that occupies only the `stageNum` stages from `startStage` on
  /// (parts of multimodal models). 0 means all stages.
  int64_t startStage = 0;
  int64_t stageNum = 0;
  /// The stages of all mini stages in the order in which a micro-batch passes
  /// through them, each stage once per chunk, as the schedule's policy defines
  /// it (mf/Pipeline/Policy.h). If empty, each chunk goes from the first stage
  /// to the last.
  std::vector<int64_t> visits;
  /// The place of pipeline_stage, for messages about missing keys.
  Location location;
};

/// Returns the options that a YAML defines, except for `visits`. `numLayers`
/// and `mtpLayers` come from model_config, where their names depend on the
/// model family (num_layers, num_hidden_layers; mtp_depth,
/// num_nextn_predict_layers).
StageMapOptions getStageMapOptions(const TrainingConfig &config,
                                   DiagnosticList &diagnostics);

/// The position of one layer.
struct LayerPlace {
  int64_t stage = 0; ///< the pipeline stage, start_stage included
  int64_t chunk = 0;
  /// The position among the layers of its mini stage.
  int64_t index = 0;
  /// The position of its stage in the order in which its chunk visits the
  /// stages: the column of StageMap::getLayersPerStage.
  int64_t position = 0;
};

/// The stage and chunk of each layer.
class StageMap {
public:
  /// Distributes the layers. Errors are found in the order in which MindSpore
  /// Transformers checks: columns of the offset, its rows, its sum, its numbers
  /// of layers. Only the mini stages with the embedding and with the head may
  /// have no layers. An offset that counts layers that do not exist is a
  /// warning.
  ///
  /// If the sum of the offset fits only the layers without those for
  /// multi-token prediction, and the options allow it, these are on the stage
  /// of the head. A warning says which layers the offset counts.
  static std::optional<StageMap> create(const StageMapOptions &options,
                                        DiagnosticList &diagnostics);

  int64_t getNumLayers() const { return static_cast<int64_t>(places.size()); }
  /// Return the number of stages that this model occupies, and the first of
  /// them.
  int64_t getNumStages() const { return numStages; }
  int64_t getStartStage() const { return startStage; }
  int64_t getNumChunks() const { return numChunks; }
  /// Returns the stage at `position` in the order in which `chunk` visits the
  /// stages, counted from getStartStage.
  int64_t getStage(int64_t chunk, int64_t position) const {
    return visits[static_cast<size_t>(chunk * numStages + position)];
  }
  /// Returns whether all chunks visit the stages in the same order.
  bool visitsAlike() const;

  const LayerPlace &getPlace(int64_t layer) const {
    return places[static_cast<size_t>(layer)];
  }
  /// Returns the layer whose recompute and swap settings `layer` has: the last
  /// one that the offset counts, if it does not count `layer`.
  int64_t getSettingLayer(int64_t layer) const {
    return std::min(layer, getNumCounted() - 1);
  }
  /// Returns the number of layers that the offset counts.
  int64_t getNumCounted() const { return getNumLayers() - numUncounted; }
  /// Returns the layers per mini stage [chunk][position], where position is the
  /// index in the order in which the chunk visits the stages.
  const std::vector<std::vector<int64_t>> &getLayersPerStage() const {
    return layersPerStage;
  }
  /// Returns the running sums of getLayersPerStage in layer order.
  std::vector<std::vector<int64_t>> getAccumulated() const;
  /// Returns the layers of a mini stage; `stage` counts from getStartStage.
  std::vector<int64_t> getLayers(int64_t stage, int64_t chunk) const;

  /// Return the stage of the embedding, and that of the final norm, head and
  /// loss.
  int64_t getFirstStage() const { return startStage + visits.front(); }
  int64_t getLastStage() const { return startStage + visits.back(); }

  /// Returns the communication fusion group that MindSpore Transformers assigns
  /// to the gradients of a layer.
  int64_t getCommFusion(int64_t layer, int64_t gradientAggregationGroup) const;

private:
  int64_t numStages = 1;
  int64_t startStage = 0;
  int64_t numChunks = 1;
  /// The number of the last layers that the offset does not count.
  int64_t numUncounted = 0;
  /// The stage of each mini stage, by chunk and position.
  std::vector<int64_t> visits = {0};
  /// The number of layers that `offset` adds to the first mini stage.
  int64_t firstOffset = 0;
  std::vector<std::vector<int64_t>> layersPerStage;
  std::vector<LayerPlace> places;
};

/// Makes the check that MindSpore Transformers makes after building a network:
/// at least one layer per stage, and per mini stage with interleaving. Errors
/// are added to `diagnostics`. Returns false if there was one.
bool checkLayerCount(const StageMapOptions &options,
                     DiagnosticList &diagnostics);

/// Checks pipeline_scheduler, pipeline_interleave, pp_interleave_num and the
/// numbers of stages and micro-batches as MindSpore Transformers and MindSpore
/// do. Adds an error for each rule that the pipeline of `config` violates, at
/// the key to correct, and a warning if pp_interleave_num is given but not
/// enabled. `options` are the numbers from which the stages are computed.
/// `schedule` is the name, for messages, of the schedule that replaces the
/// YAML's; empty if there is none.
void checkPipelineRules(const TrainingConfig &config,
                        const StageMapOptions &options,
                        llvm::StringRef schedule, DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_STAGEMAP_H
