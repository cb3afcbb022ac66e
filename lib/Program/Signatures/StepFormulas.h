//===- StepFormulas.h - Kernels as steps of a chain -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The functions that the expressions `step` in AscendKernels.td call.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_SIGNATURES_STEPFORMULAS_H
#define MF_LIB_PROGRAM_SIGNATURES_STEPFORMULAS_H

#include "mf/Program/Signatures/KernelSignature.h"

namespace mf {

/// Returns the step of a kernel with one operand that only changes the size of
/// the last dimension, with zeros as padding.
StepKind getResizedStep(const KernelSpec &spec);
/// Returns the step of a concatenation along the last dimension.
StepKind getConcatenatedStep(const KernelSpec &spec);

} // namespace mf

#endif // MF_LIB_PROGRAM_SIGNATURES_STEPFORMULAS_H
