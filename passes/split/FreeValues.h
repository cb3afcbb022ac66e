//===- FreeValues.h - Values that backward repeats for nothing --*- C++ -*-===//

#ifndef MF_PASSES_SPLIT_FREEVALUES_H
#define MF_PASSES_SPLIT_FREEVALUES_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// Tells which operators of forward backward makes again rather than keep
/// their results: views, whose memory is their operand's, and what is computed
/// from parameters alone, such as the cast of a weight. Parameters stay where
/// they are through the whole step, so keeping something made of them per
/// micro-batch would only spend memory. A parameter that ranks put together is
/// not free, but what is made of it is.
class FreeValues {
public:
  bool isFree(mlir::Operation *op);

private:
  bool isMadeOfParameters(mlir::Operation *op);

  llvm::DenseMap<mlir::Operation *, bool> madeOfParameters;
};

} // namespace mf::passes

#endif // MF_PASSES_SPLIT_FREEVALUES_H
