//===- LayerPlanPrint.cpp - A plan as log, table and JSON -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Layers/LayerPlan.h"
#include "llvm/Support/raw_ostream.h"

namespace mf {

void LayerPlan::printLog(llvm::raw_ostream &stream) const {
  for (const LayerEffects &layer : layers)
    for (const std::string &line : layer.logLines)
      stream << "INFO - " << line << '\n';
}

namespace {
/// Equal layers next to each other on one stage.
struct PrintedRow {
  std::string layers;
  std::string stage;
  std::string chunk;
  std::string effects;
};
} // namespace

static std::vector<PrintedRow> makeRows(llvm::ArrayRef<LayerEffects> layers) {
  std::vector<PrintedRow> rows;
  for (size_t first = 0; first < layers.size();) {
    const LayerEffects &layer = layers[first];
    std::string effects = layer.describe();
    size_t end = first + 1;
    while (end < layers.size() && layers[end].stage == layer.stage &&
           layers[end].chunk == layer.chunk &&
           layers[end].layer == layers[end - 1].layer + 1 &&
           layers[end].describe() == effects)
      ++end;
    std::string range = std::to_string(layer.layer);
    if (end > first + 1)
      range += "-" + std::to_string(layers[end - 1].layer);
    rows.push_back({range, std::to_string(layer.stage),
                    std::to_string(layer.chunk), effects});
    first = end;
  }
  return rows;
}

void LayerPlan::printTable(llvm::raw_ostream &stream) const {
  std::vector<PrintedRow> rows = makeRows(layers);
  rows.insert(rows.begin(), {"layers", "stage", "chunk", "gets"});
  size_t width = 0;
  for (const PrintedRow &row : rows)
    width = std::max(width, row.layers.size());
  for (const PrintedRow &row : rows) {
    stream << row.layers;
    stream.indent(static_cast<unsigned>(width - row.layers.size() + 2));
    stream << row.stage;
    stream.indent(
        static_cast<unsigned>(7 - std::min<size_t>(row.stage.size(), 6)));
    stream << row.chunk;
    stream.indent(
        static_cast<unsigned>(7 - std::min<size_t>(row.chunk.size(), 6)));
    stream << row.effects << '\n';
  }
}

/// llvm::json requires valid UTF-8, but names come from the user.
static std::string makeUtf8(llvm::StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

static llvm::json::Value toJson(const LayerEffects &layer) {
  llvm::json::Object recompute;
  llvm::json::Object comm;
  llvm::json::Array swap;
  llvm::json::Array log;
  for (const RecomputeTarget &target : layer.recompute)
    if (!target.path.empty())
      recompute[makeUtf8(target.path)] = target.enabled;
  for (const RecomputeTarget &target : layer.commRecompute)
    comm[makeUtf8(target.path)] = target.enabled;
  for (const SwapTarget &target : layer.swap)
    swap.push_back(llvm::json::Object{{"path", makeUtf8(target.path)},
                                      {"cell", target.isCell},
                                      {"prefetch", target.prefetch}});
  for (const std::string &line : layer.logLines)
    log.push_back(makeUtf8(line));
  return llvm::json::Object{{"layer", layer.layer},
                            {"stage", layer.stage},
                            {"chunk", layer.chunk},
                            {"comm_fusion", layer.commFusion},
                            {"full_recompute", layer.fullRecompute},
                            {"slice_activation", layer.sliceActivation},
                            {"recompute", std::move(recompute)},
                            {"comm_recompute", std::move(comm)},
                            {"swap", std::move(swap)},
                            {"log", std::move(log)}};
}

llvm::json::Array LayerPlan::toJson() const {
  llvm::json::Array all;
  for (const LayerEffects &layer : layers)
    all.push_back(mf::toJson(layer));
  return all;
}

} // namespace mf
