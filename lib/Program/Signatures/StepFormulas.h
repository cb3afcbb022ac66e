//===- StepFormulas.h - Kernels as steps of a chain -------------*- C++ -*-===//
//
// The functions that expressions for `step` in AscendKernels.td call.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_SIGNATURES_STEPFORMULAS_H
#define MF_LIB_SIGNATURES_STEPFORMULAS_H

#include "mf/Program/Signatures/KernelSignature.h"

namespace mf {

/// The step of a kernel with one operand, of which the last dimension alone
/// changes its size; around the operand is zero.
StepKind getResizedStep(const KernelSpec &spec);
/// Along the last dimension.
StepKind getConcatenatedStep(const KernelSpec &spec);

} // namespace mf

#endif // MF_LIB_SIGNATURES_STEPFORMULAS_H
