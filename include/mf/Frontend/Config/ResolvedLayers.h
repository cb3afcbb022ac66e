//===- ResolvedLayers.h - The layers that settings cover --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Resolves recompute_config and swap_config for a stage map: what the YAML asks
// of each layer. The log lines are those of MindSpore Transformers' static
// graph as its public documentation shows them.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_CONFIG_RESOLVEDLAYERS_H
#define MF_FRONTEND_CONFIG_RESOLVEDLAYERS_H

#include "mf/Frontend/Config/StageMap.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "mf/Layers/LayerSettings.h"
#include "llvm/Support/JSON.h"

namespace mf {

/// The layers that a setting covers, resolved for one stage map. With swap off
/// it is a matrix with the number of layers of each mini stage, counted from
/// its first layer. With swap on it is all layers, or a list of layer indices.
struct NormalizedLayers {
  enum class Kind : uint8_t { Matrix, All, Indices };
  Kind kind = Kind::Matrix;
  std::vector<std::vector<int64_t>> matrix;
  /// The list as written. True stands for layer 1 and False for layer 0, as in
  /// Python.
  std::vector<LayerCount> indices;
  /// For Indices, whether each layer is in the list.
  std::vector<bool> mask;

  bool covers(const StageMap &stages, int64_t layer) const;
  /// Returns Python's representation, for the `Formative` lines.
  std::string repr() const;
};

/// A pattern and the layers that it is for.
struct PatternLayers {
  LayerRequest request;
  NormalizedLayers layers;
};

/// The normalised settings, and what they ask of each layer.
struct ResolvedLayers {
  NormalizedLayers recompute;
  /// Those of select_recompute first, then those of the other keys, in the
  /// order of LayerKey.
  std::vector<PatternLayers> patterns;
  bool swap = false;
  std::vector<SwapEntry> layerSwap;
  std::vector<SwapConfig::OperatorSwap> opSwap;
  bool mpCommRecompute = true;
  bool parallelOptimizerCommRecompute = false;
  /// The lines that are logged before those of the layers, without the log
  /// level.
  std::vector<std::string> initLines;
  /// By the number in the stage map. Empty after an error.
  std::vector<LayerSettings> layers;

  std::vector<PatternLayers> getPatterns(LayerKey key) const;
  /// Prints the normalised settings as `INFO - ...` lines.
  void printLog(llvm::raw_ostream &stream) const;
  llvm::json::Object toJson() const;
};

/// Resolves the settings of a YAML for the layers of a model. `selection` is
/// what select_recompute covers if it names no operators. Warnings are added
/// for settings without effect.
ResolvedLayers resolveLayers(const TrainingConfig &config,
                             const StageMap &stages,
                             llvm::ArrayRef<llvm::StringRef> selection,
                             DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_RESOLVEDLAYERS_H
