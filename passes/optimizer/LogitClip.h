//===- LogitClip.h - Scales weights down if logits are large ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_OPTIMIZER_LOGITCLIP_H
#define MF_PASSES_OPTIMIZER_LOGITCLIP_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// Builds the product of the rows of `params` with the factors that their
/// #mf.logit_clip define, if the optimizer is Muon with a `logit_threshold`.
/// Each rank multiplies the rows of its own part. The factors are 1 if
/// `overflow` is not 0. Fails if a rank has rows of heads whose logits it does
/// not have.
mlir::LogicalResult clipLogits(mlir::OpBuilder &builder,
                               ir::OptimizerAttr optimizer,
                               llvm::ArrayRef<ir::ParamOp> params,
                               mlir::Value overflow);

} // namespace mf::passes

#endif // MF_PASSES_OPTIMIZER_LOGITCLIP_H
