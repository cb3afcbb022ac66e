//===- SplitChunks.cpp - Splits chunks into forward and backward ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/DiscardableAttributes.h"
#include "dialects/mf/MfOps.h"
#include "mf/Pipeline/Policy.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/split/BackwardHalves.h"
#include "passes/split/ScheduledChunk.h"

namespace mf::passes {

#define GEN_PASS_DEF_SPLITCHUNKS
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using namespace mf::passes;

//===----------------------------------------------------------------------===//
// A schedule may recompute for some micro-batches only. The others run another
// version of the chunk, which keeps all residuals.
//===----------------------------------------------------------------------===//

namespace {

/// Replaces clones of forward's operators after the cut by their originals.
class CloneFolder {
public:
  explicit CloneFolder(ChunkOp chunk) : chunk(chunk) {}

  void run() {
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

private:
  /// Returns the value of which `value` is a copy.
  Value resolve(Value value) const {
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
  bool isClone(Operation *op) const {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return replacing.contains(operand) || operand.getDefiningOp<BarrierOp>();
    });
  }

  /// Returns forward's operator with the same attributes and operands, or null
  /// if there is none.
  Operation *findOriginal(Operation *op) {
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
  void eraseUnread() {
    for (Operation &op : llvm::make_early_inc_range(
             llvm::reverse(chunk.getBody().front().getOperations())))
      if (isa<BarrierOp, PrefetchOp, OffloadOp>(op) && op.use_empty())
        op.erase();
  }

  ChunkOp chunk;
  /// The results of originals that have replaced a clone.
  DenseSet<Value> replacing;
  /// Forward's operators by their names.
  DenseMap<OperationName, SmallVector<Operation *>> originals;
};

} // namespace

/// Makes a version of `chunk` after it if the model's schedule recomputes for
/// some micro-batches and not for others; otherwise returns null. The backward
/// of that version reads the values of forward instead of recomputing them.
/// Values that backward computes from another form that forward keeps stay.
static FailureOr<ChunkOp> cloneKeeping(ChunkOp chunk) {
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

static int64_t getBytes(ArrayRef<Value> values) {
  return llvm::sum_of(llvm::map_range(
      values, [](Value value) { return getTensorBytes(value.getType()); }));
}

namespace {

class ChunkSplitter {
public:
  ChunkSplitter(ChunkOp chunk, bool hasBackward, bool splitsBackward,
                bool separatesRecompute)
      : chunk(chunk), cut(chunk.getCut()), builder(chunk),
        hasBackward(hasBackward), splitsBackward(splitsBackward && hasBackward),
        halves(chunk, this->splitsBackward, separatesRecompute && hasBackward) {
  }

  bool hasRecompute() const { return halves.hasRecompute(); }
  PlacementAttr getPlacement() { return chunk.getPlacement(); }

  /// Makes the functions. If `makesRecompute` is true, there is a recompute
  /// function, even if it is empty.
  void run(bool makesRecompute) {
    backwardReads = halves.findReads(Half::Backward);
    weightReads = halves.findReads(Half::Weights);
    recomputed = getUnion(backwardReads.recomputed, weightReads.recomputed);
    recomputeReads = halves.findReads(Half::Recompute, recomputed);
    residuals = getUnion(backwardReads.residuals, weightReads.residuals);
    residuals = getUnion(residuals, recomputeReads.residuals);
    emitRemarks();
    if (hasBackward) {
      buildBackward();
      Operation *backwardOp = chunk->getPrevNode();
      if (makesRecompute) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(backwardOp);
        buildRecompute();
        backwardOp = backwardOp->getPrevNode();
      }
      if (splitsBackward)
        buildWeights();
      builder.setInsertionPoint(backwardOp);
    }
    buildForward();
    chunk.erase();
  }

private:
  ArrayAttr getGradientNames(Half half) {
    SmallVector<Attribute> names;
    auto values =
        getReturn(chunk).getValues().take_back(chunk.getGradients().size());
    for (auto [name, value] : llvm::zip_equal(chunk.getGradients(), values))
      if (halves.getHalf(value) == half)
        names.push_back(name);
    return builder.getArrayAttr(names);
  }

  /// Returns `value` in the half that is being built. A value that is not
  /// passed to it is recomputed there at its first use. A barrier of the other
  /// half is replaced by its input, because the functions are ordered anyway.
  Value getInHalf(Value value, IRMapping &mapping) {
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

  /// Fills a function's body with the operators of a half. `arguments` are the
  /// values that its arguments represent.
  void cloneHalf(Block &block, Half half, ArrayRef<Value> arguments,
                 ArrayRef<Value> results) {
    IRMapping mapping;
    for (Value value : arguments)
      mapping.map(value, block.addArgument(value.getType(), value.getLoc()));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&block);
    for (Operation *op : halves.getOperators(half)) {
      for (Value operand : getDataOperands(op))
        getInHalf(operand, mapping);
      auto barrier = dyn_cast<BarrierOp>(op);
      if (barrier && half != Half::Backward) {
        mapping.map(barrier.getResult(), mapping.lookup(barrier.getInput()));
        continue;
      }
      Operation *clone = builder.clone(*op, mapping);
      // Operators that a barrier waits for may run in the other half, later.
      if (barrier) {
        SmallVector<Value> after;
        for (Value value : barrier.getAfter())
          if (halves.getHalf(value) == Half::Backward)
            after.push_back(getInHalf(value, mapping));
        cast<BarrierOp>(clone).getAfterMutable().assign(after);
      }
    }
    SmallVector<Value> returned;
    for (Value value : results)
      returned.push_back(getInHalf(value, mapping));
    ReturnOp::create(builder, getReturn(chunk).getLoc(), returned);
  }

  /// Returns the results of forward other than residuals. Values that were
  /// received from earlier pieces of the sequence are left out, because they
  /// exist already.
  SmallVector<Value> getOutputs() {
    SmallVector<Value> outputs(cut.getOutputs());
    Value *end = outputs.end() - chunk.getFuture();
    outputs.erase(end - chunk.getNumPassedOn(), end);
    return outputs;
  }

  SmallVector<int64_t> getOutputNumbers(ArrayRef<Value> values) {
    SmallVector<Value> outputs = getOutputs();
    return llvm::map_to_vector(values, [&](Value value) {
      return static_cast<int64_t>(llvm::find(outputs, value) - outputs.begin());
    });
  }

  void buildRecompute() {
    SmallVector<Value> arguments;
    llvm::append_range(arguments, recomputeReads.arguments);
    llvm::append_range(arguments, recomputeReads.outputs);
    llvm::append_range(arguments, residuals);
    Region body;
    Block &block = body.emplaceBlock();
    cloneHalf(block, Half::Recompute, arguments, recomputed);
    auto op = RecomputeOp::create(
        builder, chunk.getLoc(), (chunk.getSymName() + ".recompute").str(),
        getFunctionType(block), chunk.getPlacement(),
        builder.getI64ArrayAttr(getNumbers(recomputeReads.arguments)),
        builder.getI64ArrayAttr(getOutputNumbers(recomputeReads.outputs)),
        ArrayAttr(), ArrayAttr());
    op.getBody().takeBody(body);
  }

  void buildBackward() {
    SmallVector<Value> arguments(cut.getOutputGradients());
    llvm::append_range(arguments, backwardReads.arguments);
    llvm::append_range(arguments, backwardReads.outputs);
    llvm::append_range(arguments, residuals);
    llvm::append_range(arguments, recomputed);
    SmallVector<Value> results = halves.getReturned(Half::Backward);
    llvm::append_range(results, weightReads.kept);
    Region body;
    Block &block = body.emplaceBlock();
    cloneHalf(block, Half::Backward, arguments, results);
    auto op = BackwardOp::create(
        builder, chunk.getLoc(), (chunk.getSymName() + ".backward").str(),
        getFunctionType(block), chunk.getPlacement(),
        builder.getI64ArrayAttr(getNumbers(backwardReads.arguments)),
        getGradientNames(Half::Backward), cut.getOutputs().size(),
        weightReads.kept.size(),
        builder.getI64ArrayAttr(getOutputNumbers(backwardReads.outputs)),
        ArrayAttr(), ArrayAttr());
    op.getBody().takeBody(body);
  }

  void buildWeights() {
    SmallVector<int64_t> outputs;
    SmallVector<Value> arguments;
    for (Value gradient : weightReads.outputGradients) {
      outputs.push_back(cast<OpResult>(gradient).getResultNumber());
      arguments.push_back(gradient);
    }
    llvm::append_range(arguments, weightReads.arguments);
    llvm::append_range(arguments, residuals);
    llvm::append_range(arguments, recomputed);
    llvm::append_range(arguments, weightReads.kept);
    Region body;
    Block &block = body.emplaceBlock();
    cloneHalf(block, Half::Weights, arguments,
              halves.getReturned(Half::Weights));
    auto op = BackwardWeightsOp::create(
        builder, chunk.getLoc(), (chunk.getSymName() + ".weights").str(),
        getFunctionType(block), chunk.getPlacement(),
        builder.getI64ArrayAttr(outputs),
        builder.getI64ArrayAttr(getNumbers(weightReads.arguments)),
        getGradientNames(Half::Weights), ArrayAttr(), ArrayAttr());
    op.getBody().takeBody(body);
  }

  void buildForward() {
    Block &block = chunk.getBody().front();
    SmallVector<Value> results = getOutputs();
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
        numOutputs, chunk.getPast(), chunk.getFuture(), ArrayAttr(),
        ArrayAttr());
    if (Attribute certificate = chunk->getAttr(certificateAttribute))
      op->setAttr(certificateAttribute, certificate);
    setLossParts(op, findLossParts(chunk));
    op.getBody().takeBody(chunk.getBody());
    for (Operation &inner : op.getBody().front())
      if (auto compute = dyn_cast<ComputeOpInterface>(inner))
        compute.setRecomputeMark(std::nullopt);
  }

  /// Returns the values of both lists without duplicates and in the chunk's
  /// order.
  SmallVector<Value> getUnion(ArrayRef<Value> one, ArrayRef<Value> other) {
    SmallVector<Value> values(one);
    llvm::append_range(values, other);
    halves.sortInOrder(values);
    values.erase(llvm::unique(values), values.end());
    return values;
  }

  void emitRemarks() {
    remark::analysis(chunk.getLoc(), remark::RemarkOpts::name("Residuals")
                                         .category("residuals")
                                         .function(chunk.getSymName()))
        << remark::add("kept from forward to backward")
        << remark::metric("values", residuals.size())
        << remark::metric("bytes", getBytes(residuals));
    auto countOperators = [&](Half half) {
      return llvm::count_if(halves.getOperators(half), [](Operation *op) {
        return isa<ComputeOpInterface>(op);
      });
    };
    if (halves.hasRecompute())
      remark::passed(chunk.getLoc(), remark::RemarkOpts::name("RecomputeTask")
                                         .category("residuals")
                                         .function(chunk.getSymName()))
          << remark::add("recompute waits for no gradient")
          << remark::metric("operators", countOperators(Half::Recompute))
          << remark::metric("values", recomputed.size())
          << remark::metric("bytes", getBytes(recomputed));
    if (!splitsBackward)
      return;
    remark::passed(chunk.getLoc(), remark::RemarkOpts::name("WeightHalf")
                                       .category("residuals")
                                       .function(chunk.getSymName()))
        << remark::add("backward is split in two")
        << remark::metric("input gradient operators",
                          countOperators(Half::Backward))
        << remark::metric("weight gradient operators",
                          countOperators(Half::Weights))
        << remark::metric("kept values", weightReads.kept.size())
        << remark::metric("kept bytes", getBytes(weightReads.kept));
  }

  ChunkOp chunk;
  CutOp cut;
  OpBuilder builder;
  bool hasBackward, splitsBackward;
  BackwardHalves halves;
  HalfReads recomputeReads, backwardReads, weightReads;
  /// The residuals of both halves and of the recompute part, in forward's
  /// order.
  SmallVector<Value> residuals;
  /// The values of the recompute part that both halves read.
  SmallVector<Value> recomputed;
};

struct SplitChunksPass : mf::passes::impl::SplitChunksBase<SplitChunksPass> {
  using SplitChunksBase::SplitChunksBase;

  void runOnOperation() override {
    FailureOr<BackwardParts> parts = getParts(getOperation());
    if (failed(parts))
      return signalPassFailure();
    auto chunks = llvm::to_vector(getOperation().getBody().getOps<ChunkOp>());
    std::vector<std::unique_ptr<ChunkSplitter>> splitters;
    // All pieces of the sequence have the same tasks.
    DenseSet<std::pair<int64_t, int64_t>> recomputing;
    auto getPlace = [](ChunkSplitter &splitter) {
      return std::pair<int64_t, int64_t>(splitter.getPlacement().getStage(),
                                         splitter.getPlacement().getChunk());
    };
    for (size_t index = 0; index < chunks.size(); ++index) {
      splitters.push_back(std::make_unique<ChunkSplitter>(
          chunks[index], getsGradients(chunks, index), parts->splitsBackward,
          parts->separatesRecompute));
      if (splitters.back()->hasRecompute())
        recomputing.insert(getPlace(*splitters.back()));
    }
    for (auto [chunk, splitter] : llvm::zip_equal(chunks, splitters)) {
      FailureOr<ChunkOp> keeping = ChunkOp();
      if (splitter->hasRecompute())
        keeping = cloneKeeping(chunk);
      if (failed(keeping))
        return signalPassFailure();
      splitter->run(recomputing.contains(getPlace(*splitter)));
      if (*keeping)
        ChunkSplitter(*keeping, true, parts->splitsBackward, false).run(false);
    }
  }

private:
  /// The parts of backward that become separate functions.
  struct BackwardParts {
    bool splitsBackward, separatesRecompute;
  };

  /// Returns whether the next chunk, if there is one for the same piece of the
  /// sequence, returns gradients. Chunks before the first one with trained
  /// parameters receive none.
  static bool getsGradients(ArrayRef<ChunkOp> chunks, size_t index) {
    if (index + 1 == chunks.size())
      return true;
    ChunkOp chunk = chunks[index], next = chunks[index + 1];
    return next.getPlacement().getPiece() != chunk.getPlacement().getPiece() ||
           next.getResultTypes().size() - next.getGradients().size() >
               next.getPast();
  }

  /// Returns the parts that the options or, by default, the schedule of `model`
  /// require.
  FailureOr<BackwardParts> getParts(ModelOp model) {
    BackwardParts result{splitBackward == SplitBackward::Always,
                         recomputeTasks == RecomputeTasks::Always};
    TrainingAttr training = model.getTrainingAttr();
    if (!training || (splitBackward != SplitBackward::Auto &&
                      recomputeTasks != RecomputeTasks::Auto))
      return result;
    StringRef name = training.getParallel().getScheduler();
    llvm::Expected<const mf::schedule::Policy *> policy =
        mf::schedule::findPolicy(name);
    if (!policy) {
      model.emitOpError(llvm::toString(policy.takeError()));
      return failure();
    }
    if (splitBackward == SplitBackward::Auto)
      result.splitsBackward = (*policy)->splitsBackward();
    if (recomputeTasks == RecomputeTasks::Auto)
      result.separatesRecompute = (*policy)->separatesRecompute();
    return result;
  }
};

} // namespace
