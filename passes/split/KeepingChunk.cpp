//===- KeepingChunk.cpp - A chunk without its recomputation ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/split/KeepingChunk.h"
#include "passes/split/ScheduledChunk.h"

using namespace mlir;
using namespace mf::ir;

namespace {

/// Replaces clones of forward's operators after the cut by their originals.
class CloneFolder {
public:
  explicit CloneFolder(ChunkOp chunk) : chunk(chunk) {}

  void run();

private:
  Value resolve(Value value) const;
  bool isClone(Operation *op) const;
  Operation *findOriginal(Operation *op);
  void eraseUnread();

  ChunkOp chunk;
  /// The results of originals that have replaced a clone.
  DenseSet<Value> replacing;
  /// Forward's operators by their names.
  DenseMap<OperationName, SmallVector<Operation *>> originals;
};

} // namespace

/// Returns the value of which `value` is a copy.
Value CloneFolder::resolve(Value value) const {
  while (Operation *producer = value.getDefiningOp()) {
    if (auto barrier = dyn_cast<BarrierOp>(producer))
      value = barrier.getInput();
    else if (auto prefetch = dyn_cast<PrefetchOp>(producer))
      value = prefetch.getHost();
    else if (auto offload = dyn_cast<OffloadOp>(producer))
      value = offload.getTensor();
    else
      break;
  }
  return value;
}

/// Returns whether an operator after the cut reads a value that only clones
/// read.
bool CloneFolder::isClone(Operation *op) const {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return replacing.contains(operand) || operand.getDefiningOp<BarrierOp>();
  });
}

/// Returns forward's operator with the same attributes and operands, or null if
/// there is none.
Operation *CloneFolder::findOriginal(Operation *op) {
  auto isSame = [&](Operation *original) {
    return OperationEquivalence::isEquivalentTo(
        original, op,
        [&](Value a, Value b) { return success(resolve(a) == resolve(b)); },
        /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
  };
  auto found = originals.find(op->getName());
  if (found == originals.end())
    return nullptr;
  auto original = llvm::find_if(found->second, isSame);
  return original == found->second.end() ? nullptr : *original;
}

/// Erases barriers and copies without readers.
void CloneFolder::eraseUnread() {
  for (Operation &op : llvm::make_early_inc_range(
           llvm::reverse(chunk.getBody().front().getOperations())))
    if (isa<BarrierOp, PrefetchOp, OffloadOp>(op) && op.use_empty())
      op.erase();
}

void CloneFolder::run() {
  Operation *cut = chunk.getCut();
  for (Operation &op : chunk.getBody().front()) {
    auto compute = dyn_cast<ComputeOpInterface>(op);
    if (!compute || isa<BarrierOp>(op))
      continue;
    // Only earlier passes use marks, and clones have none, which would hide
    // equal operators.
    compute.setRecomputeMark(std::nullopt);
    compute.setSwapMark(std::nullopt);
    if (op.isBeforeInBlock(cut))
      originals[op.getName()].push_back(&op);
  }
  SmallVector<Operation *> clones;
  for (Operation *op = cut->getNextNode(); op; op = op->getNextNode()) {
    if (!isa<ComputeOpInterface>(op) || isa<BarrierOp>(op) || !isClone(op))
      continue;
    if (Operation *original = findOriginal(op)) {
      op->getResults().replaceAllUsesWith(original->getResults());
      replacing.insert_range(original->getResults());
      clones.push_back(op);
    }
  }
  for (Operation *clone : llvm::reverse(clones))
    clone->erase();
  eraseUnread();
}

FailureOr<ChunkOp> mf::passes::cloneKeeping(ChunkOp chunk) {
  FailureOr<std::optional<ScheduledChunk>> scheduled =
      findScheduledChunk(chunk);
  if (failed(scheduled))
    return failure();
  if (!*scheduled || !(*scheduled)->recomputesSome())
    return ChunkOp();
  OpBuilder builder(chunk.getContext());
  builder.setInsertionPointAfter(chunk);
  auto clone = cast<ChunkOp>(builder.clone(*chunk));
  PlacementAttr placement = chunk.getPlacement();
  clone.setSymName((chunk.getSymName() + ".keeping").str());
  clone.setPlacementAttr(PlacementAttr::get(
      chunk.getContext(), placement.getStage(), placement.getChunk(),
      placement.getPiece(), /*keeps=*/true));
  CloneFolder(clone).run();
  return clone;
}
