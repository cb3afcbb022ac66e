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
#include "mf/Program/Signatures/KernelSpec.h"

namespace mf {

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

// Rules for sharded operands (AscendKernelBase.td) that depend on the kernel's
// attributes.

/// Returns a rule by which dimensions are cut one by one. A dimension whose
/// size changes must be whole.
std::string getResizedParts(const KernelSpec &spec);
/// Returns the rule of getResizedParts, except that dimension `axis` must be
/// whole.
std::string getConcatenatedParts(const KernelSpec &spec);
/// Returns a rule by which dimensions are cut one by one, however often their
/// elements are repeated.
std::string getRepeatedParts(const KernelSpec &spec);
/// Returns the rule for gate and value, each whole, side by side in the last
/// dimension or the second to last one.
std::string getGatedParts(const KernelSpec &spec);
std::string getGatedGradParts(const KernelSpec &spec);
/// Returns the rule for the input's dimensions in the order of `perm`.
std::string getPermutedParts(const KernelSpec &spec);
/// Returns the rule for sums over `axes`.
std::string getReducedParts(const KernelSpec &spec);
/// Returns the rule for the largest elements over `axes`.
std::string getLargestParts(const KernelSpec &spec);
/// Returns the rule for factors of rows of heads. Heads must be whole if other
/// rows follow theirs.
std::string getLogitFactorParts(const KernelSpec &spec);
/// Returns the rule for sums over the inner dimension, and over the batch if it
/// is contracted.
std::string getMatmulParts(const KernelSpec &spec);
/// Returns the rule for attention. Query rows may be cut if `hasFirstQuery` is
/// true, so that an operand defines their begin, or if all queries see all
/// keys. Heads that share keys may be cut.
std::string getAttentionParts(const KernelSpec &spec, bool hasFirstQuery);
std::string getAttentionGradParts(const KernelSpec &spec, bool hasFirstQuery);
/// Returns `line` for hybrid attention, whose keys K are input `keys`. If they
/// are those of blocks o, queries s are the inner dimension of these blocks, of
/// which ranks that have one block may have parts. Queries S are those of all
/// blocks.
std::string getHybridParts(const KernelSpec &spec, size_t keys,
                           llvm::StringRef line);
/// Returns the rule for products by rank and group. Columns of the weight may
/// be cut; cut columns of x give a partial sum. An expert's rows depend on all
/// earlier counts.
std::string getExpertMatmulParts(const KernelSpec &spec);
/// Returns the rule for an exchange in which each group is separate. It is
/// linear if the fill value is 0.
std::string getTokenExchangeParts(const KernelSpec &spec);
/// Returns the rule for a mask whose dimensions `cut_dims` may be cut.
std::string getDropoutMaskParts(const KernelSpec &spec);
/// Returns `line` for a loss with sums S, a pair, and number of rows N. If
/// `shape`, the shape of one of them, begins with 1, they are those of a rank's
/// rows r, and a part of the sums of all ranks.
std::string getLossParts(llvm::StringRef line, const TensorShape &shape);
/// Returns the rule by which rows are whole and no operand is partial, which is
/// valid for any chain.
std::string getChainParts(const KernelSpec &spec);

// The functions that records of kernels name as `fromProfile`. Each takes a
// specification with all operands of the device, as a profiler lists them, and
// converts them to the operands of the record. It returns false if the launch
// is not determined. Operands that already are the record's are not changed.

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

#endif // MF_LIB_PROGRAM_SIGNATURES_KERNELFORMULAS_H
