//===- PlannedOperators.cpp - Input of the issue plan ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/PlannedOperators.h"
#include "dialects/mf/CollectiveUnit.h"
#include "mf/Program/Signatures/KernelSignature.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;

static bool communicates(Operation *op) {
  auto compute = dyn_cast<ir::ComputeOpInterface>(op);
  return compute && compute.getEngine() == Engine::Communication;
}

namespace {

class OperatorDescriber {
public:
  explicit OperatorDescriber(ArrayRef<Operation *> operators)
      : operators(operators), described(operators.size()) {
    for (auto [index, op] : llvm::enumerate(operators))
      indices[op] = static_cast<int64_t>(index);
  }

  std::vector<PlannedOperator> run(ArrayRef<Value> gradients);

private:
  bool isMadeOfParameters(Operation *op);
  void addReduction(Value gradient);

  ArrayRef<Operation *> operators;
  std::vector<PlannedOperator> described;
  DenseMap<Operation *, int64_t> indices;
  DenseMap<Operation *, bool> madeOfParameters;
};

} // namespace

/// A view, such as a barrier, is computed from parameters if its first operand
/// is.
bool OperatorDescriber::isMadeOfParameters(Operation *op) {
  if (!op || isa<ir::GetParamOp>(op))
    return op;
  auto compute = dyn_cast<ir::ComputeOpInterface>(op);
  if (!compute || op->getNumOperands() == 0)
    return false;
  auto [found, isNew] = madeOfParameters.try_emplace(op, false);
  if (!isNew)
    return found->second;
  OperandRange operands = op->getOperands();
  bool isMade = llvm::all_of(
      compute.isView() ? operands.take_front() : operands, [&](Value operand) {
        return isMadeOfParameters(operand.getDefiningOp());
      });
  return madeOfParameters[op] = isMade;
}

/// Follows a returned gradient back to the collective that summed it, as long
/// as the values in between have no other readers.
void OperatorDescriber::addReduction(Value gradient) {
  SmallVector<int64_t, 2> tail;
  std::optional<int64_t> reduction;
  for (Value value = gradient; value && value.hasOneUse();) {
    Operation *op = value.getDefiningOp();
    auto found = indices.find(op);
    if (found == indices.end() || op->getNumResults() != 1)
      break;
    // The first of several collectives is issued where its summand is computed.
    if (communicates(op)) {
      if (reduction)
        tail.push_back(*reduction);
      reduction = found->second;
      value = op->getOperand(0);
      continue;
    }
    // Continues at the producer of the summand.
    if (reduction || op->getNumOperands() != 1)
      break;
    tail.push_back(found->second);
    value = op->getOperand(0);
  }
  if (!reduction)
    return;
  described[*reduction].isReduction = true;
  described[*reduction].tail.assign(tail.rbegin(), tail.rend());
}

std::vector<PlannedOperator> OperatorDescriber::run(ArrayRef<Value> gradients) {
  for (auto [index, op] : llvm::enumerate(operators)) {
    PlannedOperator &entry = described[index];
    entry.isGather = communicates(op) && isMadeOfParameters(op);
    entry.unit = ir::CollectiveUnit::find(op);
    auto compute = dyn_cast<ir::ComputeOpInterface>(op);
    // The values that a barrier waits for are not data.
    OperandRange operands = op->getOperands();
    if (compute && compute.isView())
      operands = operands.take_front();
    for (Value operand : operands)
      if (auto found = indices.find(operand.getDefiningOp());
          found != indices.end())
        entry.producers.push_back(found->second);
  }
  for (Value gradient : gradients)
    addReduction(gradient);
  return std::move(described);
}

std::vector<PlannedOperator>
mf::passes::describeOperators(ArrayRef<Operation *> operators,
                              ArrayRef<Value> gradients) {
  return OperatorDescriber(operators).run(gradients);
}
