//===- KernelParts.h - Effect of cut operands on results --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Ranks run one program, each on its own parts of tensors. Each kernel's record
// has a line that defines how its outputs are sharded, given how its inputs are
// (AscendKernelBase.td). This file parses that line for the proof that the
// ranks together compute the same as the model.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_SIGNATURES_KERNELPARTS_H
#define MF_PROGRAM_SIGNATURES_KERNELPARTS_H

#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/Support/Error.h"

namespace mf {

/// How a kernel or an operator treats an operand that holds a summand.
enum class Linearity : uint8_t {
  /// The operand must be the complete sum.
  None,
  /// The kernel is linear in all such operands together: they may be summands
  /// at the same time.
  Together,
  /// The kernel is linear in each such operand separately.
  Alone
};

/// How to combine the results of ranks that each processed a part of a
/// dimension that the output does not have.
enum class PartReduction : uint8_t { Sum, Largest, Norm };

/// A dimension that operands share. If ranks cut it, all operands that have it
/// must be cut in the same way.
struct PartDim {
  /// A letter. For a leading dimension, its index counted from the last leading
  /// dimension, from 0.
  char letter = 0;
  bool isLeading = false;
  /// The letter and the size of a dimension that the operand stores fused into
  /// this one, as the inner part of it. 0 if there is none.
  char inner = 0;
  int64_t innerExtent = 1;

  bool mayBeCut() const {
    return isLeading || (letter >= 'a' && letter <= 'z');
  }
  bool operator==(const PartDim &other) const {
    return letter == other.letter && isLeading == other.isLeading;
  }
};

/// An operand in a kernel's rule for sharded operands.
struct PartOperand {
  /// One entry for each dimension of the operand.
  llvm::SmallVector<PartDim, 4> dims;
  Linearity linearity = Linearity::None;
  /// Set for outputs only.
  PartReduction reduction = PartReduction::Sum;
  /// True for an output that has the elements of the only input with permuted
  /// dimensions.
  bool isPermuted = false;
  /// The letter of the dimension for which this operand gives the first index
  /// of the rank's part, or the letters of a fused one, outer first. Empty for
  /// all other operands.
  std::string firstIndexOf;
  /// With `firstIndexOf`, the letter of a dimension that is as long as the
  /// parts of all ranks together. 0 if there is none.
  char wholeOf = 0;
  /// For an operand that tells which part of a whole each rank takes: the
  /// outputs of the kernel are cut just outside of the dimension with this
  /// letter. 0 for all other operands.
  char ownPartAbove = 0;
};

/// The operands in the order of the specification.
struct KernelParts {
  std::vector<PartOperand> inputs, outputs;
};

/// Parses the line for operands of these shapes. A variadic last input covers
/// all inputs that follow. Fails if the line has fewer operands than the
/// specification, if an operand has fewer dimensions than letters, or if the
/// size of a fused dimension is unknown.
llvm::Expected<KernelParts> parseParts(llvm::StringRef line,
                                       const KernelSpec &spec);

} // namespace mf

#endif // MF_PROGRAM_SIGNATURES_KERNELPARTS_H
