//===- WrongSplits.cpp - How splitting backward could go wrong ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BreakOperators.h"
#include "WrongRewrites.h"

using namespace mlir;

namespace mf::tools {

namespace {

/// Swaps two values that backward keeps, or one and another of its type.
bool keepsTheWrongValue(ModuleOp module) {
  for (auto backward : findAll<ir::BackwardOp>(module)) {
    ir::ReturnOp terminator = ir::getReturn(backward);
    unsigned first =
        terminator.getNumOperands() - static_cast<unsigned>(backward.getKept());
    if (swapTwoOfOneType(terminator, first))
      return true;
  }
  return false;
}

bool dropsAKeptValue(ModuleOp module) {
  // The weight half reads the gradient of the chunk's output instead.
  for (auto weights : findAll<ir::BackwardWeightsOp>(module))
    for (BlockArgument kept :
         weights.getArguments().drop_front(weights.getPassedTypes().size()))
      for (BlockArgument passed :
           weights.getArguments().take_front(weights.getPassedTypes().size()))
        if (!kept.use_empty() && kept.getType() == passed.getType()) {
          kept.replaceAllUsesWith(passed);
          return true;
        }
  return false;
}

bool swapsTwoWeightGradients(ModuleOp module) {
  for (auto weights : findAll<ir::BackwardWeightsOp>(module))
    if (swapTwoOfOneType(ir::getReturn(weights), 0))
      return true;
  return false;
}

/// Both halves make one parameter's gradient.
bool makesAWeightGradientTwice(ModuleOp module) {
  for (auto weights : findAll<ir::BackwardWeightsOp>(module)) {
    ir::ReturnOp terminator = ir::getReturn(weights);
    if (terminator.getNumOperands() == 0)
      continue;
    OpBuilder builder(terminator);
    Value gradient = terminator.getOperand(0);
    auto add =
        ir::AddOp::create(builder, gradient.getLoc(), gradient, gradient);
    terminator.setOperand(0, add);
    return true;
  }
  return false;
}

bool forgetsTheWeightHalf(ModuleOp module) {
  for (auto weights : findAll<ir::BackwardWeightsOp>(module))
    if (!weights.getGradients().empty()) {
      weights.erase();
      return true;
    }
  return false;
}

/// Recompute begins with another value of forward.
bool recomputesAnotherValueAhead(ModuleOp module) {
  for (auto recompute : findAll<ir::RecomputeOp>(module))
    for (BlockArgument read : recompute.getArguments())
      for (BlockArgument other : recompute.getArguments())
        if (Value(read) != Value(other) && !read.use_empty() &&
            read.getType() == other.getType()) {
          read.replaceAllUsesWith(other);
          return true;
        }
  return false;
}

const WrongRewrite splits[] = {
    {"mf-split-chunks", "RecomputesAnotherValueAhead", stagesYaml,
     recomputesAnotherValueAhead, "gradient '"},
    {"mf-split-chunks", "KeepsTheWrongValue", stagesYaml, keepsTheWrongValue,
     "gradient '"},
    {"mf-split-chunks", "DropsAKeptValue", stagesYaml, dropsAKeptValue,
     "gradient '"},
    {"mf-split-chunks", "SwapsTwoWeightGradients", swapsYaml,
     swapsTwoWeightGradients, "gradient '"},
    {"mf-split-chunks", "MakesAWeightGradientTwice", stagesYaml,
     makesAWeightGradientTwice, "gradient '"},
    {"mf-split-chunks", "ForgetsTheWeightHalf", stagesYaml,
     forgetsTheWeightHalf, "gradient"},
    {"mf-split-chunks", "PrefetchesTheWrongValue", swapsYaml,
     prefetchesTheWrongValue, "gradient '"},
};

} // namespace

llvm::ArrayRef<WrongRewrite> getWrongSplits() { return splits; }

} // namespace mf::tools
