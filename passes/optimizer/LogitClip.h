//===- LogitClip.h - Weights that shrink with large logits ------*- C++ -*-===//

#ifndef MF_PASSES_OPTIMIZER_LOGITCLIP_H
#define MF_PASSES_OPTIMIZER_LOGITCLIP_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// Multiplies the rows of `params` as their #mf.logit_clip say, those of its
/// own part on each rank, if the optimizer is a Muon that asks for it; by 1
/// where `overflow` is not 0. Fails if a rank has rows of other heads than
/// those whose logits it knows.
mlir::LogicalResult clipLogits(mlir::OpBuilder &builder,
                               ir::OptimizerAttr optimizer,
                               llvm::ArrayRef<ir::ParamOp> params,
                               mlir::Value overflow);

} // namespace mf::passes

#endif // MF_PASSES_OPTIMIZER_LOGITCLIP_H
