//===- FreeValues.cpp - Values recomputed at no cost ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/split/FreeValues.h"
#include "mf/Program/Signatures/KernelSignature.h"

using namespace mlir;
using namespace mf::ir;

bool mf::passes::FreeValues::isMadeOfParameters(Operation *op) {
  if (isa<GetParamOp>(op))
    return true;
  auto found = madeOfParameters.find(op);
  if (found != madeOfParameters.end())
    return found->second;
  bool result = isa<ComputeOpInterface>(op) && op->getNumOperands() > 0;
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    result = result && producer && isMadeOfParameters(producer);
  }
  madeOfParameters[op] = result;
  return result;
}

bool mf::passes::FreeValues::isFree(Operation *op) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  if (compute && compute.isView())
    return true;
  // Values that ranks have sent to each other are kept, unless they are marked.
  const bool communicates =
      compute && compute.getEngine() == mf::Engine::Communication;
  return !communicates && isMadeOfParameters(op);
}
