//===- SplitChunks.cpp - Chunks to forward and backward -------------------===//

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/split/FreeValues.h"

namespace mf::passes {
#define GEN_PASS_DEF_SPLITCHUNKS
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;

namespace {

/// Splits one chunk.
class ChunkSplitter {
public:
  explicit ChunkSplitter(ChunkOp chunk)
      : chunk(chunk), cut(chunk.getCut()), builder(chunk) {}

  void run();

private:
  void findCrossings();
  void visitCrossing(Value value);
  void buildBackward();
  Value getInBackward(Value value);
  void buildForward();
  void emitRemark();

  ChunkOp chunk;
  CutOp cut;
  OpBuilder builder;
  mf::passes::FreeValues freeValues;
  DenseSet<Operation *> forwardOps;
  DenseSet<Value> visited;
  /// Arguments of forward, and values computed there, that backward reads.
  SmallVector<BlockArgument> crossingArguments;
  SmallVector<Value> residuals;
  IRMapping mapping;
};

/// Follows views and values made of parameters back to what must be kept.
void ChunkSplitter::visitCrossing(Value value) {
  if (!visited.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    crossingArguments.push_back(argument);
    return;
  }
  Operation *producer = value.getDefiningOp();
  if (!freeValues.isFree(producer)) {
    residuals.push_back(value);
    return;
  }
  for (Value operand : producer->getOperands())
    visitCrossing(operand);
}

void ChunkSplitter::findCrossings() {
  Block &body = chunk.getBody().front();
  DenseMap<Operation *, unsigned> order;
  for (Operation *op = &body.front(); op != cut; op = op->getNextNode()) {
    order[op] = order.size();
    forwardOps.insert(op);
  }
  for (Operation *op = cut->getNextNode(); op; op = op->getNextNode())
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || forwardOps.contains(producer))
        visitCrossing(operand);
    }
  llvm::sort(crossingArguments, [](BlockArgument a, BlockArgument b) {
    return a.getArgNumber() < b.getArgNumber();
  });
  llvm::sort(residuals, [&](Value a, Value b) {
    return std::pair(order[a.getDefiningOp()],
                     cast<OpResult>(a).getResultNumber()) <
           std::pair(order[b.getDefiningOp()],
                     cast<OpResult>(b).getResultNumber());
  });
}

/// `value` of forward in backward; what is free is cloned there on first use.
Value ChunkSplitter::getInBackward(Value value) {
  if (Value mapped = mapping.lookupOrNull(value))
    return mapped;
  Operation *producer = value.getDefiningOp();
  for (Value operand : producer->getOperands())
    getInBackward(operand);
  Operation *clone = builder.clone(*producer, mapping);
  if (auto compute = dyn_cast<ComputeOpInterface>(clone))
    compute.setRecomputeMark(std::nullopt);
  return mapping.lookup(value);
}

void ChunkSplitter::buildBackward() {
  Region body;
  Block &block = body.emplaceBlock();
  auto addArgument = [&](Value value) {
    mapping.map(value, block.addArgument(value.getType(), value.getLoc()));
  };
  for (Value gradient : cut.getOutputGradients())
    addArgument(gradient);
  SmallVector<int64_t> forwardArguments;
  for (BlockArgument argument : crossingArguments) {
    addArgument(argument);
    forwardArguments.push_back(argument.getArgNumber());
  }
  for (Value residual : residuals)
    addArgument(residual);

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&block);
  for (Operation *op = cut->getNextNode(); op; op = op->getNextNode()) {
    for (Value operand : op->getOperands())
      getInBackward(operand);
    builder.clone(*op, mapping);
  }
  builder.setInsertionPoint(chunk);
  auto backward = BackwardOp::create(
      builder, chunk.getLoc(), (chunk.getSymName() + ".backward").str(),
      FunctionType::get(chunk.getContext(), block.getArgumentTypes(),
                        block.getTerminator()->getOperandTypes()),
      chunk.getPlacement(), builder.getI64ArrayAttr(forwardArguments),
      chunk.getGradients(), cut.getOutputs().size(), /*kept=*/0, ArrayAttr(),
      ArrayAttr());
  backward.getBody().takeBody(body);
}

void ChunkSplitter::buildForward() {
  Block &block = chunk.getBody().front();
  SmallVector<Value> results(cut.getOutputs());
  auto numOutputs = static_cast<int64_t>(results.size());
  while (&block.back() != cut)
    block.back().erase();
  cut.erase();
  llvm::append_range(results, residuals);
  auto terminatorBuilder = OpBuilder::atBlockEnd(&block);
  ReturnOp::create(terminatorBuilder, chunk.getLoc(), results);
  auto forward = ForwardOp::create(
      builder, chunk.getLoc(), (chunk.getSymName() + ".forward").str(),
      FunctionType::get(chunk.getContext(), block.getArgumentTypes(),
                        ValueRange(results).getTypes()),
      chunk.getPlacement(), chunk.getInputs(), chunk.getInputIndices(),
      numOutputs, ArrayAttr(), ArrayAttr());
  forward.getBody().takeBody(chunk.getBody());
  for (Operation &op : forward.getBody().front())
    if (auto compute = dyn_cast<ComputeOpInterface>(op))
      compute.setRecomputeMark(std::nullopt);
}

void ChunkSplitter::emitRemark() {
  int64_t bytes = 0;
  for (Value residual : residuals)
    bytes += getTensorBytes(residual.getType());
  remark::analysis(chunk.getLoc(), remark::RemarkOpts::name("Residuals")
                                       .category("residuals")
                                       .function(chunk.getSymName()))
      << remark::add("kept from forward to backward")
      << remark::metric("values", residuals.size())
      << remark::metric("bytes", bytes);
}

void ChunkSplitter::run() {
  findCrossings();
  emitRemark();
  buildBackward();
  builder.setInsertionPoint(chunk->getPrevNode());
  buildForward();
  chunk.erase();
}

struct SplitChunksPass : mf::passes::impl::SplitChunksBase<SplitChunksPass> {
  void runOnOperation() override {
    for (ChunkOp chunk :
         llvm::make_early_inc_range(getOperation().getBody().getOps<ChunkOp>()))
      ChunkSplitter(chunk).run();
  }
};

} // namespace
