//===- LayerReport.h - Report of the layers' settings -----------*- C++ -*-===//
//
// The facts of a layer plan that only the model can add: which operators the
// settings reached. For scripts as JSON, for tools as remarks.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_MARK_LAYERREPORT_H
#define MF_PASSES_MARK_LAYERREPORT_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/LayerPlan.h"

namespace mf::passes {

/// `plan` with the name of the model and, per layer, every operator that got
/// something. `layers` are the body layers, already marked. Keys print in the
/// same order every time.
llvm::json::Object makeLayerReport(ir::ModelOp model,
                                   llvm::ArrayRef<ir::LayerOp> layers,
                                   const LayerPlan &plan);

/// Emits remarks with the normalised settings and with the settings of each
/// layer.
void emitLayerRemarks(ir::ModelOp model, llvm::ArrayRef<ir::LayerOp> layers,
                      const LayerPlan &plan);

} // namespace mf::passes

#endif // MF_PASSES_MARK_LAYERREPORT_H
