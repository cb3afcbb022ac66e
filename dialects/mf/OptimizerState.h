//===- OptimizerState.h - What a rank keeps per parameter -------*- C++ -*-===//

#ifndef MF_DIALECTS_MF_OPTIMIZERSTATE_H
#define MF_DIALECTS_MF_OPTIMIZERSTATE_H

#include "dialects/mf/MfOps.h"

namespace mf::ir {

/// The dimensions of a parameter that a state of it has: all of them, or those
/// that a mean over rows or columns leaves.
llvm::SmallVector<int64_t> getStateDims(ParamOp param, State state);

/// The type of one rank's part of a state; null where the parameter has fewer
/// than two dimensions and the state is means of rows or columns.
mlir::RankedTensorType getStateType(ParamOp param, State state);

} // namespace mf::ir

#endif // MF_DIALECTS_MF_OPTIMIZERSTATE_H
