//===- LayerReport.cpp - Report of the layers' settings -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/mark/LayerReport.h"
#include "mlir/IR/Remarks.h"
#include "passes/mark/LayerCommunication.h"

using namespace mlir;
using namespace mf;
using namespace mf::ir;

/// Returns the settings of one operator; empty if there are none.
static llvm::json::Object reportOperator(ComputeOpInterface op,
                                         const LayerEffects &effects) {
  StringRef path = op.getCellName();
  llvm::json::Object object;
  if (std::optional<RecomputeKind> mark = op.getRecomputeMark();
      mark && *mark != RecomputeKind::Output)
    object["recompute"] = stringifyRecomputeKind(*mark);
  if (std::optional<bool> comm = effects.getCommRecompute(path))
    object["comm_recompute"] = *comm;
  if (std::optional<int64_t> prefetch = op.getSwapMark())
    object["swap_prefetch"] = *prefetch;
  return object;
}

static llvm::json::Object reportOperators(LayerOp layer,
                                          const LayerEffects &effects) {
  llvm::json::Object operators;
  passes::LayerCommunication communication(layer);
  for (auto op : layer.getBody().getOps<ComputeOpInterface>()) {
    StringRef path = op.getCellName();
    if (path.empty() || communication.isInserted(op))
      continue;
    // The first operator represents all operators of the same name.
    llvm::json::Object object = reportOperator(op, effects);
    if (!object.empty())
      operators.try_emplace(path.str(), std::move(object));
  }
  return operators;
}

llvm::json::Object passes::makeLayerReport(ModelOp model,
                                           ArrayRef<LayerOp> layers,
                                           const LayerPlan &plan) {
  llvm::json::Array rows = plan.toJson();
  for (auto [row, layer, effects] : llvm::zip_equal(rows, layers, plan.layers))
    (*row.getAsObject())["operators"] = reportOperators(layer, effects);
  return llvm::json::Object{{"model", model.getSymName()},
                            {"layers", std::move(rows)}};
}

void passes::emitLayerRemarks(ArrayRef<LayerOp> layers, const LayerPlan &plan) {
  for (auto [entry, effects] : llvm::zip_equal(layers, plan.layers)) {
    LayerOp layer = entry;
    int64_t numMarked = 0;
    int64_t numSwapped = 0;
    for (auto op : layer.getBody().getOps<ComputeOpInterface>()) {
      numMarked += isMarkedForRecompute(op);
      numSwapped += op.getSwapMark().has_value();
    }
    remark::analysis(layer.getLoc(), remark::RemarkOpts::name("LayerSettings")
                                         .category("recompute")
                                         .function(layer.getSymName()))
        << remark::add("{0}", effects.describe())
        << remark::metric("operators marked", numMarked)
        << remark::metric("operators swapped", numSwapped);
    auto [repeated, kept] = passes::LayerCommunication(layer).countMarked();
    if (repeated + kept > 0)
      remark::analysis(layer.getLoc(), remark::RemarkOpts::name("Collectives")
                                           .category("recompute")
                                           .function(layer.getSymName()))
          << remark::add("of {0} collectives next to recomputed operators {1} "
                         "run again where backward needs them",
                         repeated + kept, repeated)
          << remark::metric("repeated", repeated)
          << remark::metric("kept", kept);
  }
}
