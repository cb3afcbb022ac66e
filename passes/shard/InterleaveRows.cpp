//===- InterleaveRows.cpp - Runs layers block by block --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ModelLayers.h"
#include "RowBlockPlan.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"

namespace mf::passes {

#define GEN_PASS_DEF_INTERLEAVEROWS
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using namespace mf::passes;

namespace {

/// The properties that an operator which only moves rows takes from the
/// operator that it serves.
struct MovedFor {
  StringRef name;
  std::optional<RecomputeKind> recompute;
  std::optional<int64_t> swap;

  explicit MovedFor(Operation *op) {
    auto compute = dyn_cast_or_null<ComputeOpInterface>(op);
    if (!compute)
      return;
    name = compute.getCellName();
    recompute = compute.getRecomputeMark();
    swap = compute.getSwapMark();
  }
};

/// Provides no tables, because no tensor is cut over ranks yet.
class NoTables : public LocalTables {
public:
  Value getFirstIndex(Operation *user, ArrayRef<StringRef> axes,
                      int64_t partSize) override {
    llvm_unreachable("no dimension is cut");
  }
};

/// Rewrites one layer.
class LayerCutter {
public:
  LayerCutter(const RowBlockPlan &plan, const RowBlockLayer &planned,
              const ModelLayers::Layer &layer)
      : plan(plan), planned(planned), layer(layer), op(layer.op),
        builder(op.getContext()), blocks(layer.values.size()),
        wholes(layer.values.size()) {
    for (auto [number, value] : llvm::enumerate(layer.values))
      numbers[value] = number;
  }

  void run() {
    takeBlocks();
    for (size_t number = 0; number < layer.operators.size(); ++number)
      visit(number);
    giveBlocks();
    for (Operation *original : llvm::reverse(replaced))
      original->erase();
    if (planned.takesBlocks)
      op.getBody().front().eraseArgument(0);
    op.setFunctionType(builder.getFunctionType(
        op.getBody().getArgumentTypes(), getReturn(op)->getOperandTypes()));
    remark::passed(op.getLoc(), remark::RemarkOpts::name("RowBlocks")
                                    .category("shard")
                                    .function(op.getSymName()))
        << remark::add("operators run once per block of rows")
        << remark::metric("blocks", plan.blocks)
        << remark::metric("operators", replaced.size())
        << remark::metric("splits and concatenations", numMoves);
  }

private:
  void takeBlocks() {
    for (auto [number, value] : llvm::enumerate(layer.values))
      wholes[number] = value;
    if (!planned.takesBlocks)
      return;
    Block &body = op.getBody().front();
    for (int64_t block = 0; block < plan.blocks; ++block)
      blocks[0].push_back(
          body.insertArgument(block + 1, getBlockType(0), op.getLoc()));
    wholes[0] = Value();
  }

  void giveBlocks() {
    ReturnOp end = getReturn(op);
    builder.setInsertionPoint(end);
    flush();
    unsigned result = numbers.lookup(end.getValues().front());
    if (planned.givesBlocks)
      end->setOperands(getBlocks(result, end));
    else
      end->setOperands(getWhole(result, end));
  }

  void visit(size_t number) {
    Operation *original = layer.operators[number];
    if (planned.isCut[number]) {
      pending.push_back(original);
      return;
    }
    // Operators that read none of the pending results may precede them.
    if (readsPending(original)) {
      builder.setInsertionPoint(original);
      flush();
    }
    for (OpOperand &operand : original->getOpOperands()) {
      auto known = numbers.find(operand.get());
      if (known != numbers.end() && planned.rows[known->second])
        operand.set(getWhole(known->second, original));
    }
  }

  /// Clones the pending operators block by block.
  void flush() {
    if (pending.empty())
      return;
    for (Operation *original : pending)
      for (Value result : original->getResults())
        wholes[numbers.lookup(result)] = Value();
    // Splits of operands precede all clones.
    for (Operation *original : pending)
      for (Value operand : original->getOperands()) {
        auto number = numbers.find(operand);
        if (number != numbers.end() && planned.rows[number->second] &&
            wholes[number->second])
          (void)getBlocks(number->second, original);
      }
    for (int64_t block = 0; block < plan.blocks; ++block)
      for (Operation *original : pending)
        cloneFor(original, block);
    llvm::append_range(replaced, pending);
    pending.clear();
  }

  void cloneFor(Operation *original, int64_t block) {
    SmallVector<Value> operands;
    for (Value operand : original->getOperands()) {
      auto number = numbers.find(operand);
      bool isRows =
          number != numbers.end() && planned.rows[number->second].has_value();
      operands.push_back(isRows ? getBlocks(number->second, original)[block]
                                : operand);
    }
    Operation *clone = builder.clone(*original);
    clone->setOperands(operands);
    for (auto [result, made] :
         llvm::zip_equal(original->getResults(), clone->getResults())) {
      unsigned number = numbers.lookup(result);
      made.setType(getBlockType(number));
      blocks[number].push_back(made);
    }
    if (auto shardable = dyn_cast<ShardingRuleOpInterface>(clone)) {
      auto getLayouts = [](ValueRange values) {
        std::vector<Layout> layouts;
        for (Value value : values)
          layouts.emplace_back(
              cast<RankedTensorType>(value.getType()).getRank());
        return layouts;
      };
      NoTables tables;
      shardable.localize(getLayouts(clone->getOperands()),
                         getLayouts(clone->getResults()), tables);
    }
  }

  bool readsPending(Operation *reader) const {
    return llvm::any_of(reader->getOperands(), [&](Value operand) {
      return llvm::is_contained(pending, operand.getDefiningOp());
    });
  }

  RankedTensorType getBlockType(unsigned value) {
    auto type = cast<RankedTensorType>(layer.values[value].getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[planned.rows[value]->dim] /= plan.blocks;
    return type.clone(shape);
  }

  ArrayRef<Value> getBlocks(unsigned value, Operation *reader) {
    SmallVector<Value> &parts = blocks[value];
    if (!parts.empty())
      return parts;
    MovedFor cause = getCause(value, reader);
    RankedTensorType type = getBlockType(value);
    auto whole = cast<RankedTensorType>(wholes[value].getType());
    SmallVector<int64_t> from = getRuns(value, whole.getShape());
    SmallVector<int64_t> to = getRuns(value, type.getShape());
    auto axis = static_cast<int64_t>(planned.rows[value]->dim +
                                     (from.size() - whole.getRank()));
    Value input = reshape(wholes[value], from, cause);
    SmallVector<Type> types(plan.blocks, type.clone(to));
    ++numMoves;
    auto split = mark(SplitOp::create(builder, op.getLoc(), types, input,
                                      static_cast<uint64_t>(axis), nullptr,
                                      nullptr, nullptr),
                      cause);
    for (Value part : split.getParts())
      parts.push_back(reshape(part, type.getShape(), cause));
    return parts;
  }

  Value getWhole(unsigned value, Operation *reader) {
    Value &whole = wholes[value];
    if (whole)
      return whole;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(reader);
    MovedFor cause = getCause(value, reader);
    auto type = cast<RankedTensorType>(layer.values[value].getType());
    SmallVector<int64_t> from = getRuns(value, getBlockType(value).getShape());
    auto axis = static_cast<int64_t>(planned.rows[value]->dim +
                                     (from.size() - type.getRank()));
    SmallVector<Value> parts;
    for (Value block : blocks[value])
      parts.push_back(reshape(block, from, cause));
    ++numMoves;
    Value concat =
        mark(ConcatOp::create(builder, op.getLoc(), parts, axis), cause);
    whole = reshape(concat, type.getShape(), cause);
    return whole;
  }

  Value reshape(Value value, ArrayRef<int64_t> shape, const MovedFor &cause) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getShape() == shape)
      return value;
    return mark(ReshapeOp::create(builder, op.getLoc(), type.clone(shape),
                                  value, nullptr, nullptr, nullptr),
                cause);
  }

  template <typename OpT> OpT mark(OpT made, const MovedFor &cause) {
    auto compute = cast<ComputeOpInterface>(made.getOperation());
    if (!cause.name.empty())
      compute.setCellName(cause.name);
    compute.setRecomputeMark(cause.recompute);
    compute.setSwapMark(cause.swap);
    return made;
  }

  MovedFor getCause(unsigned value, Operation *reader) {
    if (Operation *maker = layer.values[value].getDefiningOp())
      return MovedFor(maker);
    MovedFor cause(reader);
    cause.recompute.reset();
    cause.swap.reset();
    return cause;
  }

  /// Returns a shape in which the dimension of rows is split into two, the
  /// outer of which counts the runs.
  SmallVector<int64_t> getRuns(unsigned value, ArrayRef<int64_t> shape) {
    const RowPlace &place = *planned.rows[value];
    int64_t runs = place.outer * plan.runs;
    SmallVector<int64_t> split(shape);
    if (runs == 1)
      return split;
    split[place.dim] /= runs;
    split.insert(split.begin() + place.dim, runs);
    return split;
  }

  const RowBlockPlan &plan;
  const RowBlockLayer &planned;
  const ModelLayers::Layer &layer;
  LayerOp op;
  OpBuilder builder;
  llvm::DenseMap<Value, unsigned> numbers;
  /// The blocks and the whole of each value, as far as they have been built.
  std::vector<SmallVector<Value>> blocks;
  std::vector<Value> wholes;
  SmallVector<Operation *> pending;
  SmallVector<Operation *> replaced;
  size_t numMoves = 0;
};

struct InterleaveRowsPass
    : mf::passes::PrintingPass<
          mf::passes::impl::InterleaveRowsBase<InterleaveRowsPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    TrainingAttr training = model.getTrainingAttr();
    int64_t blocks = training ? training.getParallel().getRowBlocks() : 1;
    if (blocks == 1)
      return;
    ModelLayers known;
    if (failed(known.read(model)))
      return signalPassFailure();
    std::string error;
    std::optional<RowBlockPlan> plan =
        planRowBlocks(known.model, blocks, error);
    if (!plan) {
      report(model, training, blocks) << error;
      return signalPassFailure();
    }
    if (printPlan)
      plan->print(known.model, mf::passes::PrintedPlan(model).os());
    for (auto [layer, planned] : llvm::zip_equal(known.layers, plan->layers))
      if (!planned.rows.empty())
        LayerCutter(*plan, planned, layer).run();
  }

  static InFlightDiagnostic report(ModelOp model, TrainingAttr training,
                                   int64_t blocks) {
    LocationAttr place = training.getLocation(mf::keys::rowBlocks.getName());
    return emitError(place ? Location(place) : model.getLoc())
           << "'" << model.getSymName() << "' cannot run in " << blocks
           << " blocks of rows (" << mf::keys::rowBlocks.getName() << "): ";
  }
};

} // namespace
