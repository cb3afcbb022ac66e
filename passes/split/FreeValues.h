//===- FreeValues.h - Values recomputed at no cost --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_SPLIT_FREEVALUES_H
#define MF_PASSES_SPLIT_FREEVALUES_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// Finds the operators of forward that backward recomputes instead of keeping
/// their results: views, whose memory is their operand's, and values computed
/// from parameters alone, such as the cast of a weight. Parameters keep their
/// values through the whole step, so keeping such values for each micro-batch
/// would only waste memory. A gathered parameter is not free, but values
/// computed from it are.
class FreeValues {
public:
  bool isFree(mlir::Operation *op);

private:
  bool isMadeOfParameters(mlir::Operation *op);

  llvm::DenseMap<mlir::Operation *, bool> madeOfParameters;
};

} // namespace mf::passes

#endif // MF_PASSES_SPLIT_FREEVALUES_H
