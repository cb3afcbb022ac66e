//===- OverlapCopies.cpp - Overlaps copies' work and collectives ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"

namespace mf::passes {

#define GEN_PASS_DEF_OVERLAPCOPIES
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;

namespace {

/// An operator of forward or backward of a chunk.
struct OrderedOperator {
  Operation *op = nullptr;
  /// True if it starts a collective, for which its readers wait.
  bool communicates = false;
  /// True if it depends on parameters alone. Any copy may read it.
  bool isConstant = true;
  /// The indices of operators of the same half whose results it reads.
  SmallVector<int64_t> producers;
  /// The position in the new order; -1 if it has none yet.
  int64_t position = -1;
  bool isPending = false;

  bool isDone() const { return position >= 0; }
  void print(raw_ostream &os) const {
    os << "  " << op->getName();
    if (auto compute = dyn_cast<ComputeOpInterface>(op))
      os << " " << compute.getCellName();
    if (communicates)
      os << " communicates";
    os << '\n';
  }
};

/// Orders the operators of forward or backward, such that one copy of the model
/// computes while another one communicates. The next operator is the first one
/// whose operands are available and that does not read a pending collective. If
/// all of them read one, the reader of the collective that began first is
/// chosen; that collective is then complete.
class CopyScheduler {
public:
  explicit CopyScheduler(llvm::iterator_range<Block::iterator> half) {
    DenseMap<Operation *, int64_t> indices;
    for (Operation &op : half) {
      indices[&op] = static_cast<int64_t>(operators.size());
      OrderedOperator entry;
      entry.op = &op;
      if (auto compute = dyn_cast<ComputeOpInterface>(op))
        entry.communicates = compute.getEngine() == mf::Engine::Communication;
      for (Value operand : op.getOperands()) {
        auto producer = indices.find(operand.getDefiningOp());
        const bool isHere =
            operand.getDefiningOp() && producer != indices.end();
        if (isHere)
          entry.producers.push_back(producer->second);
        entry.isConstant &= isHere && operators[producer->second].isConstant;
      }
      operators.push_back(std::move(entry));
    }
  }

  void run() {
    const auto count = static_cast<int64_t>(operators.size());
    while (true) {
      // Operators on parameters stay with the operator that follows them.
      for (; head < count &&
             (operators[head].isDone() || operators[head].isConstant);
           ++head)
        if (!operators[head].isDone())
          schedule(head);
      if (head == count)
        return;
      schedule(choose());
    }
  }

  void print(raw_ostream &os) const {
    for (int64_t index : order)
      operators[index].print(os);
  }
  void apply(Operation *end) const {
    for (int64_t index : order)
      operators[index].op->moveBefore(end);
  }
  int64_t countCollectives() const {
    return llvm::count_if(
        operators, [](const OrderedOperator &op) { return op.communicates; });
  }
  /// Returns the number of operators between a collective and its first reader,
  /// summed over all collectives.
  int64_t getDistance() const { return distance; }

private:
  /// An operator that depends on parameters alone is scheduled together with
  /// its reader.
  bool isReady(int64_t index) const {
    return llvm::all_of(operators[index].producers, [&](int64_t producer) {
      return operators[producer].isDone() || operators[producer].isConstant;
    });
  }

  /// Returns the last pending collective that an operator reads; -1 for none.
  int64_t findAwaited(int64_t index) const {
    int64_t last = -1;
    for (int64_t producer : operators[index].producers)
      if (operators[producer].isPending &&
          (last < 0 || operators[producer].position > operators[last].position))
        last = producer;
    return last;
  }

  int64_t choose() const {
    int64_t best = -1, bestAwaited = -1;
    for (auto index = head; index < static_cast<int64_t>(operators.size());
         ++index) {
      if (operators[index].isDone() || operators[index].isConstant ||
          !isReady(index))
        continue;
      const int64_t awaited = findAwaited(index);
      if (awaited < 0)
        return index;
      if (best < 0 ||
          operators[awaited].position < operators[bestAwaited].position) {
        best = index;
        bestAwaited = awaited;
      }
    }
    return best;
  }

  void schedule(int64_t index) {
    OrderedOperator &op = operators[index];
    for (int64_t producer : op.producers)
      if (!operators[producer].isDone())
        schedule(producer);
    const int64_t awaited = findAwaited(index);
    if (awaited >= 0)
      awaitUpTo(awaited);
    op.position = static_cast<int64_t>(order.size());
    order.push_back(index);
    // A collective on constants is not pending, because all copies read it.
    if (op.communicates && !op.isConstant) {
      op.isPending = true;
      pending.push_back(index);
    }
  }

  /// Marks a collective as complete, with all that started before it.
  void awaitUpTo(int64_t collective) {
    while (operators[collective].isPending) {
      OrderedOperator &first = operators[pending.front()];
      first.isPending = false;
      distance += static_cast<int64_t>(order.size()) - first.position - 1;
      pending.erase(pending.begin());
    }
  }

  std::vector<OrderedOperator> operators;
  std::vector<int64_t> order;
  /// Pending collectives in the order in which they began.
  std::vector<int64_t> pending;
  /// All operators before this index are done.
  int64_t head = 0;
  int64_t distance = 0;
};

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
    CopyScheduler scheduler(range);
    scheduler.run();
    if (printPlan) {
      mf::passes::PrintedPlan text(chunk);
      text.os() << chunk.getSymName() << " " << half << "\n";
      scheduler.print(text.os());
    }
    scheduler.apply(end);
    remark::passed(
        chunk.getLoc(),
        remark::RemarkOpts::name("Overlap").category("overlap").function(
            chunk.getSymName()))
        << remark::add("copies compute while others communicate in {0}", half)
        << remark::metric("collectives", scheduler.countCollectives())
        << remark::metric("operators beside them", scheduler.getDistance());
  }
};

} // namespace
