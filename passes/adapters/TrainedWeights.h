//===- TrainedWeights.h - Trained weights of prefix models ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_ADAPTERS_TRAINEDWEIGHTS_H
#define MF_PASSES_ADAPTERS_TRAINEDWEIGHTS_H

#include "dialects/mf/MfOps.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::passes {

/// Prints which weights are trained if the layers of a model get no adapters
/// but not all of its weights are trained, as in a model with a prefix. Prints
/// nothing for other models.
void printTrained(ir::ModelOp model, llvm::raw_ostream &os);

} // namespace mf::passes

#endif // MF_PASSES_ADAPTERS_TRAINEDWEIGHTS_H
