//===- SplitSequence.cpp - Splits layers into pieces of the sequence ------===//
// SPDX-License-Identifier: Apache-2.0

#include "PiecePlan.h"
#include "dialects/mf/DiscardableAttributes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"

namespace mf::passes {

#define GEN_PASS_DEF_SPLITSEQUENCE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using namespace mf::passes;

static std::string getName(Operation *op) {
  if (auto compute = dyn_cast<ComputeOpInterface>(op))
    if (!compute.getCellName().empty())
      return compute.getCellName().str();
  return op->getName().getStringRef().str();
}

namespace {

/// One layer, and the values and operators that its plan's indices refer to.
struct SplitLayer {
  LayerOp op;
  SmallVector<Value> values;
  SmallVector<Operation *> operators;
  DenseMap<Value, unsigned> numbers;
  PieceLayer layer;
  PiecePlan plan;

  /// `hidden` has the cuts of the values from the previous layer.
  SplitLayer(LayerOp op, int64_t sequence,
             ArrayRef<std::optional<PieceCut>> hidden)
      : op(op) {
    for (BlockArgument argument : op.getArguments()) {
      auto type = cast<RankedTensorType>(argument.getType());
      std::optional<PieceCut> cut;
      if (argument.getArgNumber() < hidden.size())
        cut = hidden[argument.getArgNumber()];
      // Tokens and labels are [batch, sequence].
      else if (type.getRank() >= 2 && type.getDimSize(1) == sequence)
        cut = PieceCut{1, 1};
      addValue(argument, cut);
      layer.values.back().isData = !isFloatTensor(type);
    }
    for (Operation &inner : op.getBody().front().without_terminator()) {
      operators.push_back(&inner);
      PieceOperator &added = layer.operators.emplace_back();
      added.name = ::getName(&inner);
      for (Value operand : inner.getOperands())
        added.operands.push_back(numbers.lookup(operand));
      for (Value result : inner.getResults()) {
        addValue(result, std::nullopt);
        added.results.push_back(numbers.lookup(result));
      }
    }
  }

  LogicalResult makePlan(int64_t pieces) {
    for (auto [op, known] : llvm::zip_equal(operators, layer.operators)) {
      FailureOr<ShardingRule> rule = getShardingRule(op);
      if (failed(rule))
        return failure();
      known.rule = std::move(*rule);
    }
    PieceError error;
    std::optional<PiecePlan> made = planPieces(layer, pieces, error);
    if (!made)
      return operators[error.op]->emitOpError("cannot run in ")
             << pieces
             << " pieces of the sequence (seq_split_num): " << error.message
             << "; expected flash attention (use_flash_attention: True) and "
                "operators that work on each token alone";
    plan = std::move(*made);
    for (Value result : getReturn(op).getValues())
      if (isLoss(result.getType()) &&
          !plan.values[numbers.lookup(result)].isSummand)
        return op.emitOpError("cannot run in ")
               << pieces
               << " pieces of the sequence (seq_split_num): it has a loss that "
                  "is no sum over tokens";
    return success();
  }

  SmallVector<std::optional<PieceCut>> getHiddenCuts() {
    SmallVector<std::optional<PieceCut>> cuts;
    for (Value result : getReturn(op).getValues())
      if (!isLoss(result.getType()))
        cuts.push_back(plan.values[numbers.lookup(result)].cut);
    return cuts;
  }

private:
  void addValue(Value value, std::optional<PieceCut> cut) {
    numbers[value] = values.size();
    values.push_back(value);
    PieceValue &added = layer.values.emplace_back();
    llvm::append_range(added.shape,
                       cast<RankedTensorType>(value.getType()).getShape());
    added.cut = cut;
  }
};

} // namespace

static void setName(Operation *op, StringRef name) {
  cast<ComputeOpInterface>(op).setCellName(name);
}

/// Builds the layer of one piece.
class PieceBuilder : public WholeOperands {
public:
  PieceBuilder(const SplitLayer &source, OpBuilder &builder, int64_t piece,
               int64_t pieces)
      : source(source), builder(builder), piece(piece), pieces(pieces) {}

  void build() {
    OpBuilder::InsertionGuard guard(builder);
    createLayer();
    for (unsigned number = 0; number < source.operators.size(); ++number) {
      cloneOperator(number);
      if (auto read = dyn_cast<GetParamOp>(source.operators[number]))
        wholes.map(read.getResult(), values.lookup(read.getResult()));
    }
    SmallVector<Value> results;
    LayerOp whole = source.op;
    for (Value result : getReturn(whole).getValues())
      results.push_back(values.lookup(result));
    if (!isLast())
      for (unsigned kept : source.plan.kept)
        results.push_back(values.lookup(source.values[kept]));
    ReturnOp::create(builder, layer.getLoc(), results);
    layer.setFunctionType(builder.getFunctionType(
        layer.getBody().getArgumentTypes(), ValueRange(results).getTypes()));
    setLossParts(layer, findLossParts(whole));
  }

  Value getWhole(unsigned number) override {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(builder.getInsertionBlock(),
                              std::prev(builder.getInsertionPoint()));
    return makeWhole(now->getOperand(number));
  }

  int64_t getPiece() const override { return piece; }

private:
  void createLayer() {
    LayerOp whole = source.op;
    unsigned firstPast = whole.getFirstPast() + whole.getPast();
    SmallVector<Type> arguments;
    for (unsigned number = 0; number < firstPast; ++number)
      arguments.push_back(getType(number));
    for (int64_t earlier = 0; earlier < piece; ++earlier)
      for (unsigned kept : source.plan.kept)
        arguments.push_back(getType(kept));
    llvm::append_range(arguments,
                       whole.getArgumentTypes().drop_front(firstPast));
    PlacementAttr at = whole.getPlacementAttr();
    auto numKept = static_cast<int64_t>(source.plan.kept.size());
    layer = LayerOp::create(
        builder, whole.getLoc(),
        (whole.getSymName() + getPieceSuffix(piece)).str(),
        builder.getFunctionType(arguments, {}), whole.getKind(),
        PlacementAttr::get(builder.getContext(), at.getStage(), at.getChunk(),
                           piece, /*keeps=*/false),
        whole.getSettingsAttr(), whole.getCellTreeAttr(), whole.getJoinsNext(),
        piece * numKept, isLast() ? 0 : numKept, ArrayAttr(), ArrayAttr());
    Block &body = layer.getBody().emplaceBlock();
    for (Type type : arguments)
      body.addArgument(type, whole.getLoc());
    builder.setInsertionPointToEnd(&body);

    unsigned next = 0;
    for (; next < firstPast; ++next)
      values.map(source.values[next], body.getArgument(next));
    for (int64_t earlier = 0; earlier < piece; ++earlier)
      for (unsigned kept : source.plan.kept)
        past[kept].push_back(body.getArgument(next++));
    for (unsigned number = firstPast; number < whole.getNumArguments();
         ++number, ++next) {
      Value input = body.getArgument(next);
      wholes.map(source.values[number], input);
      const std::optional<PieceCut> &cut = source.plan.values[number].cut;
      values.map(source.values[number],
                 cut ? getPart(input, *cut, "sequence_piece") : input);
    }
  }

  void cloneOperator(unsigned number) {
    now = source.operators[number];
    if (source.plan.isWhole[number]) {
      for (unsigned result : source.layer.operators[number].results)
        makePart(result);
      return;
    }
    SmallVector<Value> operands;
    for (size_t operand = 0; operand < now->getNumOperands(); ++operand)
      operands.push_back(read(number, operand));
    Operation *clone = builder.clone(*now, values);
    clone->setOperands(operands);
    for (auto [result, value] : llvm::zip_equal(
             clone->getResults(), source.layer.operators[number].results))
      result.setType(getType(value));
    bool isCut = llvm::any_of(clone->getOperands(), [&](Value operand) {
      return !llvm::is_contained(now->getOperandTypes(), operand.getType());
    });
    if (!isCut)
      return;
    if (auto shardable = dyn_cast<ShardingRuleOpInterface>(clone))
      shardable.takePiece(*this);
  }

  Value read(unsigned number, size_t operand) {
    const PieceOperator &op = source.layer.operators[number];
    unsigned value = op.operands[operand];
    switch (source.plan.reads[number][operand]) {
    case PieceRead::Own:
      break;
    case PieceRead::Part:
      return getPart(values.lookup(source.values[value]),
                     source.plan.cuts[number][operand], op.name);
    case PieceRead::Prefix:
      return getPrefix(value, op.name);
    }
    return values.lookup(source.values[value]);
  }

  /// Returns this piece's part of a whole value.
  Value getPart(Value value, const PieceCut &cut, StringRef name) {
    Value &part = parts[value];
    if (part)
      return part;
    SmallVector<int64_t> sizes(
        cast<RankedTensorType>(value.getType()).getShape());
    SmallVector<int64_t> starts(sizes.size(), 0);
    sizes[cut.dim] /= pieces;
    starts[cut.dim] = piece * sizes[cut.dim];
    auto slice = SliceOp::create(builder, value.getLoc(), value, starts, sizes);
    setName(slice, name);
    return part = slice;
  }

  /// Returns the values of all pieces so far, concatenated. Backward recomputes
  /// them from values that are kept anyway.
  Value getPrefix(unsigned number, StringRef name) {
    Value own = values.lookup(source.values[number]);
    SmallVector<Value> all = past.lookup(number);
    if (all.empty())
      return own;
    Value &prefix = prefixes[number];
    if (prefix)
      return prefix;
    all.push_back(own);
    int64_t axis = source.plan.values[number].cut->dim;
    auto concat = ConcatOp::create(builder, own.getLoc(), all, axis);
    setName(concat, name);
    cast<ComputeOpInterface>(concat.getOperation())
        .setRecomputeMark(RecomputeKind::Preset);
    return prefix = concat;
  }

  /// Clones the value if it is computed from step inputs and tables alone.
  Value makeWhole(Value original) {
    if (Value known = wholes.lookupOrNull(original))
      return known;
    Operation *producer = original.getDefiningOp();
    if (!producer)
      return {};
    for (Value operand : producer->getOperands())
      if (!makeWhole(operand))
        return {};
    builder.clone(*producer, wholes);
    return wholes.lookup(original);
  }

  /// Maps a value that is computed for the whole sequence, or this piece's part
  /// of it.
  void makePart(unsigned number) {
    Value original = source.values[number], whole = makeWhole(original);
    const std::optional<PieceCut> &cut = source.plan.values[number].cut;
    values.map(original, cut ? getPart(whole, *cut, ::getName(now)) : whole);
  }

  RankedTensorType getType(unsigned number) {
    auto type = cast<RankedTensorType>(source.values[number].getType());
    SmallVector<int64_t> shape(type.getShape());
    if (const std::optional<PieceCut> &cut = source.plan.values[number].cut)
      shape[cut->dim] /= pieces;
    return type.clone(shape);
  }

  bool isLast() const { return piece + 1 == pieces; }

  const SplitLayer &source;
  OpBuilder &builder;
  int64_t piece, pieces;
  LayerOp layer;
  /// The operator that is being built now, of which operands for the whole
  /// sequence can be requested.
  Operation *now = nullptr;
  /// Map values of the whole layer to those of the piece and, where the piece
  /// has them, to those of the whole sequence.
  IRMapping values, wholes;
  /// For each kept value, the values of earlier pieces.
  DenseMap<unsigned, SmallVector<Value>> past;
  DenseMap<unsigned, Value> prefixes;
  DenseMap<Value, Value> parts;
};

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

static void emitRemark(const SplitLayer &source, int64_t pieces) {
  int64_t bytes = 0;
  for (unsigned kept : source.plan.kept)
    bytes += getTensorBytes(source.values[kept].getType());
  LayerOp op = source.op;
  remark::passed(op.getLoc(), remark::RemarkOpts::name("SplitSequence")
                                  .category("sequence")
                                  .function(op.getSymName()))
      << remark::add("runs in pieces of the sequence")
      << remark::metric("pieces", pieces)
      << remark::metric("values kept for later pieces", source.plan.kept.size())
      << remark::metric("bytes of all pieces", bytes);
}

namespace {

struct SplitSequencePass
    : mf::passes::PrintingPass<
          mf::passes::impl::SplitSequenceBase<SplitSequencePass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    TrainingAttr training = model.getTrainingAttr();
    int64_t pieces = training ? training.getParallel().getSequencePieces() : 1;
    if (pieces == 1)
      return;
    std::vector<SplitLayer> layers;
    SmallVector<std::optional<PieceCut>> hidden;
    for (auto layer : model.getBody().getOps<LayerOp>()) {
      if (!layer.getPlacementAttr()) {
        layer.emitOpError("has no placement; run mf-partition first");
        return signalPassFailure();
      }
      layers.emplace_back(
          layer, static_cast<int64_t>(model.getSequenceLength()), hidden);
      if (failed(layers.back().makePlan(pieces)))
        return signalPassFailure();
      hidden = layers.back().getHiddenCuts();
      if (printPlan) {
        mf::passes::PrintedPlan text(layer);
        text.os() << layer.getSymName() << "\n";
        layers.back().plan.print(layers.back().layer, text.os());
      }
    }
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(&model.getBody().front());
    for (int64_t piece = 0; piece < pieces; ++piece)
      for (const SplitLayer &layer : layers)
        PieceBuilder(layer, builder, piece, pieces).build();
    for (SplitLayer &layer : layers) {
      emitRemark(layer, pieces);
      layer.op.erase();
    }
  }
};

} // namespace
