//===- InsertSwap.cpp - Offload in forward, prefetch in backward ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/split/FreeValues.h"
#include "passes/swap/SwapPlan.h"

namespace mf::passes {
#define GEN_PASS_DEF_INSERTSWAP
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using mf::passes::SwapCandidate;
using mf::passes::SwapDecision;
using mf::passes::SwapPlan;

namespace {

/// Finds marked operators in one chunk, and inserts the copies of a plan.
class ChunkSwapper {
public:
  explicit ChunkSwapper(ChunkOp chunk)
      : chunk(chunk), cut(chunk.getCut()), builder(chunk.getContext()) {}

  /// Fills `candidates` with the marked values, in the order of forward.
  void collect();
  void emitRemarks(const SwapPlan &plan);
  void insert(const SwapPlan &plan);

  std::vector<SwapCandidate> candidates;

private:
  bool isForward(Operation *op) const { return forwardOps.contains(op); }
  void addCandidate(Value value, int64_t distance);
  void findReaders(Value value, SwapCandidate &candidate);
  Value getInBackward(Value value);

  ChunkOp chunk;
  CutOp cut;
  OpBuilder builder;
  mf::passes::FreeValues freeValues;
  DenseSet<Operation *> forwardOps;
  /// The values of the candidates.
  SmallVector<Value> values;
  /// The copies of swapped values in host memory, with their distances.
  DenseMap<Value, OffloadOp> offloads;
  /// Maps swapped values, and views of them, to those in backward.
  IRMapping inBackward;
};

} // namespace

/// Examines the users of `value` and of its views.
void ChunkSwapper::findReaders(Value value, SwapCandidate &candidate) {
  for (Operation *user : value.getUsers()) {
    if (user == cut)
      continue;
    if (!isForward(user)) {
      candidate.isReadByBackward = true;
      candidate.isReadByRecompute |= isa<BarrierOp>(user);
      continue;
    }
    auto compute = dyn_cast<ComputeOpInterface>(user);
    if (compute && compute.isView())
      findReaders(user->getResult(0), candidate);
  }
}

void ChunkSwapper::addCandidate(Value value, int64_t distance) {
  if (llvm::is_contained(values, value) || !value.getDefiningOp())
    return;
  SwapCandidate candidate;
  Operation *producer = value.getDefiningOp();
  if (auto compute = dyn_cast<ComputeOpInterface>(producer))
    candidate.name = compute.getCellName().str();
  candidate.bytes = getTensorBytes(value.getType());
  candidate.distance = distance;
  candidate.isMadeOfParameters = freeValues.isFree(producer);
  findReaders(value, candidate);
  values.push_back(value);
  candidates.push_back(std::move(candidate));
}

void ChunkSwapper::collect() {
  Block &body = chunk.getBody().front();
  for (Operation *op = &body.front(); op != cut; op = op->getNextNode())
    forwardOps.insert(op);
  for (auto op : body.getOps<ComputeOpInterface>()) {
    std::optional<int64_t> distance = op.getSwapMark();
    op.setSwapMark(std::nullopt);
    if (!distance || !isForward(op))
      continue;
    // A view has no memory of its own, so the value that it views is swapped.
    for (Value result : op->getResults())
      addCandidate(getViewedValue(result), *distance);
  }
}

void ChunkSwapper::emitRemarks(const SwapPlan &plan) {
  for (auto [value, candidate, decision] :
       llvm::zip(values, candidates, plan.decisions)) {
    auto options = remark::RemarkOpts::name("Swap").category("swap").function(
        chunk.getSymName());
    auto describe = [&, &entry = candidate, &what = decision](auto &&remark) {
      remark << remark::add("{0} {1}", entry.name, mf::passes::getReason(what))
             << remark::metric("bytes", entry.bytes)
             << remark::metric("distance", entry.distance);
    };
    if (decision == SwapDecision::Swap)
      describe(remark::passed(value.getLoc(), options));
    else
      describe(remark::missed(value.getLoc(), options));
  }
}

/// Returns the value that backward reads for `value`: the prefetched copy, or a
/// view of it.
Value ChunkSwapper::getInBackward(Value value) {
  if (Value mapped = inBackward.lookupOrNull(value))
    return mapped;
  if (OffloadOp offload = offloads.lookup(value)) {
    Value copy =
        PrefetchOp::create(builder, value.getLoc(), value.getType(), offload,
                           offload.getDistanceAttr(), offload.getNameAttr());
    inBackward.map(value, copy);
    return copy;
  }
  Operation *producer = value.getDefiningOp();
  if (!producer || !isForward(producer) ||
      !offloads.contains(getViewedValue(value)))
    return value;
  getInBackward(producer->getOperand(0));
  builder.clone(*producer, inBackward);
  return inBackward.lookup(value);
}

void ChunkSwapper::insert(const SwapPlan &plan) {
  for (auto [value, candidate, decision] :
       llvm::zip(values, candidates, plan.decisions)) {
    if (decision != SwapDecision::Swap)
      continue;
    builder.setInsertionPointAfter(value.getDefiningOp());
    offloads[value] = OffloadOp::create(
        builder, value.getLoc(),
        HostType::get(chunk.getContext(),
                      cast<RankedTensorType>(value.getType())),
        value, builder.getI64IntegerAttr(candidate.distance),
        builder.getStringAttr(candidate.name));
  }
  if (offloads.empty())
    return;
  for (Operation *op = cut->getNextNode(); op; op = op->getNextNode()) {
    builder.setInsertionPoint(op);
    for (OpOperand &operand : op->getOpOperands())
      operand.set(getInBackward(operand.get()));
  }
}

namespace {

struct InsertSwapPass : mf::passes::PrintingPass<
                            mf::passes::impl::InsertSwapBase<InsertSwapPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ChunkSwapper swapper(getOperation());
    swapper.collect();
    SwapPlan plan = mf::passes::planSwap(swapper.candidates);
    if (printPlan && !swapper.candidates.empty())
      plan.print(swapper.candidates,
                 mf::passes::PrintedPlan(getOperation()).os());
    swapper.emitRemarks(plan);
    swapper.insert(plan);
  }
};

} // namespace
