//===- ReadEverything.h - Any text through the YAML readers -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_FUZZ_READEVERYTHING_H
#define MF_TEST_FUZZ_READEVERYTHING_H

#include "mf/Frontend/Config/BatchRules.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/ResolvedLayers.h"
#include "mf/Frontend/Families/Family.h"
#include "mf/Layers/LayerPlan.h"
#include "llvm/Support/raw_ostream.h"

namespace mf {

/// The names of a small layer.
inline CellTree makeFuzzTree() {
  return CellTree::fromOperators(
      {"add", "attention_norm.norm", "attention_norm.cast",
       "attention.wq.matmul", "attention.wo.matmul",
       "attention.flash_attention.flash_attention", "feed_forward.mul",
       "feed_forward.w1.matmul", "feed_forward.w1.activation.silu"});
}

/// Reads `text` as a training YAML, resolves batch, stages and layers and
/// prints the plan. Returns everything that was said.
inline std::string readEverything(llvm::StringRef text, const CellTree &tree) {
  DiagnosticList diagnostics;
  TrainingConfig config = parseTrainingConfig(text, "fuzz.yaml", diagnostics);
  resolveBatch(config, std::nullopt, diagnostics);
  std::string output;
  llvm::raw_string_ostream stream(output);
  std::optional<StageMap> stages =
      StageMap::create(getStageMapOptions(config, diagnostics), diagnostics);
  // Many layers say nothing new and take long.
  if (stages && stages->getNumLayers() <= 256 && !diagnostics.hasErrors()) {
    const ResolvedLayers resolved =
        resolveLayers(config, *stages, legacySelection, diagnostics);
    std::vector<PlannedLayer> layers;
    for (const LayerSettings &settings : resolved.layers)
      layers.push_back({settings.layer, 0, 0, &settings, &tree});
    LayerPlan plan =
        planLayers(layers, !config.recompute.isOfDynamicGraph, diagnostics);
    resolved.printLog(stream);
    plan.printLog(stream);
    plan.printTable(stream);
    stream << llvm::json::Value(resolved.toJson())
           << llvm::json::Value(plan.toJson());
  }
  diagnostics.print(stream);
  return output;
}

} // namespace mf

#endif // MF_TEST_FUZZ_READEVERYTHING_H
