//===- KernelFormulas.h - FLOPs and bytes of kernels ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The functions that formulas in AscendKernels.td call. They saturate instead
// of overflowing and accept any shapes. A missing dimension counts as 1.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_SIGNATURES_KERNELFORMULAS_H
#define MF_LIB_PROGRAM_SIGNATURES_KERNELFORMULAS_H

#include "mf/Program/Signatures/KernelSequence.h"
#include "mf/Program/Signatures/KernelSignature.h"

namespace mf {

/// Returns the specifications of the kernels of a sequence.
std::vector<KernelSpec> getSpecs(std::vector<SequencedKernel> kernels);
/// Returns the FLOPs, and the bytes, of kernels that run one after another.
int64_t sumFlops(llvm::ArrayRef<KernelSpec> kernels);
int64_t sumBytes(llvm::ArrayRef<KernelSpec> kernels);

/// Returns how a kernel may be fused that only changes the size of the last
/// dimension of its operand, with zeros as padding.
FusionKind getFusionOfResize(const KernelSpec &spec);
/// Returns how a concatenation along the last dimension may be fused.
FusionKind getFusionOfConcatenation(const KernelSpec &spec);

/// Returns a bool attribute of a kernel, or `whenAbsent`.
bool getFlag(const KernelSpec &spec, llvm::StringRef name, bool whenAbsent);

/// Returns the elements of the largest output.
int64_t getLargestOutput(const KernelSpec &spec);

/// Returns 2 m n k for each product of a batch. `transpose_a` and `transpose_b`
/// define how the operands are stored.
int64_t getMatmulFlops(const KernelSpec &spec);

/// The form of a matrix product for the cube: `batch` products of [rows, inner]
/// x [inner, columns]. Leading dimensions that share the second operand count
/// as rows. The sum is over `inner`.
struct MatmulSize {
  int64_t batch, rows, inner, columns;
};
MatmulSize getMatmulSize(const KernelSpec &spec);

/// Returns the FLOPs of `keyProducts` matrix products over the size of a
/// query's head and `valueProducts` over that of a value's, between the queries
/// and the keys that they see. With a causal mask, query i of q sees the first
/// k - q + i + 1 of k keys, which counts as k - q / 2 for each.
int64_t getAttentionFlops(const KernelSpec &spec, int64_t keyProducts,
                          int64_t valueProducts);
/// Returns the FLOPs of getAttentionFlops if each query sees all keys.
int64_t getFullAttentionFlops(const KernelSpec &spec, int64_t keyProducts,
                              int64_t valueProducts);
/// Returns the heads times the queries of a batch element.
int64_t getQueryRows(const KernelSpec &spec);

/// Returns 2 m n k if all rows of x belong to an expert, for a product or for
/// its gradient with respect to the weight.
int64_t getExpertMatmulFlops(const KernelSpec &spec);

/// Returns the number of experts of a weight [ranks, experts, in, out].
int64_t getExperts(const TensorShape &weight);
/// Returns the number of rows divided by that of experts, rounded up.
int64_t getMeanExpertRows(const TensorShape &x, const TensorShape &weight);

/// Returns three operations for each element of each division by sums, and
/// those of a softmax.
int64_t getSinkhornFlops(const KernelSpec &spec);

/// Returns the FLOPs of `products` products of rows, input `rows`, with a
/// matrix of as many columns, input `matrix`.
int64_t getProjectionFlops(const KernelSpec &spec, size_t rows, size_t matrix,
                           int64_t products);

/// Returns the mean number of keys that a query of hybrid attention sees: those
/// of its window of input `keys`, and with input `entries` half of them, or all
/// that the input behind it chooses.
int64_t getHybridKeys(const KernelSpec &spec, size_t keys, size_t entries);
/// Returns the FLOPs of `products` products of queries [batch, queries, heads,
/// width] with so many keys each.
int64_t getHybridFlops(const KernelSpec &spec, int64_t keys, int64_t products);
/// Returns the second dimension, or 1 if there is none.
int64_t getSecondDimension(const TensorShape &shape);

/// Returns the last dimension, and the product of the others.
int64_t getColumns(const TensorShape &shape);
int64_t getRows(const TensorShape &shape);
/// Returns the second to last dimension.
int64_t getRowsOfMatrix(const TensorShape &shape);
/// Returns the bytes that stay contiguous when dimensions are permuted.
int64_t getPermutedRunBytes(const KernelSpec &spec);
/// Returns the bytes of the largest input or output.
int64_t getLargestOperandBytes(const KernelSpec &spec);

/// Returns the bytes of an element of the type that the kernel works in.
int64_t getElementBytes(const KernelSpec &spec);

int64_t getBytes(llvm::ArrayRef<TensorShape> shapes);

/// Returns the bytes of all operands. Outputs whose bit is set in `readOutputs`
/// count twice, because they are also read.
int64_t getMovedBytes(const KernelSpec &spec, uint32_t readOutputs);

/// Returns the mean over steps of a quantity that is `amount` in every
/// `interval`-th step and 0 in others.
int64_t getMeanOfSteps(const KernelSpec &spec, int64_t amount);

/// Returns 0, for kernels that never need a workspace.
int64_t getNoWorkspace(const KernelSpec &spec);

/// Returns the bytes of gamma in fp32, if it has another type.
int64_t getRmsNormWorkspace(const KernelSpec &spec);
/// Returns the bytes of getRmsNormWorkspace plus those of a sum of gradients of
/// gamma for each block of rows.
int64_t getRmsNormGradWorkspace(const KernelSpec &spec);
/// Returns the bytes of weight and bias in fp32, if they have another type.
int64_t getLayerNormWorkspace(const KernelSpec &spec);
/// Returns the bytes of the weight in fp32, if it has another type, and, if
/// their gradients are outputs, of a sum of gradients of the weight and one of
/// those of the bias for each block of rows.
int64_t getLayerNormBackwardWorkspace(const KernelSpec &spec);
/// Returns the bytes of the gradients of a site's numbers for each token.
int64_t getMhcPreBackwardWorkspace(const KernelSpec &spec);
/// Returns the bytes of sums of gradients for each block of queries: those of
/// keys, entries, if there is an input `entries`, and sinks, and those of an
/// indexer's keys.
int64_t getHybridGradWorkspace(const KernelSpec &spec, size_t entries);
int64_t getIndexerGradWorkspace(const KernelSpec &spec);
/// Returns the bytes of a sum for each block of elements.
int64_t getNormWorkspace(const KernelSpec &spec);
/// Returns the bytes of the results of each block of units, if there are
/// several blocks.
int64_t getReduceSumWorkspace(const KernelSpec &spec);
/// Returns the bytes of squares in fp32, of which the products take the place,
/// and of a sum and a norm for each matrix.
int64_t getNewtonSchulzWorkspace(const KernelSpec &spec);
/// Returns the bytes of two lists of a row's elements for each group of rows.
int64_t getSortWorkspace(const KernelSpec &spec);
/// Returns the bytes, for each batch, of the places of the index in the order
/// of the rows that they read, and of the begin of each row's places.
int64_t getGatherRowsGradWorkspace(const KernelSpec &spec);

} // namespace mf

#endif // MF_LIB_PROGRAM_SIGNATURES_KERNELFORMULAS_H
