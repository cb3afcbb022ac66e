//===- OptimizerState.h - Per-parameter state of the optimizer --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_MF_OPTIMIZERSTATE_H
#define MF_DIALECTS_MF_OPTIMIZERSTATE_H

#include "dialects/mf/MfOps.h"

namespace mf::ir {

/// Returns the dimensions of a parameter that a state of it has: all of them,
/// or those that remain after a mean over rows or columns.
llvm::SmallVector<int64_t> getStateDims(ParamOp param, State state);

/// Returns the type of one rank's part of a state. Null if the state is a mean
/// over rows or columns and the parameter has fewer than two dimensions.
mlir::RankedTensorType getStateType(ParamOp param, State state);

} // namespace mf::ir

#endif // MF_DIALECTS_MF_OPTIMIZERSTATE_H
