//===- KeptOperators.h - The dynamic graph's settings of layers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_MARK_KEPTOPERATORS_H
#define MF_PASSES_MARK_KEPTOPERATORS_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/LayerPlan.h"

namespace mf::passes {

/// Returns whether the dynamic graph's name of the operator that `op` launches
/// contains one of `parts`, which are in lower case. Views, and operators whose
/// results the framework never keeps, have no such name.
bool isKeptOperator(ir::ComputeOpInterface op,
                    llvm::ArrayRef<std::string> parts);

/// Converts prefetch distances that count layers to numbers of kernels.
/// Backward of a layer is counted as two kernels for each kernel of forward,
/// and three if the layer is recomputed as a whole.
void countSwapKernels(llvm::ArrayRef<ir::LayerOp> layers,
                      std::vector<LayerEffects> &effects);

} // namespace mf::passes

#endif // MF_PASSES_MARK_KEPTOPERATORS_H
