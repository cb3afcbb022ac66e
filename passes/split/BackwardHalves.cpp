//===- BackwardHalves.cpp - Deals operators to halves of backward ---------===//

#include "passes/split/BackwardHalves.h"
#include "passes/split/SplitPlan.h"

using namespace mlir;
using namespace mf::ir;
using namespace mf::passes;

BackwardHalves::BackwardHalves(ChunkOp chunk, bool splitsBackward,
                               bool separatesRecompute)
    : chunk(chunk), cut(chunk.getCut()) {
  for (Operation &op : chunk.getBody().front()) {
    order[&op] = order.size();
    if (op.isBeforeInBlock(cut))
      forward.insert(&op);
    else if (&op != cut && &op != getReturn(chunk))
      behindCut.push_back(&op);
  }
  assign(splitsBackward);
  if (separatesRecompute)
    separateRecompute();
  dropUnread();
}

void BackwardHalves::sortInOrder(SmallVectorImpl<Value> &values) const {
  auto getKey = [&](Value value) {
    return std::pair(order.lookup(value.getDefiningOp()),
                     cast<OpResult>(value).getResultNumber());
  };
  llvm::sort(values, [&](Value a, Value b) { return getKey(a) < getKey(b); });
}

//===----------------------------------------------------------------------===//
// The half of each operator
//===----------------------------------------------------------------------===//

ValueRange mf::passes::getDataOperands(Operation *op) {
  if (isa<BarrierOp>(op))
    return op->getOperands().take_front();
  return op->getOperands();
}

std::vector<bool> BackwardHalves::findWeightHalf() {
  DenseMap<Operation *, int64_t> indices;
  std::vector<BackwardOperator> operators;
  for (Operation *op : behindCut) {
    BackwardOperator &entry = operators.emplace_back();
    for (Value operand : getDataOperands(op))
      if (auto producer = indices.find(operand.getDefiningOp());
          producer != indices.end())
        entry.producers.push_back(producer->second);
    indices[op] = static_cast<int64_t>(operators.size()) - 1;
  }
  for (auto [number, value] : llvm::enumerate(getReturn(chunk).getValues()))
    if (auto producer = indices.find(value.getDefiningOp());
        producer != indices.end())
      operators[producer->second].returned.push_back(
          static_cast<int64_t>(number));
  return planWeightHalf(operators,
                        getReturn(chunk).getValues().size() -
                            static_cast<int64_t>(chunk.getGradients().size()));
}

void BackwardHalves::assign(bool splitsBackward) {
  std::vector<bool> waits(behindCut.size(), false);
  if (splitsBackward)
    waits = findWeightHalf();
  for (auto [op, inWeights] : llvm::zip(behindCut, waits))
    get(inWeights ? Half::Weights : Half::Backward).insert(op);
}

/// Takes what depends on a barrier and on no gradient out of both halves: these
/// operators are clones of forward's, and what is made of them alone. Operators
/// that a half makes again for nothing stay where they are.
void BackwardHalves::separateRecompute() {
  DenseSet<Operation *> waiting, again;
  for (Operation *op : behindCut) {
    bool isClone = isa<BarrierOp>(op), waits = false;
    for (Value operand : getDataOperands(op)) {
      Operation *producer = operand.getDefiningOp();
      waits |= producer == cut || waiting.contains(producer);
      isClone |= again.contains(producer);
    }
    if (waits)
      waiting.insert(op);
    else if (isClone)
      again.insert(op);
  }
  for (Operation *op : llvm::reverse(behindCut)) {
    if (!again.contains(op) ||
        llvm::is_contained(op->getUsers(), getReturn(chunk)))
      continue;
    const bool isRead = llvm::any_of(op->getUsers(), [&](Operation *user) {
      return backward.contains(user) || weights.contains(user);
    });
    const bool moves = !isMadeAgain(op) && !isa<BarrierOp>(op);
    if (moves)
      recompute.insert(op);
    if (moves || !isRead) {
      backward.erase(op);
      weights.erase(op);
    }
  }
}

/// Takes operators out of the first half that only the other reads and makes
/// again: a copy back that nobody would wait for, a view of it. Operators that
/// are dealt to the other half are read there.
void BackwardHalves::dropUnread() {
  for (Operation *op : llvm::reverse(behindCut)) {
    bool isRead = llvm::any_of(op->getUsers(), [&](Operation *user) {
      return backward.contains(user) || user == getReturn(chunk);
    });
    if (!isRead && isMadeAgain(op))
      backward.erase(op);
  }
}

SmallVector<Operation *> BackwardHalves::getOperators(Half half) {
  return llvm::filter_to_vector(
      behindCut, [&](Operation *op) { return get(half).contains(op); });
}

//===----------------------------------------------------------------------===//
// Values that a half reads
//===----------------------------------------------------------------------===//

/// Whether a half that reads the result of `op`, of forward or of the other
/// half, makes it again. A swapped value is copied back by each half: keeping
/// it on the device from one to the other would cost the memory that swapping
/// it saves.
bool BackwardHalves::isMadeAgain(Operation *op) {
  return isa<PrefetchOp>(op) || freeValues.isFree(op);
}

/// Follows values that are made again back to values that are handed over.
void BackwardHalves::visit(Value value, Half half, DenseSet<Value> &visited,
                           HalfReads &reads) {
  if (!visited.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    reads.arguments.push_back(argument);
    return;
  }
  Operation *producer = value.getDefiningOp();
  if (producer == cut) {
    reads.outputGradients.push_back(value);
    return;
  }
  if (get(half).contains(producer))
    return;
  if (llvm::is_contained(cut.getOutputs().take_back(chunk.getFuture()),
                         value)) {
    reads.outputs.push_back(value);
    return;
  }
  if (!isMadeAgain(producer)) {
    (forward.contains(producer)     ? reads.residuals
     : recompute.contains(producer) ? reads.recomputed
                                    : reads.kept)
        .push_back(value);
    return;
  }
  for (Value operand : getDataOperands(producer))
    visit(operand, half, visited, reads);
}

HalfReads BackwardHalves::findReads(Half half, ArrayRef<Value> results) {
  HalfReads reads;
  DenseSet<Value> visited;
  for (Operation *op : getOperators(half))
    for (Value operand : getDataOperands(op))
      visit(operand, half, visited, reads);
  for (Value value : getReturned(half))
    visit(value, half, visited, reads);
  for (Value value : results)
    visit(value, half, visited, reads);

  llvm::sort(reads.arguments, [](BlockArgument a, BlockArgument b) {
    return a.getArgNumber() < b.getArgNumber();
  });
  sortInOrder(reads.outputGradients);
  sortInOrder(reads.outputs);
  sortInOrder(reads.residuals);
  sortInOrder(reads.recomputed);
  sortInOrder(reads.kept);
  return reads;
}

SmallVector<Value> BackwardHalves::getReturned(Half half) {
  return llvm::filter_to_vector(getReturn(chunk).getValues(), [&](Value value) {
    return getHalf(value) == half;
  });
}
