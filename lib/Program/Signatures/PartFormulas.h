//===- PartFormulas.h - Rules for parts, by attributes ----------*- C++ -*-===//
//
// How kernels treat parts of tensors (AscendKernelBase.td), where attributes
// decide it.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_SIGNATURES_PARTFORMULAS_H
#define MF_LIB_SIGNATURES_PARTFORMULAS_H

#include "mf/Program/Signatures/KernelSpec.h"

namespace mf {

/// Dimension by dimension; one whose size changes must be whole.
std::string getResizedParts(const KernelSpec &spec);
/// The same but for dimension `axis`, which must be whole.
std::string getConcatenatedParts(const KernelSpec &spec);
/// Dimension by dimension, however often an element is repeated.
std::string getRepeatedParts(const KernelSpec &spec);
/// Gate and value, whole, side by side in the last dimension or in the one in
/// front of it.
std::string getGatedParts(const KernelSpec &spec);
std::string getGatedGradParts(const KernelSpec &spec);
/// The input's dimensions in the order of `perm`.
std::string getPermutedParts(const KernelSpec &spec);
/// Sums over `axes`.
std::string getReducedParts(const KernelSpec &spec);
/// Sums over the inner dimension, and over the batch if it is contracted.
std::string getMatmulParts(const KernelSpec &spec);
/// Attention, whose query rows may be cut if `hasFirstQuery` says where they
/// begin, or all see all keys. Heads that share keys may be.
std::string getAttentionParts(const KernelSpec &spec, bool hasFirstQuery);
std::string getAttentionGradParts(const KernelSpec &spec, bool hasFirstQuery);
/// Rank by rank and group by group; columns of the weight may be cut, and those
/// of x make a partial sum. An expert's rows depend on all counts before it.
std::string getExpertMatmulParts(const KernelSpec &spec);
/// The rule for each group by itself. Linear if the fill behind the tokens is
/// 0.
std::string getTokenExchangeParts(const KernelSpec &spec);
/// The mask's dimensions `cut_dims` may be cut.
std::string getDropoutMaskParts(const KernelSpec &spec);
/// `line` for a loss's sums S, a pair, and number of rows N. If `shape`, that
/// of one of them, begins with 1, they are those of a rank's rows r, and a part
/// of what all ranks have.
std::string getLossParts(llvm::StringRef line, const TensorShape &shape);
/// Rows whole, and nothing partial: what holds for any chain.
std::string getChainParts(const KernelSpec &spec);

} // namespace mf

#endif // MF_LIB_SIGNATURES_PARTFORMULAS_H
