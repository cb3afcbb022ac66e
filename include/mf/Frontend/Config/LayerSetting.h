//===- LayerSetting.h - Values of recompute and swap keys -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The values per layer of recompute_config and swap_config as written: a number
// of layers of each stage (or, with swap on, layer indices), and the operators.
// LayerPlan applies them to a stage map.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_CONFIG_LAYERSETTING_H
#define MF_FRONTEND_CONFIG_LAYERSETTING_H

#include "mf/Frontend/Config/Node.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mf {

/// A number of layers as users write it: an int, or True for all layers and
/// False for none. With swap on, the same list item is a layer index.
struct LayerCount {
  bool isBool = false;
  int64_t value = 0; ///< for a bool 0 or 1

  static LayerCount fromBool(bool flag) { return {true, flag ? 1 : 0}; }
  static LayerCount fromInt(int64_t count) { return {false, count}; }
  bool operator==(const LayerCount &other) const {
    return isBool == other.isBool && value == other.value;
  }
};

/// Returns Python's representation, for example `[1, True]`.
std::string reprCounts(llvm::ArrayRef<LayerCount> counts);

/// A row of a two-dimensional setting: one count per stage, or one bool for the
/// whole row.
struct LayerCountRow {
  std::optional<bool> whole;
  std::vector<LayerCount> counts;
};

/// The layers that a setting covers.
struct LayerSelection {
  enum class Kind : uint8_t {
    Bool,   ///< all layers or none
    Counts, ///< one count per stage (with swap on: layer indices)
    Table,  ///< one count per interleave and stage
    Names,  ///< a list of strings where layers were expected: all layers
    Numbers ///< layers by their numbers in the model
  };

  Kind kind = Kind::Bool;
  bool flag = false;
  std::vector<LayerCount> counts;
  std::vector<LayerCountRow> table;
  /// In ascending order. Patterns for such layers must match whole paths of
  /// cells.
  std::vector<int64_t> numbers;
  Location location;

  static LayerSelection fromBool(bool flag) {
    LayerSelection selection;
    selection.flag = flag;
    return selection;
  }
  /// Returns Python's representation of the written value.
  std::string repr() const;
};

/// The value of one key of recompute_config: a selection for the default
/// patterns (or for whole layers), a list of patterns for all layers, or an
/// ordered map from pattern to selection.
struct LayerSetting {
  enum class Kind : uint8_t { Selection, Patterns, PatternMap };

  Kind kind = Kind::Selection;
  LayerSelection selection;
  /// The patterns in the order written. The patterns of a list cover all
  /// layers. The location is that of the pattern.
  struct Pattern {
    std::string text;
    LayerSelection layers;
    Location location;
  };
  std::vector<Pattern> patterns;
  Location location;

  static LayerSetting fromBool(bool flag) {
    LayerSetting setting;
    setting.selection = LayerSelection::fromBool(flag);
    return setting;
  }
  /// Returns Python's truth value of the written value: False, [] and {} are
  /// false.
  bool isTruthy() const;
};

/// Reads the value of a recompute_config key. `allowPatterns` is false for
/// `recompute`, which applies to whole layers only.
std::optional<LayerSetting> readLayerSetting(const Node &node,
                                             llvm::StringRef key,
                                             bool allowPatterns,
                                             DiagnosticList &diagnostics);

/// One item of layer_swap, or one use of a name in op_swap.
struct SwapEntry {
  /// The number of kernels between the copy to the device and its first reader
  /// in backward.
  int64_t prefetch = 1;
  bool allLayers = false;
  /// True if `prefetch` counts layers, and patterns must match whole paths of
  /// cells.
  bool countsLayers = false;
  std::vector<int64_t> layers;
  Location location;

  bool covers(int64_t layer) const;
};

} // namespace mf

#endif // MF_FRONTEND_CONFIG_LAYERSETTING_H
