//===- LayerPlan.h - Recompute and swap of each layer -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Finds the operators that the settings of layers name: the operators and cells
// that are recomputed, those whose communication is recomputed, those that are
// excluded, and those that are swapped, with their prefetch distance. The plan
// is a plain value that can be printed. Its log lines are those of MindSpore
// Transformers' static graph as its public documentation shows them; of the
// dynamic graph's trainer it has the one for modules whose communication cannot
// be recomputed.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LAYERS_LAYERPLAN_H
#define MF_LAYERS_LAYERPLAN_H

#include "mf/Layers/CellTree.h"
#include "mf/Layers/LayerSettings.h"
#include "llvm/Support/JSON.h"

namespace mf {

/// The part of a layer that a setting applies to: an operator, a cell with
/// everything in it, or (empty path) the whole layer.
struct LayerTarget {
  std::string path;
  bool isCell = false;
  /// The setting for messages, for example `select_recompute
  /// 'feed_forward\.mul'`.
  std::string setting;
  Location location;
  /// The parts of the cell to which it does not apply.
  std::vector<std::string> apart = {};

  /// Returns whether the operator or cell at `other` is this one or inside of
  /// it.
  bool contains(llvm::StringRef other) const;
};

/// A part of a layer that is recomputed, or excluded from that.
struct RecomputeTarget : LayerTarget {
  bool enabled = true;   ///< false for an exclude
  bool isPreset = false; ///< a mark of the model itself
};

/// A part of a layer that is swapped.
struct SwapTarget : LayerTarget {
  int64_t prefetch = 1;
  bool countsLayers = false; ///< `prefetch` counts layers, not kernels
};

/// Whether the collectives next to an operator are run again in backward.
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
  /// Whether recomputed cells run their communication again too.
  bool mpCommRecompute = true;
  /// True if each rank that has the recomputed layer's input keeps only a part
  /// of it.
  bool sliceActivation = false;
  /// In the order of application; the last one that contains an operator
  /// decides. Full recompute comes first, with the layer itself as its target.
  std::vector<RecomputeTarget> recompute;
  std::vector<RecomputeTarget> commRecompute;
  /// The layer first, then the op_swap patterns. The last one that contains an
  /// operator decides.
  std::vector<SwapTarget> swap;
  /// The marks of the model itself (CellTree::Entry::presetRecompute).
  std::vector<RecomputeTarget> presets;
  /// The `Set ...` lines without the log level.
  std::vector<std::string> logLines;

  /// Returns whether the operator at `path` runs again in backward. Its own
  /// mark overrides those of the cells that contain it.
  bool isRecomputed(llvm::StringRef path) const;
  /// Returns the user's mark on the communication of the operator, if there is
  /// one.
  std::optional<bool> getCommRecompute(llvm::StringRef path) const;
  /// Returns the choice for the collectives next to an operator, from its own
  /// settings or those of the recomputed cells that contain it. Empty if these
  /// define none.
  std::optional<CommunicationChoice>
  getCommunicationChoice(llvm::StringRef path) const;
  /// Returns the prefetch distance of the operator's swap, or none. A
  /// recomputed operator is not swapped.
  std::optional<int64_t> getSwapPrefetch(llvm::StringRef path) const;
  /// Return the settings that these choices come from, for messages. Null if
  /// there is none.
  const RecomputeTarget *getRecomputeSetting(llvm::StringRef path) const;
  const RecomputeTarget *getCommunicationSetting(llvm::StringRef path) const;
  const SwapTarget *getSwapSetting(llvm::StringRef path) const;

  /// Returns the settings of the layer on one line, without its number and
  /// place.
  std::string describe() const;
};

/// Gathers operators whose swap has no effect because of recompute, for one
/// warning about all layers with the same settings.
class SwapConflicts {
public:
  /// Adds an operator of a layer: it, or `consumer` that reads its output, is
  /// recomputed by `recompute`. `consumer` may be empty.
  void add(const LayerEffects &layer, llvm::StringRef path,
           llvm::StringRef consumer, const RecomputeTarget *recompute);
  void report(DiagnosticList &diagnostics) const;

private:
  struct Conflict {
    /// The text behind the layers.
    std::string text;
    Location swap, recompute;
    /// In ascending order.
    std::vector<int64_t> layers;
  };
  std::vector<Conflict> conflicts;
};

/// What each layer gets.
struct LayerPlan {
  std::vector<LayerEffects> layers;

  /// Prints the `INFO - ...` lines of each layer.
  void printLog(llvm::raw_ostream &stream) const;
  /// Prints one row per run of equal layers.
  void printTable(llvm::raw_ostream &stream) const;
  llvm::json::Array toJson() const;
};

/// A layer with the names in it. Two may have the same number (a
/// multi-token-prediction layer and its hidden fuser).
struct PlannedLayer {
  int64_t number = 0, stage = 0, chunk = 0;
  const LayerSettings *settings = nullptr;
  const CellTree *tree = nullptr;
};

/// Finds what the layers' settings name. `logs` tells whether the trainer logs
/// what layers get. The plan may only be used if no errors were added. Warnings
/// are added for patterns that match nothing (with the most similar names), and
/// for each operator of each layer that is both recomputed and swapped.
LayerPlan planLayers(llvm::ArrayRef<PlannedLayer> layers, bool logs,
                     DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LAYERS_LAYERPLAN_H
