//===- ProfiledOperands.h - Operands of kernels from profiles ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The functions that records of kernels name as `fromProfile`. Each takes a
// specification with all operands of the device, as a profiler lists them, and
// converts them to the operands of the record. It returns false if the launch
// is not determined. Operands that already are the record's are not changed.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_SIGNATURES_PROFILEDOPERANDS_H
#define MF_LIB_PROGRAM_SIGNATURES_PROFILEDOPERANDS_H

#include "mf/Program/Signatures/KernelSpec.h"

namespace mf {

/// Converts a matrix product, whose transpositions follow from the shapes.
/// Operands in the cube's own format (FRACTAL_NZ) become matrices.
bool takeProfiledMatmul(KernelSpec &spec);

/// Converts attention with operands in any layout that the softmax's maxima
/// [batch, heads, sequence, 8] distinguish. Masks and other extras are removed.
bool takeProfiledAttention(KernelSpec &spec);
/// Converts its gradient, whose operands are query, key, value, dy, extras, the
/// softmax's maxima and sums, and the output of attention.
bool takeProfiledAttentionGrad(KernelSpec &spec);

/// Converts a permutation of dimensions, which follows from the shapes.
bool takeProfiledPermutation(KernelSpec &spec);

/// Converts x [rows, in], weight [experts, in, out] and the rows of experts,
/// which come last.
bool takeProfiledGroupedMatmul(KernelSpec &spec);

/// Converts AdamW, whose inputs are the parameter, the moments and then the
/// gradient.
bool takeProfiledAdam(KernelSpec &spec);

} // namespace mf

#endif // MF_LIB_PROGRAM_SIGNATURES_PROFILEDOPERANDS_H
