//===- PlanText.h - Python's spelling of a plan's parts ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_PLANTEXT_H
#define MF_LIB_FRONTEND_CONFIG_PLANTEXT_H

#include "mf/Frontend/Config/LayerPlan.h"

namespace mf {

/// Returns `{'pattern': layers, ...}`. A backslash of a pattern is printed
/// once, as in the documentation, and not escaped.
std::string reprPatterns(const std::vector<PatternLayers> &patterns);
std::string reprSwapEntries(const std::vector<SwapEntry> &entries);
std::string reprOpSwap(const std::vector<SwapConfig::OperatorSwap> &swaps);

/// Marks the layers of a swap entry in `layers.mask`, and warns about indices
/// that no layer has.
void setCoveredLayers(const SwapEntry &entry, llvm::StringRef name,
                      const StageMap &stages, NormalizedLayers &layers,
                      DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_PLANTEXT_H
