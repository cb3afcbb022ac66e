//===- LayerPlans.h - From the text of a YAML to its plan -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_CONFIG_LAYERPLANS_H
#define MF_TEST_UNIT_CONFIG_LAYERPLANS_H

#include "CellTrees.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/ResolvedLayers.h"
#include "mf/Frontend/Families/Family.h"
#include "mf/Layers/LayerPlan.h"
#include "llvm/Support/raw_ostream.h"

namespace mf {

/// A plan, what it was made from and what was said on the way.
struct Planned {
  DiagnosticList diagnostics;
  TrainingConfig config;
  ResolvedLayers resolved;
  LayerPlan plan;

  std::string log() const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    resolved.printLog(stream);
    plan.printLog(stream);
    return text;
  }
  std::string table() const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    plan.printTable(stream);
    return text;
  }
};

/// A tree of test/data/mindformers/celltrees_dev.txt.
inline const CellTree &getTree(const std::string &name) {
  static const std::map<std::string, CellTree> trees = readCellTrees();
  return trees.at(name);
}

/// Resolves the layers of a stage map, and finds what they name in their trees.
template <typename GetTree>
LayerPlan planAll(const TrainingConfig &config, const StageMap &stages,
                  llvm::ArrayRef<llvm::StringRef> selection, GetTree getTree,
                  ResolvedLayers &resolved, DiagnosticList &diagnostics) {
  resolved = resolveLayers(config, stages, selection, diagnostics);
  if (diagnostics.hasErrors())
    return {};
  std::vector<PlannedLayer> layers;
  for (int64_t layer = 0; layer < stages.getNumLayers(); ++layer) {
    const LayerPlace &place = stages.getPlace(layer);
    layers.push_back({layer, place.stage, place.chunk,
                      &resolved.layers[static_cast<size_t>(layer)],
                      &getTree(layer)});
  }
  return planLayers(layers, !config.recompute.isOfDynamicGraph, diagnostics);
}

/// Reads `yaml` and plans its layers, all of which have the names of `tree`.
inline Planned plan(llvm::StringRef yaml,
                    const CellTree &tree = getTree("llama"),
                    ModelFamily family = ModelFamily::Llama) {
  Planned planned;
  planned.config = parseTrainingConfig(yaml, "t.yaml", planned.diagnostics);
  StageMapOptions options =
      getStageMapOptions(planned.config, planned.diagnostics);
  std::optional<StageMap> stages =
      StageMap::create(options, planned.diagnostics);
  if (!stages || planned.diagnostics.hasErrors())
    return planned;
  planned.plan = planAll(
      planned.config, *stages, getFamily(family).selection,
      [&](int64_t) -> const CellTree & { return tree; }, planned.resolved,
      planned.diagnostics);
  return planned;
}

/// model_config of `layers` layers and what follows.
inline std::string withLayers(int layers, llvm::StringRef rest) {
  return "model: {model_config: {num_layers: " + std::to_string(layers) +
         "}}\n" + rest.str();
}

} // namespace mf

#endif // MF_TEST_UNIT_CONFIG_LAYERPLANS_H
