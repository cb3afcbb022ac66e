//===- BackwardHalves.cpp - Assigns operators to halves of backward -------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/split/BackwardHalves.h"
#include "mf/Program/Signatures/KernelSignature.h"

using namespace mlir;
using namespace mf::ir;
using namespace mf::passes;

namespace {

/// Tracks where an operator's results lead to: nowhere, to a single result of
/// the chunk, or to a reason to keep the operator in the first half.
class Reach {
public:
  void add(int64_t result, bool isHidden) {
    isNeededFirst |= isHidden || (hasResult && result != single);
    single = result;
    hasResult = true;
  }
  void add(const Reach &user) {
    if (user.hasResult)
      add(user.single, user.isNeededFirst);
  }
  bool mayWait() const { return !isNeededFirst; }

private:
  int64_t single = 0;
  bool hasResult = false, isNeededFirst = false;
};

} // namespace

std::vector<bool>
mf::passes::planWeightHalf(llvm::ArrayRef<BackwardOperator> operators,
                           int64_t numHiddenInputs) {
  std::vector<Reach> reaches(operators.size());
  std::vector<bool> waits(operators.size());
  for (size_t index = operators.size(); index-- > 0;) {
    Reach &reach = reaches[index];
    // Gradients of parameters are only distinguished in a chunk without hidden
    // inputs.
    for (int64_t result : operators[index].returned)
      reach.add(numHiddenInputs > 0 ? 0 : result, result < numHiddenInputs);
    waits[index] = reach.mayWait();
    for (int64_t producer : operators[index].producers)
      reaches[producer].add(reach);
  }
  return waits;
}

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
// Assignment of operators to halves
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
  return planWeightHalf(
      operators,
      static_cast<int64_t>(getReturn(chunk).getValues().size() -
                           static_cast<int64_t>(chunk.getGradients().size())));
}

void BackwardHalves::assign(bool splitsBackward) {
  std::vector<bool> waits(behindCut.size(), false);
  if (splitsBackward)
    waits = findWeightHalf();
  for (auto [op, inWeights] : llvm::zip(behindCut, waits))
    get(inWeights ? Half::Weights : Half::Backward).insert(op);
}

/// Moves operators that depend on a barrier and on no gradient from both halves
/// to the recompute part: clones of forward's operators, and operators that
/// only depend on these. Operators that a half can recompute at no cost are not
/// moved.
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

/// Removes operators from the first half that only the other half reads and
/// recomputes, such as a copy back, or a view of it. Operators that belong to
/// the other half read them there.
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

/// Returns whether a half that reads the result of `op`, which belongs to
/// forward or to the other half, recomputes it. Each half copies a swapped
/// value back itself: keeping it on the device between the halves would cost
/// the memory that swapping it saves.
bool BackwardHalves::isMadeAgain(Operation *op) {
  return isa<PrefetchOp>(op) || freeValues.isFree(op);
}

/// Follows recomputed values back to values that are passed between functions.
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

bool FreeValues::isMadeOfParameters(Operation *op) {
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

bool FreeValues::isFree(Operation *op) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  if (compute && compute.isView())
    return true;
  // Values that ranks have sent to each other are kept, unless they are marked.
  const bool communicates =
      compute && compute.getEngine() == mf::Engine::Communication;
  return !communicates && isMadeOfParameters(op);
}
