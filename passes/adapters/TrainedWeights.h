//===- TrainedWeights.h - What a model with a prefix trains -----*- C++ -*-===//

#ifndef MF_PASSES_ADAPTERS_TRAINEDWEIGHTS_H
#define MF_PASSES_ADAPTERS_TRAINEDWEIGHTS_H

#include "dialects/mf/MfOps.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::passes {

/// Says what is trained of a model whose layers get no adapters, but whose
/// weights are not all trained: one with a prefix. Says nothing of others.
void printTrained(ir::ModelOp model, llvm::raw_ostream &os);

} // namespace mf::passes

#endif // MF_PASSES_ADAPTERS_TRAINEDWEIGHTS_H
