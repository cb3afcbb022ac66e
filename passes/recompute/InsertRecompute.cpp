//===- InsertRecompute.cpp - Clone marked operators into backward ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/CellName.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/recompute/RecomputePlan.h"
#include "passes/split/BackwardHalves.h"
#include "passes/split/ScheduledChunk.h"
#include "llvm/ADT/MapVector.h"

namespace mf::passes {

#define GEN_PASS_DEF_INSERTRECOMPUTE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using mf::passes::ForwardOperator;
using mf::passes::RecomputePlan;
using mf::passes::ScheduledChunk;

namespace {

bool isMarked(Operation *op) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  return compute && compute.mayRecompute() && isMarkedForRecompute(compute);
}

/// The numbered operations of the forward half of a chunk.
struct ForwardGraph {
  SmallVector<Operation *> operations;
  DenseMap<Operation *, int64_t> indices;
  std::vector<ForwardOperator> operators;

  explicit ForwardGraph(ChunkOp chunk) {
    mf::passes::FreeValues freeValues;
    for (Operation &op : chunk.getBody().front()) {
      if (isa<CutOp>(op))
        break;
      auto index = static_cast<int64_t>(operations.size());
      indices[&op] = index;
      operations.push_back(&op);
      ForwardOperator &entry = operators.emplace_back();
      if (auto compute = dyn_cast<ComputeOpInterface>(op)) {
        entry.name = compute.getCellName().str();
        entry.flops = compute.getFlops();
      }
      entry.isMarked = isMarked(&op);
      entry.isFree = freeValues.isFree(&op);
      auto saved = dyn_cast<SavedFormOpInterface>(op);
      if (saved && entry.isMarked) {
        entry.isFree = false;
        entry.savedBytes = getTensorBytes(saved.getSavedType());
      }
      for (Value operand : op.getOperands())
        if (Operation *producer = operand.getDefiningOp())
          entry.producers.push_back(indices.lookup(producer));
    }
    for (auto [index, op] : llvm::enumerate(operations))
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              return !indices.contains(user) && !isa<CutOp>(user);
            })) {
          operators[index].isReadByBackward = true;
          operators[index].readBytes += getTensorBytes(result.getType());
        }
  }
};

/// Inserts the clones of a plan.
class CloneInserter {
public:
  CloneInserter(ChunkOp chunk, const ForwardGraph &graph,
                const RecomputePlan &plan)
      : graph(graph), builder(chunk.getContext()), cut(chunk.getCut()) {
    for (int64_t index : plan.clones)
      toClone.insert(graph.operations[index]);
  }

  void run() {
    for (Operation *op = cut->getNextNode(); op; op = op->getNextNode()) {
      builder.setInsertionPoint(op);
      for (OpOperand &operand : op->getOpOperands()) {
        Operation *producer = operand.get().getDefiningOp();
        if (!producer || !toClone.contains(producer))
          continue;
        unsigned number = cast<OpResult>(operand.get()).getResultNumber();
        operand.set(getClone(producer, op)->getResult(number));
      }
    }
  }

private:
  /// Returns the value that a clone reads for `value` of forward.
  Value getInBackward(Value value, Operation *user) {
    Operation *producer = value.getDefiningOp();
    if (!producer)
      return getBarrier(value, user);
    if (isa<GetParamOp>(producer))
      return value;
    if (!toClone.contains(producer))
      return getBarrier(value, user);
    unsigned number = cast<OpResult>(value).getResultNumber();
    return getClone(producer, user)->getResult(number);
  }

  Operation *getClone(Operation *op, Operation *user) {
    if (Operation *clone = clones.lookup(op))
      return clone;
    if (auto saved = dyn_cast<SavedFormOpInterface>(op))
      return clones[op] = restore(saved, user);
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, getInBackward(operand, user));
    Operation *clone = builder.clone(*op, mapping);
    auto compute = cast<ComputeOpInterface>(clone);
    compute.setRecomputeMark(std::nullopt);
    compute.setSwapMark(std::nullopt);
    clones[op] = clone;
    return clone;
  }

  /// Makes forward keep another form of the result of `op`, and backward
  /// compute the result from it.
  Operation *restore(SavedFormOpInterface op, Operation *user) {
    OpBuilder forward(op->getContext());
    forward.setInsertionPointAfter(op);
    Value saved = getBarrier(op.save(forward), user);
    return op.restore(builder, saved).getDefiningOp();
  }

  Value getBarrier(Value value, Operation *user) {
    Value &barrier = barriers[value];
    if (!barrier) {
      Value trigger = getTrigger(user);
      auto op = BarrierOp::create(builder, value.getLoc(), value.getType(),
                                  value, trigger, nullptr, nullptr, nullptr);
      if (auto compute = value.getDefiningOp<ComputeOpInterface>())
        op.setName(compute.getCellName());
      barrier = op;
    }
    return barrier;
  }

  /// Returns a gradient that `user` reads, on which a barrier makes clones wait
  /// until backward has reached this point.
  Value getTrigger(Operation *user) {
    for (Value operand : user->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        if (!graph.indices.contains(producer) && !isa<BarrierOp>(producer) &&
            !clones.contains(producer))
          return operand;
    return cut.getOutputGradients().front();
  }

  const ForwardGraph &graph;
  OpBuilder builder;
  CutOp cut;
  DenseSet<Operation *> toClone;
  DenseMap<Operation *, Operation *> clones;
  DenseMap<Value, Value> barriers;
};

/// Emits one remark per layer with the operators that run again and the values
/// that need not be kept.
void emitRemarks(ChunkOp chunk, const ForwardGraph &graph,
                 const RecomputePlan &plan) {
  struct LayerTotals {
    int64_t operators = 0, bytes = 0, flops = 0;
    Operation *first = nullptr;
  };
  llvm::MapVector<StringRef, LayerTotals> layers;
  for (int64_t index : plan.clones) {
    const ForwardOperator &op = graph.operators[index];
    LayerTotals &totals = layers[getLayerOfCell(op.name)];
    ++totals.operators;
    totals.bytes += op.isFree ? 0 : op.readBytes;
    totals.flops += op.flops;
    if (!totals.first)
      totals.first = graph.operations[index];
  }
  for (auto &[layer, totals] : layers)
    remark::passed(totals.first->getLoc(), remark::RemarkOpts::name("Recompute")
                                               .category("recompute")
                                               .function(chunk.getSymName()))
        << remark::add("layer {0} computes operators again", layer)
        << remark::metric("operators", totals.operators)
        << remark::metric("bytes not kept", totals.bytes)
        << remark::metric("flops", totals.flops);
}

void emitKeptRemark(ChunkOp chunk) {
  remark::missed(chunk.getLoc(), remark::RemarkOpts::name("Recompute")
                                     .category("recompute")
                                     .function(chunk.getSymName()))
      << remark::add("the schedule lets none of its micro-batches recompute: "
                     "it keeps all that backward reads");
}

struct InsertRecomputePass
    : mf::passes::PrintingPass<
          mf::passes::impl::InsertRecomputeBase<InsertRecomputePass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ChunkOp chunk = getOperation();
    ForwardGraph graph(chunk);
    RecomputePlan plan;
    FailureOr<std::optional<ScheduledChunk>> scheduled =
        mf::passes::findScheduledChunk(chunk);
    if (failed(scheduled))
      return signalPassFailure();
    if (!*scheduled || (*scheduled)->mayRecompute())
      plan = mf::passes::planRecompute(graph.operators);
    else
      emitKeptRemark(chunk);
    if (printPlan)
      plan.print(graph.operators, mf::passes::PrintedPlan(chunk).os());
    emitRemarks(chunk, graph, plan);
    CloneInserter(chunk, graph, plan).run();
    for (Operation *op : graph.operations)
      if (auto compute = dyn_cast<ComputeOpInterface>(op))
        compute.setRecomputeMark(std::nullopt);
  }
};

} // namespace
