//===- ProfiledOperands.h - Operands of kernels from profiles ---*- C++ -*-===//
//
// The functions that records of kernels name as `fromProfile`. Each takes a
// specification with the operands that a profiler showed, all that the device
// had, and leaves the operands of the record; it returns false if it cannot
// tell what was launched. Operands that are the record's already stay as they
// are.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_SIGNATURES_PROFILEDOPERANDS_H
#define MF_LIB_SIGNATURES_PROFILEDOPERANDS_H

#include "mf/Program/Signatures/KernelSpec.h"

namespace mf {

/// A product of matrices, its transpositions found from the shapes. Operands in
/// the cube's own format (FRACTAL_NZ) become matrices.
bool takeProfiledMatmul(KernelSpec &spec);

/// Attention with operands in any layout that the softmax's maxima
/// [batch, heads, sequence, 8] tell apart. Masks and other extras go.
bool takeProfiledAttention(KernelSpec &spec);
/// Its gradient, whose operands are query, key, value, dy, extras, the
/// softmax's maxima and sums, and what attention gave.
bool takeProfiledAttentionGrad(KernelSpec &spec);

/// A permutation of dimensions, found from the shapes.
bool takeProfiledPermutation(KernelSpec &spec);

/// x [rows, in], weight [experts, in, out] and the rows of experts, which stand
/// last.
bool takeProfiledGroupedMatmul(KernelSpec &spec);

/// AdamW, whose inputs are parameter, moments and then the gradient.
bool takeProfiledAdam(KernelSpec &spec);

} // namespace mf

#endif // MF_LIB_SIGNATURES_PROFILEDOPERANDS_H
