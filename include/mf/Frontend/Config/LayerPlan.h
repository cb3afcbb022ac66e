//===- LayerPlan.h - Recompute and swap of each layer -----------*- C++ -*-===//
//
// Resolves recompute_config and swap_config over a stage map and the names of
// every layer's operators: the layers that are recomputed whole, the operators
// and cells that are recomputed one by one, those whose communication is
// recomputed, those that are excluded, and those that are swapped, with their
// prefetch. The plan is a plain value that prints; the log lines are those of
// MindSpore Transformers as its public documentation shows them.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CONFIG_LAYERPLAN_H
#define MF_CONFIG_LAYERPLAN_H

#include "mf/Frontend/Config/CellTree.h"
#include "mf/Frontend/Config/StageMap.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "llvm/Support/JSON.h"

namespace mf {

/// How a model names its operators, which decides the default patterns.
enum class NameFamily : uint8_t {
  Classic, ///< Llama, Qwen, GLM, ...: feed_forward, attention
  Mcore,   ///< the mcore training graph: mlp, self_attention
};

/// The patterns that a select_recompute without names stands for.
llvm::ArrayRef<llvm::StringRef> getDefaultSelectPatterns(NameFamily family);
/// The patterns of select_comm_recompute in the same case.
llvm::ArrayRef<llvm::StringRef> getDefaultCommPatterns();
/// The operators that are swapped where swap_config names neither layers nor
/// operators.
llvm::StringRef getDefaultSwapPattern();

/// A layer selection in the terms of one stage map. With swap off a matrix of
/// layers per mini stage, counted from its first layer; with swap on all
/// layers, or a list of layer indices.
struct NormalizedLayers {
  enum class Kind : uint8_t { Matrix, All, Indices };
  Kind kind = Kind::Matrix;
  std::vector<std::vector<int64_t>> matrix;
  /// As written: True stands for layer 1 and False for layer 0, as in Python.
  std::vector<LayerCount> indices;
  /// For Indices: by layer, whether it is in the list.
  std::vector<bool> mask;

  bool covers(const StageMap &stages, int64_t layer) const;
  /// As Python prints it, for the `Formative` lines.
  std::string repr() const;
};

/// A pattern and the layers it is for.
struct PatternLayers {
  std::string pattern;
  NormalizedLayers layers;
  Location location;
  bool isDefault = false; ///< not written by the user
  /// The pattern must match the whole path of a cell, dots included.
  bool meansWholePaths = false;
};

/// Something of a layer that a setting applies to: an operator, a cell with
/// all in it, or (empty path) the whole layer.
struct LayerTarget {
  std::string path;
  bool isCell = false;
  /// The setting, for messages: `select_recompute 'feed_forward\.mul'`.
  std::string setting;
  Location location;

  /// Whether the operator or cell at `other` is this or in this.
  bool contains(llvm::StringRef other) const;
};

struct RecomputeTarget : LayerTarget {
  bool enabled = true;   ///< false for an exclude
  bool isPreset = false; ///< a mark of the model itself
};

struct SwapTarget : LayerTarget {
  int64_t prefetch = 1;
  bool countsLayers = false; ///< `prefetch` counts layers, not kernels
};

/// Whether the collectives next to an operator are repeated in backward.
enum class CommunicationChoice : uint8_t {
  Repeat,  ///< named by select_comm_recompute, or in a recomputed cell
  Keep,    ///< in a recomputed cell, but mp_comm_recompute is False
  Exclude, ///< named by select_comm_recompute_exclude
};

/// The memory settings that apply to one layer.
struct LayerEffects {
  int64_t layer = 0;
  int64_t stage = 0;
  int64_t chunk = 0;
  int64_t commFusion = 1;
  bool fullRecompute = false;
  /// Whether recomputed cells repeat their communication, too.
  bool mpCommRecompute = true;
  /// Each rank that has the recomputed layer's input keeps only a part of it.
  bool sliceActivation = false;
  /// In the order applied; for an operator the last one counts. Full
  /// recompute is the first, with the layer itself as its target.
  std::vector<RecomputeTarget> recompute;
  std::vector<RecomputeTarget> commRecompute;
  /// Layer first, then the op_swap patterns; the last that contains an
  /// operator counts.
  std::vector<SwapTarget> swap;
  /// Marks of the model itself (CellTree::Entry::presetRecompute).
  std::vector<RecomputeTarget> presets;
  /// `Set ...` lines without the level.
  std::vector<std::string> logLines;

  /// Whether the operator at `path` runs again in backward. Its own mark
  /// beats those of the cells it is in.
  bool isRecomputed(llvm::StringRef path) const;
  /// The user's mark on the communication of the operator, if there is one.
  std::optional<bool> getCommRecompute(llvm::StringRef path) const;
  /// The choice for the collectives next to an operator, by its own settings or
  /// those of the recomputed cells around it; none if they say nothing.
  std::optional<CommunicationChoice>
  getCommunicationChoice(llvm::StringRef path) const;
  /// The prefetch of the operator's swap, or nothing. A recomputed operator is
  /// not swapped.
  std::optional<int64_t> getSwapPrefetch(llvm::StringRef path) const;
  /// The settings behind the two, for messages; null if there is none.
  const RecomputeTarget *getRecomputeSetting(llvm::StringRef path) const;
  const RecomputeTarget *getCommunicationSetting(llvm::StringRef path) const;
  const SwapTarget *getSwapSetting(llvm::StringRef path) const;

  /// The settings of the layer on one line, without its number and place.
  std::string describe() const;
};

/// The message about an operator whose swap has no effect because it, or
/// `consumer` that reads its output, is recomputed by `recompute`; `consumer`
/// may be empty.
void warnAboutSwapConflict(const LayerEffects &layer, llvm::StringRef path,
                           llvm::StringRef consumer,
                           const RecomputeTarget *recompute,
                           DiagnosticList &diagnostics);

struct LayerPlan {
  NormalizedLayers recompute;
  std::vector<PatternLayers> select;
  std::vector<PatternLayers> comm;
  std::vector<PatternLayers> selectExclude;
  std::vector<PatternLayers> commExclude;
  bool swap = false;
  std::vector<SwapEntry> layerSwap;
  std::vector<SwapConfig::OperatorSwap> opSwap;
  bool mpCommRecompute = true;
  bool parallelOptimizerCommRecompute = false;
  /// The lines that are logged before the layers, without the level.
  std::vector<std::string> initLines;
  std::vector<LayerEffects> layers;

  /// `INFO - ...` lines: the normalised settings, then layer by layer.
  void printLog(llvm::raw_ostream &stream) const;
  /// Prints one row per run of equal layers.
  void printTable(llvm::raw_ostream &stream) const;
  llvm::json::Value toJson() const;
};

/// A call of the layer setting: a layer and the names in it. A layer may come
/// twice (a multi-token-prediction layer and its hidden fuser).
struct PlannedLayer {
  int64_t layer = 0;
  const CellTree *tree = nullptr;
};

struct LayerPlanInput {
  const RecomputeConfig &recompute;
  const SwapConfig &swap;
  const StageMap &stages;
  NameFamily names = NameFamily::Classic;
  std::vector<PlannedLayer> layers;
  int64_t gradientAggregationGroup = 4;
};

/// Resolves everything. The plan may only be used when no errors were added.
/// Warnings: patterns that match nothing (with the nearest names), settings
/// without effect, and each operator of each layer that is both recomputed
/// and swapped.
LayerPlan planLayers(const LayerPlanInput &input, DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_CONFIG_LAYERPLAN_H
