//===- LayerReport.h - Report of the layers' settings -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The part of the report on a layer plan that needs the model: the operators to
// which settings applied. Scripts get it as JSON, tools as remarks.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_MARK_LAYERREPORT_H
#define MF_PASSES_MARK_LAYERREPORT_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Layers/LayerPlan.h"

namespace mf::passes {

/// Returns the name of the model and what `plan` has of its layers, each with
/// every operator that has a setting. `layers` are the body layers, already
/// marked. The order of keys is deterministic.
llvm::json::Object makeLayerReport(ir::ModelOp model,
                                   llvm::ArrayRef<ir::LayerOp> layers,
                                   const LayerPlan &plan);

/// Emits remarks with the settings of each layer.
void emitLayerRemarks(llvm::ArrayRef<ir::LayerOp> layers,
                      const LayerPlan &plan);

} // namespace mf::passes

#endif // MF_PASSES_MARK_LAYERREPORT_H
