//===- PlainReduction.h - Sums of gradients that launch nothing *- C++ -*-===//
//
// Summing a gradient over ranks often takes collectives alone. Then it need not
// wait for a routine of its own: the step issues it as soon as the gradient is
// complete, beside the rest of backward.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_LOWER_PLAINREDUCTION_H
#define MF_PASSES_LOWER_PLAINREDUCTION_H

#include "passes/lower/ProgramBuilder.h"

namespace mf::passes {

/// A collective between two states of one parameter.
struct StateCollective {
  ir::EmittedCollective collective;
  ir::State input = ir::State::Accumulated, output = ir::State::Gradient;
};

/// The collectives of `reduction`, in order; none if it is more than
/// collectives, or if no routine of the program is known to add to the
/// gradient.
std::optional<llvm::SmallVector<StateCollective>>
findPlainReduction(const ProgramBuilder &program,
                   ir::ReduceGradientOp reduction);

} // namespace mf::passes

#endif // MF_PASSES_LOWER_PLAINREDUCTION_H
