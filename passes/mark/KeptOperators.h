//===- KeptOperators.h - Settings of layers in kernels ----------*- C++ -*-===//

#ifndef MF_PASSES_MARK_KEPTOPERATORS_H
#define MF_PASSES_MARK_KEPTOPERATORS_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/LayerPlan.h"

namespace mf::passes {

/// Whether the dynamic graph's name of what `op` launches has one of `parts`,
/// which are in lower case. Views and what the framework never keeps have no
/// such name.
bool isKeptOperator(ir::ComputeOpInterface op,
                    llvm::ArrayRef<std::string> parts);

/// Where a swap is to be ready some layers before its own, makes that a number
/// of kernels: those that backward of these layers runs, two for each of
/// forward and one more where the layer is recomputed as a whole.
void countSwapKernels(llvm::ArrayRef<ir::LayerOp> layers,
                      std::vector<LayerEffects> &effects);

} // namespace mf::passes

#endif // MF_PASSES_MARK_KEPTOPERATORS_H
