//===- InsertSwap.cpp - Offload in forward, prefetch in backward ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/split/BackwardHalves.h"

namespace mf::passes {

#define GEN_PASS_DEF_INSERTSWAP
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;

namespace {

/// Whether a marked value is swapped, and why not.
enum class SwapDecision {
  /// The value is copied out in forward and copied back in backward.
  Swap,
  /// Backward does not read the value, so it is released after forward anyway.
  NotRead,
  /// The value depends on parameters alone, which stay on the device through
  /// the whole step.
  Parameters,
  /// MindSpore Transformers' second coupling rule: an operator whose output is
  /// read by a recomputed operator is not swapped.
  ReadByRecompute
};

/// A value computed by forward that is marked for swap.
struct SwapCandidate {
  Value value;
  /// The name of the operator that computes it.
  std::string name;
  int64_t bytes = 0;
  /// The number of kernels between the start of the copy back and its first
  /// reader.
  int64_t distance = 1;
  bool isReadByBackward = false;
  /// True if the value is computed from parameters alone.
  bool isMadeOfParameters = false;
  /// True if an operator that backward runs again reads it.
  bool isReadByRecompute = false;

  SwapDecision decide() const {
    if (isMadeOfParameters)
      return SwapDecision::Parameters;
    if (!isReadByBackward)
      return SwapDecision::NotRead;
    return isReadByRecompute ? SwapDecision::ReadByRecompute
                             : SwapDecision::Swap;
  }
};

} // namespace

/// Returns the reason for a decision, as remarks state it.
static StringRef getReason(SwapDecision decision) {
  static constexpr StringLiteral reasons[] = {
      "leaves the device between forward and backward",
      "not swapped: backward does not read it",
      "not swapped: it is made of parameters alone",
      "not swapped: an operator that is recomputed reads it"};
  return reasons[static_cast<size_t>(decision)];
}

namespace {

/// Finds marked operators in one chunk, and inserts the copies.
class ChunkSwapper {
public:
  explicit ChunkSwapper(ChunkOp chunk)
      : chunk(chunk), cut(chunk.getCut()), builder(chunk.getContext()) {}

  /// Fills `candidates` with the marked values, in the order of forward.
  void collect() {
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

  /// Prints the decision for each candidate, if there are any.
  void print() {
    if (candidates.empty())
      return;
    int64_t swapped = 0, swappedBytes = 0, keptBytes = 0;
    for (const SwapCandidate &candidate : candidates)
      if (candidate.decide() == SwapDecision::Swap) {
        ++swapped;
        swappedBytes += candidate.bytes;
      } else if (candidate.decide() == SwapDecision::ReadByRecompute) {
        keptBytes += candidate.bytes;
      }
    mf::passes::PrintedPlan plan(chunk);
    plan.os() << "swap plan: " << swapped << " of " << candidates.size()
              << " values swapped, " << swappedBytes << " bytes; " << keptBytes
              << " bytes kept\n";
    for (const SwapCandidate &candidate : candidates)
      plan.os() << "  " << candidate.name << ", " << candidate.bytes
                << " bytes, distance " << candidate.distance << ": "
                << getReason(candidate.decide()) << "\n";
  }

  void emitRemarks() {
    for (const SwapCandidate &candidate : candidates) {
      auto options = remark::RemarkOpts::name("Swap").category("swap").function(
          chunk.getSymName());
      const SwapDecision decision = candidate.decide();
      auto describe = [&](auto &&remark) {
        remark << remark::add("{0} {1}", candidate.name, getReason(decision))
               << remark::metric("bytes", candidate.bytes)
               << remark::metric("distance", candidate.distance);
      };
      if (decision == SwapDecision::Swap)
        describe(remark::passed(candidate.value.getLoc(), options));
      else
        describe(remark::missed(candidate.value.getLoc(), options));
    }
  }

  void insert() {
    for (const SwapCandidate &candidate : candidates) {
      if (candidate.decide() != SwapDecision::Swap)
        continue;
      Value value = candidate.value;
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

private:
  bool isForward(Operation *op) const { return forwardOps.contains(op); }

  void addCandidate(Value value, int64_t distance) {
    auto isOfValue = [&](const SwapCandidate &other) {
      return other.value == value;
    };
    if (llvm::any_of(candidates, isOfValue) || !value.getDefiningOp())
      return;
    SwapCandidate candidate;
    candidate.value = value;
    Operation *producer = value.getDefiningOp();
    if (auto compute = dyn_cast<ComputeOpInterface>(producer))
      candidate.name = compute.getCellName().str();
    candidate.bytes = getTensorBytes(value.getType());
    candidate.distance = distance;
    candidate.isMadeOfParameters = freeValues.isFree(producer);
    findReaders(value, candidate);
    candidates.push_back(std::move(candidate));
  }

  /// Examines the users of `value` and of its views.
  void findReaders(Value value, SwapCandidate &candidate) {
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

  /// Returns the value that backward reads for `value`: the prefetched copy, or
  /// a view of it.
  Value getInBackward(Value value) {
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

  ChunkOp chunk;
  CutOp cut;
  OpBuilder builder;
  mf::passes::FreeValues freeValues;
  DenseSet<Operation *> forwardOps;
  std::vector<SwapCandidate> candidates;
  /// The copies of swapped values in host memory, with their distances.
  DenseMap<Value, OffloadOp> offloads;
  /// Maps swapped values, and views of them, to those in backward.
  IRMapping inBackward;
};

struct InsertSwapPass : mf::passes::PrintingPass<
                            mf::passes::impl::InsertSwapBase<InsertSwapPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ChunkSwapper swapper(getOperation());
    swapper.collect();
    if (printPlan)
      swapper.print();
    swapper.emitRemarks();
    swapper.insert();
  }
};

} // namespace
