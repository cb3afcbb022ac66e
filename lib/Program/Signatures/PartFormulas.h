//===- PartFormulas.h - Sharding rules that use attributes ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Rules for sharded operands (AscendKernelBase.td) that depend on the kernel's
// attributes.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_SIGNATURES_PARTFORMULAS_H
#define MF_LIB_PROGRAM_SIGNATURES_PARTFORMULAS_H

#include "mf/Program/Signatures/KernelSpec.h"

namespace mf {

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

} // namespace mf

#endif // MF_LIB_PROGRAM_SIGNATURES_PARTFORMULAS_H
