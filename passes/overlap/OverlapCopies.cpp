//===- OverlapCopies.cpp - Overlaps copies' work and collectives ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/overlap/OverlapPlan.h"

namespace mf::passes {
#define GEN_PASS_DEF_OVERLAPCOPIES
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using mf::passes::OrderedOperator;
using mf::passes::OverlapPlan;

namespace {

/// The numbered operations of forward or backward of a chunk.
struct HalfGraph {
  SmallVector<Operation *> operations;
  std::vector<OrderedOperator> operators;

  HalfGraph(Block::iterator begin, Block::iterator end);
};

HalfGraph::HalfGraph(Block::iterator begin, Block::iterator end) {
  DenseMap<Operation *, int64_t> indices;
  for (Operation &op : llvm::make_range(begin, end)) {
    indices[&op] = static_cast<int64_t>(operations.size());
    operations.push_back(&op);
    OrderedOperator &entry = operators.emplace_back();
    entry.name = op.getName().getStringRef().str();
    if (auto compute = dyn_cast<ComputeOpInterface>(op)) {
      entry.name += " " + compute.getCellName().str();
      entry.communicates = compute.getEngine() == mf::Engine::Communication;
    }
    entry.isConstant = true;
    for (Value operand : op.getOperands()) {
      auto producer = indices.find(operand.getDefiningOp());
      bool isHere = operand.getDefiningOp() && producer != indices.end();
      if (isHere)
        entry.producers.push_back(producer->second);
      entry.isConstant &= isHere && operators[producer->second].isConstant;
    }
  }
}

struct OverlapCopiesPass
    : mf::passes::PrintingPass<
          mf::passes::impl::OverlapCopiesBase<OverlapCopiesPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ChunkOp chunk = getOperation();
    auto model = chunk->getParentOfType<ModelOp>();
    TrainingAttr training = model.getTrainingAttr();
    if (!training || (training.getParallel().getCopies() == 1 &&
                      training.getParallel().getRowBlocks() == 1))
      return;
    Block &body = chunk.getBody().front();
    CutOp cut = chunk.getCut();
    order(chunk, "forward", {body.begin(), cut->getIterator()});
    order(chunk, "backward",
          {std::next(cut->getIterator()), body.getTerminator()->getIterator()});
  }

private:
  void order(ChunkOp chunk, StringRef half,
             llvm::iterator_range<Block::iterator> range) {
    Operation *end = &*range.end();
    HalfGraph graph(range.begin(), range.end());
    OverlapPlan plan = mf::passes::planOverlap(graph.operators);
    if (printPlan) {
      mf::passes::PrintedPlan text(chunk);
      text.os() << chunk.getSymName() << " " << half << "\n";
      plan.print(graph.operators, text.os());
    }
    for (int64_t index : plan.order)
      graph.operations[index]->moveBefore(end);
    remark::passed(
        chunk.getLoc(),
        remark::RemarkOpts::name("Overlap").category("overlap").function(
            chunk.getSymName()))
        << remark::add("copies compute while others communicate in {0}", half)
        << remark::metric("collectives",
                          llvm::count_if(graph.operators,
                                         [](const OrderedOperator &op) {
                                           return op.communicates;
                                         }))
        << remark::metric("operators beside them", plan.distance);
  }
};

} // namespace
