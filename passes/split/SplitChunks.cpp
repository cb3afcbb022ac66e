//===- SplitChunks.cpp - Chunks to forward and backward -------------------===//

#include "mf/Schedule/Policy.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/split/FreeValues.h"
#include "passes/split/SplitPlan.h"

namespace mf::passes {
#define GEN_PASS_DEF_SPLITCHUNKS
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;

namespace {

/// What some operators behind the cut read of what they are not.
struct Reads {
  SmallVector<Value> outputGradients;
  SmallVector<BlockArgument> arguments;
  /// Of forward.
  SmallVector<Value> residuals;
  /// Of the other operators behind the cut.
  SmallVector<Value> kept;
};

/// Splits one chunk.
class ChunkSplitter {
public:
  ChunkSplitter(ChunkOp chunk, bool splitsBackward)
      : chunk(chunk), cut(chunk.getCut()), builder(chunk),
        splitsBackward(splitsBackward) {}

  void run();

private:
  void numberOperators();
  void sortInOrder(SmallVectorImpl<Value> &values);
  std::vector<bool> findWeightHalf(ArrayRef<Operation *> behindCut);
  void assignHalves();
  bool isMadeAgain(Operation *op);
  void visit(Value value, bool inWeights, DenseSet<Value> &visited,
             Reads &reads);
  Reads findReads(bool inWeights);
  SmallVector<Value> getReturned(bool inWeights);
  ArrayAttr getGradientNames(bool inWeights);

  bool isInWeights(Value value) {
    return weights.contains(value.getDefiningOp());
  }
  Value getInHalf(Value value, IRMapping &mapping);
  void cloneHalf(Block &block, bool inWeights, ArrayRef<Value> arguments,
                 ArrayRef<Value> results);
  void buildBackward();
  void buildWeights();
  void buildForward();
  void emitRemarks();

  ChunkOp chunk;
  CutOp cut;
  OpBuilder builder;
  bool splitsBackward;
  mf::passes::FreeValues freeValues;
  DenseMap<Operation *, unsigned> order;
  DenseSet<Operation *> forward, backward, weights;
  Reads backwardReads, weightReads;
  /// Of both halves, in forward's order.
  SmallVector<Value> residuals;
};

} // namespace

//===----------------------------------------------------------------------===//
// Which half runs what
//===----------------------------------------------------------------------===//

void ChunkSplitter::numberOperators() {
  for (Operation &op : chunk.getBody().front()) {
    order[&op] = order.size();
    if (op.isBeforeInBlock(cut))
      forward.insert(&op);
  }
}

void ChunkSplitter::sortInOrder(SmallVectorImpl<Value> &values) {
  auto getKey = [&](Value value) {
    return std::pair(order.lookup(value.getDefiningOp()),
                     cast<OpResult>(value).getResultNumber());
  };
  llvm::sort(values, [&](Value a, Value b) { return getKey(a) < getKey(b); });
}

/// The order that a barrier asks for ties nothing to a half: what it waits for
/// may run in the other.
static ValueRange getDataOperands(Operation *op) {
  if (isa<BarrierOp>(op))
    return op->getOperands().take_front();
  return op->getOperands();
}

std::vector<bool>
ChunkSplitter::findWeightHalf(ArrayRef<Operation *> behindCut) {
  DenseMap<Operation *, int64_t> indices;
  std::vector<mf::passes::BackwardOperator> operators;
  for (Operation *op : behindCut) {
    mf::passes::BackwardOperator &entry = operators.emplace_back();
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
  return mf::passes::planWeightHalf(
      operators,
      chunk.getNumArguments() - static_cast<int64_t>(chunk.getInputs().size()));
}

void ChunkSplitter::assignHalves() {
  SmallVector<Operation *> behindCut;
  for (Operation *op = cut->getNextNode(); op != getReturn(chunk);
       op = op->getNextNode())
    behindCut.push_back(op);
  std::vector<bool> waits(behindCut.size(), false);
  if (splitsBackward)
    waits = findWeightHalf(behindCut);
  for (auto [op, inWeights] : llvm::zip(behindCut, waits))
    (inWeights ? weights : backward).insert(op);
}

//===----------------------------------------------------------------------===//
// What a half reads
//===----------------------------------------------------------------------===//

/// Whether a half that reads the result of `op`, of forward or of the other
/// half, makes it again. A swapped value is copied back by each half: keeping
/// it on the device from one to the other would cost the memory that swapping
/// it saves.
bool ChunkSplitter::isMadeAgain(Operation *op) {
  return isa<PrefetchOp>(op) || freeValues.isFree(op);
}

/// Follows what is made again back to what is handed over.
void ChunkSplitter::visit(Value value, bool inWeights, DenseSet<Value> &visited,
                          Reads &reads) {
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
  if ((inWeights ? weights : backward).contains(producer))
    return;
  if (!isMadeAgain(producer)) {
    (forward.contains(producer) ? reads.residuals : reads.kept)
        .push_back(value);
    return;
  }
  for (Value operand : getDataOperands(producer))
    visit(operand, inWeights, visited, reads);
}

Reads ChunkSplitter::findReads(bool inWeights) {
  Reads reads;
  DenseSet<Value> visited;
  const DenseSet<Operation *> &half = inWeights ? weights : backward;
  for (Operation *op = cut->getNextNode(); op != getReturn(chunk);
       op = op->getNextNode())
    if (half.contains(op))
      for (Value operand : getDataOperands(op))
        visit(operand, inWeights, visited, reads);
  for (Value value : getReturned(inWeights))
    visit(value, inWeights, visited, reads);

  llvm::sort(reads.arguments, [](BlockArgument a, BlockArgument b) {
    return a.getArgNumber() < b.getArgNumber();
  });
  sortInOrder(reads.outputGradients);
  sortInOrder(reads.residuals);
  sortInOrder(reads.kept);
  return reads;
}

/// The chunk's results that a half makes; those that nobody makes, such as a
/// gradient that is handed through, are backward's.
SmallVector<Value> ChunkSplitter::getReturned(bool inWeights) {
  SmallVector<Value> values;
  for (Value value : getReturn(chunk).getValues())
    if (isInWeights(value) == inWeights)
      values.push_back(value);
  return values;
}

ArrayAttr ChunkSplitter::getGradientNames(bool inWeights) {
  SmallVector<Attribute> names;
  auto values =
      getReturn(chunk).getValues().take_back(chunk.getGradients().size());
  for (auto [name, value] : llvm::zip_equal(chunk.getGradients(), values))
    if (isInWeights(value) == inWeights)
      names.push_back(name);
  return builder.getArrayAttr(names);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// `value` in the half that is being built; what is not handed over is made
/// again there on first use. A barrier of the other half stands for its input:
/// the functions are apart already.
Value ChunkSplitter::getInHalf(Value value, IRMapping &mapping) {
  if (Value mapped = mapping.lookupOrNull(value))
    return mapped;
  Operation *producer = value.getDefiningOp();
  for (Value operand : getDataOperands(producer))
    getInHalf(operand, mapping);
  if (isa<BarrierOp>(producer)) {
    mapping.map(value, mapping.lookup(producer->getOperand(0)));
    return mapping.lookup(value);
  }
  Operation *clone = builder.clone(*producer, mapping);
  if (auto compute = dyn_cast<ComputeOpInterface>(clone))
    compute.setRecomputeMark(std::nullopt);
  return mapping.lookup(value);
}

/// Fills a function's body with the operators of a half. `arguments` are what
/// its arguments stand for.
void ChunkSplitter::cloneHalf(Block &block, bool inWeights,
                              ArrayRef<Value> arguments,
                              ArrayRef<Value> results) {
  const DenseSet<Operation *> &half = inWeights ? weights : backward;
  IRMapping mapping;
  for (Value value : arguments)
    mapping.map(value, block.addArgument(value.getType(), value.getLoc()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&block);
  for (Operation *op = cut->getNextNode(); op != getReturn(chunk);
       op = op->getNextNode()) {
    if (!half.contains(op))
      continue;
    for (Value operand : getDataOperands(op))
      getInHalf(operand, mapping);
    auto barrier = dyn_cast<BarrierOp>(op);
    if (barrier && inWeights) {
      mapping.map(barrier.getResult(), mapping.lookup(barrier.getInput()));
      continue;
    }
    Operation *clone = builder.clone(*op, mapping);
    // What a barrier waits for may run in the other half, later.
    if (barrier) {
      SmallVector<Value> after;
      for (Value value : barrier.getAfter())
        if (!isInWeights(value))
          after.push_back(getInHalf(value, mapping));
      cast<BarrierOp>(clone).getAfterMutable().assign(after);
    }
  }
  SmallVector<Value> returned;
  for (Value value : results)
    returned.push_back(getInHalf(value, mapping));
  ReturnOp::create(builder, getReturn(chunk).getLoc(), returned);
}

static FunctionType getFunctionType(Block &block) {
  return FunctionType::get(block.getTerminator()->getContext(),
                           block.getArgumentTypes(),
                           block.getTerminator()->getOperandTypes());
}

static SmallVector<int64_t> getNumbers(ArrayRef<BlockArgument> arguments) {
  return llvm::map_to_vector(arguments, [](BlockArgument argument) {
    return static_cast<int64_t>(argument.getArgNumber());
  });
}

void ChunkSplitter::buildBackward() {
  SmallVector<Value> arguments(cut.getOutputGradients());
  llvm::append_range(arguments, backwardReads.arguments);
  llvm::append_range(arguments, residuals);
  SmallVector<Value> results = getReturned(/*inWeights=*/false);
  llvm::append_range(results, weightReads.kept);
  Region body;
  Block &block = body.emplaceBlock();
  cloneHalf(block, /*inWeights=*/false, arguments, results);
  auto op = BackwardOp::create(
      builder, chunk.getLoc(), (chunk.getSymName() + ".backward").str(),
      getFunctionType(block), chunk.getPlacement(),
      builder.getI64ArrayAttr(getNumbers(backwardReads.arguments)),
      getGradientNames(/*inWeights=*/false), cut.getOutputs().size(),
      weightReads.kept.size(), ArrayAttr(), ArrayAttr());
  op.getBody().takeBody(body);
}

void ChunkSplitter::buildWeights() {
  SmallVector<int64_t> outputs;
  SmallVector<Value> arguments;
  for (Value gradient : weightReads.outputGradients) {
    outputs.push_back(cast<OpResult>(gradient).getResultNumber());
    arguments.push_back(gradient);
  }
  llvm::append_range(arguments, weightReads.arguments);
  llvm::append_range(arguments, residuals);
  llvm::append_range(arguments, weightReads.kept);
  Region body;
  Block &block = body.emplaceBlock();
  cloneHalf(block, /*inWeights=*/true, arguments,
            getReturned(/*inWeights=*/true));
  auto op = BackwardWeightsOp::create(
      builder, chunk.getLoc(), (chunk.getSymName() + ".weights").str(),
      getFunctionType(block), chunk.getPlacement(),
      builder.getI64ArrayAttr(outputs),
      builder.getI64ArrayAttr(getNumbers(weightReads.arguments)),
      getGradientNames(/*inWeights=*/true), ArrayAttr(), ArrayAttr());
  op.getBody().takeBody(body);
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
  auto op = ForwardOp::create(
      builder, chunk.getLoc(), (chunk.getSymName() + ".forward").str(),
      FunctionType::get(chunk.getContext(), block.getArgumentTypes(),
                        ValueRange(results).getTypes()),
      chunk.getPlacement(), chunk.getInputs(), chunk.getInputIndices(),
      numOutputs, ArrayAttr(), ArrayAttr());
  op.getBody().takeBody(chunk.getBody());
  for (Operation &inner : op.getBody().front())
    if (auto compute = dyn_cast<ComputeOpInterface>(inner))
      compute.setRecomputeMark(std::nullopt);
}

static int64_t getBytes(ArrayRef<Value> values) {
  int64_t bytes = 0;
  for (Value value : values)
    bytes += getTensorBytes(value.getType());
  return bytes;
}

void ChunkSplitter::emitRemarks() {
  remark::analysis(chunk.getLoc(), remark::RemarkOpts::name("Residuals")
                                       .category("residuals")
                                       .function(chunk.getSymName()))
      << remark::add("kept from forward to backward")
      << remark::metric("values", residuals.size())
      << remark::metric("bytes", getBytes(residuals));
  if (!splitsBackward)
    return;
  auto countOperators = [](const DenseSet<Operation *> &half) {
    return llvm::count_if(
        half, [](Operation *op) { return isa<ComputeOpInterface>(op); });
  };
  remark::passed(chunk.getLoc(), remark::RemarkOpts::name("WeightHalf")
                                     .category("residuals")
                                     .function(chunk.getSymName()))
      << remark::add("backward is split in two")
      << remark::metric("input gradient operators", countOperators(backward))
      << remark::metric("weight gradient operators", countOperators(weights))
      << remark::metric("kept values", weightReads.kept.size())
      << remark::metric("kept bytes", getBytes(weightReads.kept));
}

void ChunkSplitter::run() {
  numberOperators();
  assignHalves();
  backwardReads = findReads(/*inWeights=*/false);
  weightReads = findReads(/*inWeights=*/true);
  residuals = backwardReads.residuals;
  llvm::append_range(residuals, weightReads.residuals);
  sortInOrder(residuals);
  residuals.erase(llvm::unique(residuals), residuals.end());
  emitRemarks();
  buildBackward();
  Operation *backwardOp = chunk->getPrevNode();
  if (splitsBackward)
    buildWeights();
  builder.setInsertionPoint(backwardOp);
  buildForward();
  chunk.erase();
}

namespace {

struct SplitChunksPass : mf::passes::impl::SplitChunksBase<SplitChunksPass> {
  using SplitChunksBase::SplitChunksBase;

  void runOnOperation() override {
    FailureOr<bool> splits = getsSplit(getOperation());
    if (failed(splits))
      return signalPassFailure();
    for (ChunkOp chunk :
         llvm::make_early_inc_range(getOperation().getBody().getOps<ChunkOp>()))
      ChunkSplitter(chunk, *splits).run();
  }

private:
  /// Whether backward of `model` is split: what the option says or else its
  /// schedule.
  FailureOr<bool> getsSplit(ModelOp model) {
    using mf::passes::SplitBackward;
    TrainingAttr training = model.getTrainingAttr();
    if (splitBackward != SplitBackward::Auto || !training)
      return splitBackward == SplitBackward::Always;
    StringRef name = training.getParallel().getScheduler();
    llvm::Expected<const mf::schedule::Policy *> policy =
        mf::schedule::findPolicy(name);
    if (policy)
      return (*policy)->splitsBackward();
    model.emitOpError(llvm::toString(policy.takeError()));
    return failure();
  }
};

} // namespace
