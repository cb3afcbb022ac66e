//===- TrainingCheck.h - Models that have a configuration -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_CONFIG_TRAININGCHECK_H
#define MF_PASSES_CONFIG_TRAININGCHECK_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// Reports a model without a `training` attribute.
inline mlir::LogicalResult checkTraining(ir::ModelOp model) {
  if (model.getTrainingAttr())
    return mlir::success();
  return model.emitOpError(
      "has no training configuration; run mf-read-config first");
}

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_TRAININGCHECK_H
