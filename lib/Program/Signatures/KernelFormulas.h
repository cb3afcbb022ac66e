//===- KernelFormulas.h - FLOPs and bytes of kernels ------------*- C++ -*-===//
//
// The functions that formulas in AscendKernels.td call. They saturate instead
// of overflowing and take any shapes; a dimension that a shape does not have
// counts as 1.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_SIGNATURES_KERNELFORMULAS_H
#define MF_LIB_SIGNATURES_KERNELFORMULAS_H

#include "mf/Program/Signatures/KernelSignature.h"

namespace mf {

/// A bool attribute of a kernel, or `whenAbsent`.
bool getFlag(const KernelSpec &spec, llvm::StringRef name, bool whenAbsent);

/// Elements of the largest output.
int64_t getLargestOutput(const KernelSpec &spec);

/// 2 m n k for each product of a batch; `transpose_a` and `transpose_b` say how
/// the operands are stored.
int64_t getMatmulFlops(const KernelSpec &spec);

/// How products of matrices are cut for the cube: `batch` of [rows, inner] x
/// [inner, columns]. Leading dimensions that share the second operand are rows;
/// the sum is over `inner`.
struct MatmulSize {
  int64_t batch, rows, inner, columns;
};
MatmulSize getMatmulSize(const KernelSpec &spec);

/// FLOPs of `keyProducts` matrix products over the size of a query's head and
/// `valueProducts` over that of a value's, between the queries and the keys
/// that they see: if causal, query i of q sees the first k - q + i + 1 of k
/// keys, which is counted as k - q / 2 for each.
int64_t getAttentionFlops(const KernelSpec &spec, int64_t keyProducts,
                          int64_t valueProducts);
/// The same if each query sees all keys.
int64_t getFullAttentionFlops(const KernelSpec &spec, int64_t keyProducts,
                              int64_t valueProducts);
/// Heads times queries of a batch element.
int64_t getQueryRows(const KernelSpec &spec);

/// 2 m n k where all rows of x belong to an expert: of a product, or of its
/// gradient with respect to the weight.
int64_t getExpertMatmulFlops(const KernelSpec &spec);

/// The number of experts of a weight, [ranks, experts, in, out].
int64_t getExperts(const TensorShape &weight);
/// Rows of all experts by their number, rounded up.
int64_t getMeanExpertRows(const TensorShape &x, const TensorShape &weight);

/// The last dimension, and the product of the others.
int64_t getColumns(const TensorShape &shape);
int64_t getRows(const TensorShape &shape);
/// The last dimension but one.
int64_t getRowsOfMatrix(const TensorShape &shape);
/// Bytes that stay side by side when dimensions are permuted.
int64_t getPermutedRunBytes(const KernelSpec &spec);
/// Bytes of the largest input or output.
int64_t getLargestOperandBytes(const KernelSpec &spec);

/// Bytes of an element of the type that the kernel works in.
int64_t getElementBytes(const KernelSpec &spec);

int64_t getBytes(llvm::ArrayRef<TensorShape> shapes);

/// All operands once, those outputs twice whose bit is set in `readOutputs`:
/// they are read as well.
int64_t getMovedBytes(const KernelSpec &spec, uint32_t readOutputs);

/// The mean over steps of what every `interval`-th takes `amount` of, and
/// others nothing.
int64_t getMeanOfSteps(const KernelSpec &spec, int64_t amount);

/// The workspace of kernels that never need one.
int64_t getNoWorkspace(const KernelSpec &spec);

/// Gamma in fp32, if it is not.
int64_t getRmsNormWorkspace(const KernelSpec &spec);
/// The same, and a sum of gradients of gamma for each block of rows.
int64_t getRmsNormGradWorkspace(const KernelSpec &spec);
/// Weight and bias in fp32, if they are not.
int64_t getLayerNormWorkspace(const KernelSpec &spec);
/// Weight in fp32, if it is not, and for each block of rows a sum of gradients
/// of weight and one of those of bias.
int64_t getLayerNormBackwardWorkspace(const KernelSpec &spec);
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
