//===- BreakOperators.h - Finding and breaking operators -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_INTERPRETER_BREAKOPERATORS_H
#define MF_TEST_UNIT_INTERPRETER_BREAKOPERATORS_H

#include "dialects/mf/MfOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mf::tools {

template <typename OpT> mlir::SmallVector<OpT> findAll(mlir::Operation *root) {
  mlir::SmallVector<OpT> found;
  root->walk([&](OpT op) { found.push_back(op); });
  return found;
}

/// Operators of backward in joint chunks.
template <typename OpT>
mlir::SmallVector<OpT> findBehindCut(mlir::ModuleOp module) {
  mlir::SmallVector<OpT> found;
  for (auto cut : findAll<ir::CutOp>(module))
    for (auto op : cut->getBlock()->getOps<OpT>())
      if (cut->isBeforeInBlock(op))
        found.push_back(op);
  return found;
}

inline bool replaceWithOperand(mlir::Operation *op, unsigned number) {
  op->getResult(0).replaceAllUsesWith(op->getOperand(number));
  op->erase();
  return true;
}

inline void swapOperands(mlir::Operation *a, unsigned aNumber,
                         mlir::Operation *b, unsigned bNumber) {
  mlir::Value first = a->getOperand(aNumber), second = b->getOperand(bNumber);
  a->setOperand(aNumber, second);
  b->setOperand(bNumber, first);
}

/// Swaps two operands of one type from number `first` on.
inline bool swapTwoOfOneType(mlir::Operation *op, unsigned first) {
  for (unsigned i = first; i < op->getNumOperands(); ++i)
    for (unsigned j = i + 1; j < op->getNumOperands(); ++j)
      if (op->getOperand(i).getType() == op->getOperand(j).getType() &&
          op->getOperand(i) != op->getOperand(j)) {
        swapOperands(op, i, op, j);
        return true;
      }
  return false;
}

inline bool prefetchesTheWrongValue(mlir::ModuleOp module) {
  auto prefetches = findAll<ir::PrefetchOp>(module);
  if (prefetches.size() < 2)
    return false;
  prefetches[0]->setOperand(0, prefetches[1]->getOperand(0));
  return true;
}

} // namespace mf::tools

#endif // MF_TEST_UNIT_INTERPRETER_BREAKOPERATORS_H
