//===- PlanText.cpp - Python's spelling of a plan's parts -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanText.h"
#include "LayerNormalizer.h"

namespace mf {

static std::string reprKey(llvm::StringRef text) {
  char mark = text.contains('\'') && !text.contains('"') ? '"' : '\'';
  return mark + escapeControls(text) + mark;
}

std::string reprPatterns(const std::vector<PatternLayers> &patterns) {
  std::string text = "{";
  for (const PatternLayers &pattern : patterns)
    text += (text.size() > 1 ? ", " : "") + reprKey(pattern.pattern) + ": " +
            pattern.layers.repr();
  return text + "}";
}

std::string reprSwapEntries(const std::vector<SwapEntry> &entries) {
  std::string text = "[";
  for (const SwapEntry &entry : entries)
    text +=
        (text.size() > 1 ? ", " : "") + std::string("{") +
        "'backward_prefetch': " + std::to_string(entry.prefetch) +
        ", 'layers': " + (entry.allLayers ? "True" : reprList(entry.layers)) +
        "}";
  return text + "]";
}

std::string reprOpSwap(const std::vector<SwapConfig::OperatorSwap> &swaps) {
  std::string text = "{";
  for (const SwapConfig::OperatorSwap &swap : swaps)
    text += (text.size() > 1 ? ", " : "") + reprKey(swap.pattern) + ": " +
            reprSwapEntries(swap.entries);
  return text + "}";
}

void setCoveredLayers(const SwapEntry &entry, llvm::StringRef name,
                      const StageMap &stages, NormalizedLayers &layers,
                      DiagnosticList &diagnostics) {
  if (entry.allLayers)
    layers.kind = NormalizedLayers::Kind::All;
  for (int64_t layer : entry.layers) {
    if (layer >= 0 && layer < stages.getNumLayers()) {
      layers.mask[static_cast<size_t>(layer)] = true;
      continue;
    }
    diagnostics.warning(entry.location,
                        quote(name) + " names layer " + llvm::Twine(layer) +
                            ", but there are " +
                            llvm::Twine(stages.getNumLayers()) + " layers");
  }
}

} // namespace mf
