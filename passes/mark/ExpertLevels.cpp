//===- ExpertLevels.cpp - Memory levels of experts ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/mark/ExpertLevels.h"
#include "mf/Program/Signatures/KernelSignature.h"

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using mf::passes::ExpertLevels;

static StringRef getKind(ComputeOpInterface op) {
  const KernelSignature *signature = findKernelSignature(op.getKernelName());
  return signature ? signature->kind : StringRef();
}

/// Returns whether `op` multiplies the rows of each expert by the expert's
/// weight.
static bool isProductByExpert(ComputeOpInterface op) {
  return getKind(op) == "grouped_matmul";
}

/// Returns whether `op` only moves the rows of its first operand.
static bool movesRows(ComputeOpInterface op) {
  return isa<BoundedRowsOpInterface>(op.getOperation()) ||
         getKind(op) == "permutation";
}

/// Returns whether an operator depends on another product by expert.
static bool isBehindProduct(ComputeOpInterface op,
                            const DenseSet<Operation *> &behind) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return behind.contains(operand.getDefiningOp());
  });
}

ExpertLevels::ExpertLevels(LayerOp layer) {
  static constexpr StringRef sharedCell = ".shared_experts.";
  DenseSet<Operation *> behind;
  for (auto op : layer.getBody().getOps<ComputeOpInterface>()) {
    const StringRef cell = op.getCellName();
    if (size_t at = cell.find(sharedCell); at != StringRef::npos)
      shared = cell.take_front(at + sharedCell.size() - 1).str();
    const bool isBehind = isBehindProduct(op, behind);
    if (isBehind || isProductByExpert(op))
      behind.insert(op);
    if (!isBehind && isProductByExpert(op))
      firstProducts.insert(op);
  }
  if (firstProducts.empty())
    return;
  const StringRef outer = cast<ComputeOpInterface>(firstProducts.front())
                              .getCellName()
                              .rsplit('.')
                              .first;
  for (size_t level = 0; level < names.size(); ++level)
    names[level] = (outer + ".level" + Twine(level)).str();
  for (Operation *product : firstProducts) {
    addWayIn(product);
    addActivation(product);
  }
}

/// Finds the operators that move the rows of a product to the ranks and places
/// where they are multiplied.
void ExpertLevels::addWayIn(Operation *product) {
  SmallVector<Operation *> views;
  Value rows = product->getOperand(0);
  while (auto op = rows.getDefiningOp<ComputeOpInterface>()) {
    if (movesRows(op)) {
      dispatch.insert_range(views);
      dispatch.insert(op);
      views.clear();
    } else if (op.isView()) {
      views.push_back(op);
    } else {
      return;
    }
    rows = op->getOperand(0);
  }
}

/// Finds the operators between a product and the products that follow it.
void ExpertLevels::addActivation(Operation *product) {
  SmallVector<Operation *> open = {product};
  while (!open.empty())
    for (Operation *user : open.pop_back_val()->getUsers()) {
      auto op = dyn_cast<ComputeOpInterface>(user);
      if (op && !isProductByExpert(op) && activation.insert(user))
        open.push_back(op);
    }
}

void ExpertLevels::addNames(CellTree &tree) const {
  if (!firstProducts.empty())
    for (const std::string &name : names)
      tree.addOperator(name);
}

/// Returns the setting that names a level; null if there is none.
const RecomputeTarget *ExpertLevels::findSetting(const LayerEffects &effects,
                                                 size_t level) const {
  const RecomputeTarget *setting =
      firstProducts.empty() ? nullptr
                            : effects.getRecomputeSetting(names[level]);
  return setting && setting->enabled && !setting->isCell ? setting : nullptr;
}

void ExpertLevels::addShared(LayerEffects &effects) const {
  const RecomputeTarget *setting = findSetting(effects, 1);
  if (!setting || shared.empty())
    return;
  RecomputeTarget target = *setting;
  target.path = shared;
  target.isCell = true;
  effects.recompute.push_back(std::move(target));
}

void ExpertLevels::mark(const LayerEffects &effects) const {
  auto markAll = [](const Operators &operators) {
    for (Operation *op : operators)
      if (auto compute = cast<ComputeOpInterface>(op);
          compute.getRecomputeMark().value_or(RecomputeKind::Output) ==
          RecomputeKind::Output)
        compute.setRecomputeMark(RecomputeKind::Select);
  };
  const bool isAtLevel1 = findSetting(effects, 1);
  if (!isAtLevel1 && !findSetting(effects, 0))
    return;
  markAll(dispatch);
  markAll(activation);
  if (isAtLevel1)
    markAll(firstProducts);
}
