//===- LayerSettings.h - What a YAML asks of one layer ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// recompute_config and swap_config, resolved for one layer of a stage map. The
// operators that a pattern names are found once the layer has its operators
// (LayerPlan.h).
//
//===----------------------------------------------------------------------===//

#ifndef MF_LAYERS_LAYERSETTINGS_H
#define MF_LAYERS_LAYERSETTINGS_H

#include "mf/Support/Diagnostic.h"
#include "llvm/ADT/Hashing.h"
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// A key whose value is about layers.
enum class LayerKey : uint8_t {
  Recompute,
  SelectRecompute,
  SelectCommRecompute,
  SelectRecomputeExclude,
  SelectCommRecomputeExclude,
  LayerSwap,
  OpSwap
};

/// The names of these keys in the YAML, by LayerKey.
inline constexpr llvm::StringLiteral layerKeyNames[] = {
    "recompute",
    "select_recompute",
    "select_comm_recompute",
    "select_recompute_exclude",
    "select_comm_recompute_exclude",
    "layer_swap",
    "op_swap"};

constexpr llvm::StringLiteral getName(LayerKey key) {
  return layerKeyNames[static_cast<size_t>(key)];
}
std::optional<LayerKey> findLayerKey(llvm::StringRef name);

/// Whether the key's value names operators. The other keys are about whole
/// layers.
constexpr bool namesOperators(LayerKey key) {
  return key != LayerKey::Recompute && key != LayerKey::LayerSwap;
}
constexpr bool isSwap(LayerKey key) { return key >= LayerKey::LayerSwap; }

/// What one item of a key's value asks of a layer.
struct LayerRequest {
  LayerKey key = LayerKey::Recompute;
  /// The operators and Cells, by CellPattern; empty for whole layers.
  std::string pattern;
  Location location;
  /// True if the value names neither operators nor, with swap on, layers.
  bool isUnnamed = false;
  /// True if the pattern must match the whole path of a Cell, including dots.
  bool meansWholePaths = false;
  /// How long before its first reader in backward a value comes back: in
  /// kernels, or in layers.
  int64_t prefetch = 1;
  bool countsLayers = false;

  bool operator==(const LayerRequest &other) const;
};

/// What a YAML asks of one layer.
struct LayerSettings {
  /// The layer's number in messages of MindSpore Transformers.
  int64_t layer = 0;
  /// The group in which gradients of the layer are reduced.
  int64_t commFusion = 1;
  /// Whether recomputed Cells run their communication again too.
  bool mpCommRecompute = true;
  /// Whether ranks with the same input of a recomputed layer each keep a part
  /// of the input.
  bool sliceActivation = false;
  /// Whether the YAML selects operators in any layer. The model's own marks
  /// depend on that (setModelPresets).
  bool selectsOperators = false;
  bool isSwapOn = false;
  /// Parts of names of operators, in lower case, whose outputs recomputed Cells
  /// keep.
  std::vector<std::string> keptOperators;
  /// In the order of application.
  std::vector<LayerRequest> requests;

  bool operator==(const LayerSettings &other) const;
  /// Returns the request of a key about whole layers, or null.
  const LayerRequest *find(LayerKey key) const;
};

llvm::hash_code hash_value(const LayerSettings &settings); // NOLINT(*-naming)

} // namespace mf

#endif // MF_LAYERS_LAYERSETTINGS_H
