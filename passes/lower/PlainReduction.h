//===- PlainReduction.h - Gradient sums without launches --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Summing a gradient over ranks often needs only collectives. Then no routine
// is needed: the step issues them as soon as the gradient is complete,
// concurrently with the rest of backward.
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

/// Returns the collectives of `reduction`, in order. None if it needs anything
/// else, or if no routine of the program is known to add to the gradient.
std::optional<llvm::SmallVector<StateCollective>>
findPlainReduction(const ProgramBuilder &program,
                   ir::ReduceGradientOp reduction);

} // namespace mf::passes

#endif // MF_PASSES_LOWER_PLAINREDUCTION_H
