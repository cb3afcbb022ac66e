//===- LayerNormalizer.h - Settings in the terms of a stage map -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_LAYERNORMALIZER_H
#define MF_LIB_FRONTEND_CONFIG_LAYERNORMALIZER_H

#include "mf/Frontend/Config/ResolvedLayers.h"

namespace mf {

/// Turns layer selections into matrices (swap off) or index lists (swap on).
class LayerNormalizer {
public:
  LayerNormalizer(const StageMap &stages, bool isSwapOn,
                  DiagnosticList &diagnostics)
      : stages(stages), isSwapOn(isSwapOn), diagnostics(diagnostics) {}

  /// `what` is the name of the setting in messages. The result is empty after
  /// an error.
  NormalizedLayers normalize(const LayerSelection &selection,
                             llvm::StringRef what);

private:
  void warnAboutExcess(const LayerSelection &selection, llvm::StringRef what,
                       const LayerCount &count, int64_t stage, int64_t room);
  NormalizedLayers normalizeMatrix(const LayerSelection &selection,
                                   llvm::StringRef what);
  NormalizedLayers normalizeNumbers(const LayerSelection &selection) const;
  NormalizedLayers normalizeIndices(const LayerSelection &selection,
                                    llvm::StringRef what);
  bool dealCounts(const LayerSelection &selection, llvm::StringRef what,
                  std::vector<std::vector<int64_t>> &matrix);
  bool clampTable(const LayerSelection &selection, llvm::StringRef what,
                  std::vector<std::vector<int64_t>> &matrix);

  const StageMap &stages;
  bool isSwapOn;
  DiagnosticList &diagnostics;
};

/// Returns the patterns that a select_comm_recompute without names stands for.
llvm::ArrayRef<llvm::StringRef> getDefaultCommPatterns();
/// Returns the pattern of the operators that are swapped if swap_config names
/// neither layers nor operators.
llvm::StringRef getDefaultSwapPattern();

/// Returns the patterns of one key with the layers of each. A setting without
/// names has the default patterns. The patterns are not checked against the
/// model here.
std::vector<PatternLayers>
resolvePatterns(const LayerSetting &setting, LayerKey key,
                llvm::ArrayRef<llvm::StringRef> defaults,
                LayerNormalizer &normalizer, DiagnosticList &diagnostics);

/// Returns `[1, 2]` or `[[1, 2], [3]]`, as Python prints them.
std::string reprList(const std::vector<int64_t> &values);
std::string reprMatrix(const std::vector<std::vector<int64_t>> &rows);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_LAYERNORMALIZER_H
