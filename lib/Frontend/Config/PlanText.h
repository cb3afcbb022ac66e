//===- PlanText.h - Python's spelling of a plan's parts ---------*- C++ -*-===//

#ifndef MF_LIB_CONFIG_PLANTEXT_H
#define MF_LIB_CONFIG_PLANTEXT_H

#include "mf/Frontend/Config/LayerPlan.h"

namespace mf {

/// `{'pattern': layers, ...}`, with the backslashes of a pattern as the
/// documentation prints them: single.
std::string reprPatterns(const std::vector<PatternLayers> &patterns);
std::string reprSwapEntries(const std::vector<SwapEntry> &entries);
std::string reprOpSwap(const std::vector<SwapConfig::OperatorSwap> &swaps);

/// Marks the layers of a swap entry in `layers.mask`, and warns about indices
/// that no layer has.
void setCoveredLayers(const SwapEntry &entry, llvm::StringRef name,
                      const StageMap &stages, NormalizedLayers &layers,
                      DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_CONFIG_PLANTEXT_H
