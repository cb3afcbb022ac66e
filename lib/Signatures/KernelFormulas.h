//===- KernelFormulas.h - What kernels cost -------------------*- C++ -*-===//
//
// The functions that formulas in AscendKernels.td call. They saturate instead
// of overflowing and take any shapes; a dimension that a shape does not have
// counts as 1.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_SIGNATURES_KERNELFORMULAS_H
#define MF_LIB_SIGNATURES_KERNELFORMULAS_H

#include "mf/Signatures/KernelSignature.h"

namespace mf {

/// A bool attribute of a kernel, or `whenAbsent`.
bool getFlag(const KernelSpec &spec, llvm::StringRef name, bool whenAbsent);

/// Elements of the largest output.
int64_t getLargestOutput(const KernelSpec &spec);

/// 2 m n k for each product of a batch; `transpose_a` and `transpose_b` say how
/// the operands are stored.
int64_t getMatmulFlops(const KernelSpec &spec);

/// `products` matrix products between all pairs of positions of query, key and
/// value; causal attention needs half of them.
int64_t getAttentionFlops(const KernelSpec &spec, int64_t products);

/// 2 m n k where all rows of x belong to an expert: of a product, or of its
/// gradient with respect to the weight.
int64_t getExpertMatmulFlops(const KernelSpec &spec);

int64_t getBytes(llvm::ArrayRef<TensorShape> shapes);

/// All operands once, those outputs twice whose bit is set in `readOutputs`:
/// they are read as well.
int64_t getMovedBytes(const KernelSpec &spec, uint32_t readOutputs);

/// The workspace of kernels that never need one.
int64_t getNoWorkspace(const KernelSpec &spec);

/// Gamma in fp32, if it is not.
int64_t getRmsNormWorkspace(const KernelSpec &spec);
/// The same, and a sum of gradients of gamma for each block of rows.
int64_t getRmsNormGradWorkspace(const KernelSpec &spec);
/// A sum for each block of elements.
int64_t getNormWorkspace(const KernelSpec &spec);
/// The results of each block of units, if there are several blocks.
int64_t getReduceSumWorkspace(const KernelSpec &spec);
/// Two lists of a row's elements for each group of rows.
int64_t getSortWorkspace(const KernelSpec &spec);
/// In each batch, the places of the index in the order of the rows they read,
/// and where each row's begin.
int64_t getGatherRowsGradWorkspace(const KernelSpec &spec);

} // namespace mf

#endif // MF_LIB_SIGNATURES_KERNELFORMULAS_H
