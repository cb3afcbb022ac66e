//===- KernelParts.h - Effect of cut operands on results --------*- C++ -*-===//
//
// Ranks run one program, each on its parts of tensors. Each kernel's record has
// a line that says how its outputs are cut if its inputs are
// (AscendKernelBase.td). It is read here, for the proof that ranks together
// compute the same as the model.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SIGNATURES_KERNELPARTS_H
#define MF_SIGNATURES_KERNELPARTS_H

#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/Support/Error.h"

namespace mf {

/// How a kernel or an operator treats an operand that holds partial sums.
enum class Linearity : uint8_t {
  /// The operand must have the sum.
  None,
  /// Linear in all such operands at once: they are partial together.
  Together,
  /// Linear in each such operand alone.
  Alone
};

/// How to combine the results of ranks that each saw a part of a dimension
/// which the output lacks.
enum class PartReduction : uint8_t { Sum, Largest, Norm };

/// A dimension that operands share. Where one is cut by ranks, all that have it
/// must be cut alike.
struct PartDim {
  /// A letter; of leading dimensions, their number from the last, from 0.
  char letter = 0;
  bool isLeading = false;
  /// The letter of a dimension inside of this one, which the operand holds as
  /// one with it, and its size; 0 if there is none.
  char inner = 0;
  int64_t innerExtent = 1;

  bool mayBeCut() const {
    return isLeading || (letter >= 'a' && letter <= 'z');
  }
  bool operator==(const PartDim &other) const {
    return letter == other.letter && isLeading == other.isLeading;
  }
};

struct PartOperand {
  /// One entry for each dimension of the operand.
  llvm::SmallVector<PartDim, 4> dims;
  Linearity linearity = Linearity::None;
  /// Set for outputs only.
  PartReduction reduction = PartReduction::Sum;
  /// Set for an output that has the elements of the only input, its dimensions
  /// in another order.
  bool isPermuted = false;
  /// The letter of the dimension in which the operand says where a rank's part
  /// begins; 0 if it is another operand.
  char firstIndexOf = 0;
  /// The letter above which the outputs of a kernel that takes a rank's own
  /// part lie cut, if the operand says which part; 0 if it is another operand.
  char ownPartAbove = 0;
};

/// Operands as in the specification.
struct KernelParts {
  std::vector<PartOperand> inputs, outputs;
};

/// Reads the line for operands of these shapes; a variadic last input stands
/// for all that follow. Fails where there are fewer operands in the line than
/// in the specification, fewer dimensions in the operand than letters, or no
/// size of a dimension that is one with another.
llvm::Expected<KernelParts> parseParts(llvm::StringRef line,
                                       const KernelSpec &spec);

} // namespace mf

#endif // MF_SIGNATURES_KERNELPARTS_H
