//===- BuildBackward.cpp - Layers to joint chunks -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/DiscardableAttributes.h"
#include "dialects/mf/MfOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mf::passes {

#define GEN_PASS_DEF_BUILDBACKWARD
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::ir;

namespace {

/// The layers of one stage and chunk.
struct ChunkLayers {
  ir::PlacementAttr placement;
  llvm::SmallVector<ir::LayerOp> layers;
};

} // namespace

/// Returns whether an operator may have no gradient for `operand`: the producer
/// of the operand could not use one.
static bool mayIgnore(Value operand) {
  auto result = dyn_cast<OpResult>(operand);
  auto maker = operand.getDefiningOp<DifferentiableOpInterface>();
  return result && maker && !maker.isDifferentiable(result.getResultNumber());
}

namespace {

/// Builds the backward half of a chunk from its forward half.
class GradientBuilder {
public:
  GradientBuilder(mlir::OpBuilder &builder) : builder(builder) {}

  /// Marks `value` (a hidden input, a trained parameter) as needing a gradient.
  void require(mlir::Value value) { needing.insert(value); }
  /// Makes the gradient of `value`, a statistic, the maximum of several values
  /// instead of their sum.
  void keepLargest(mlir::Value value) { largest.insert(value); }
  bool isRequired(mlir::Value value) const { return needing.contains(value); }

  /// Marks all values that depend on a value that needs a gradient. Integers
  /// and piecewise constant operators do not propagate gradients.
  void propagate(Block &forward) {
    for (Operation &op : forward) {
      if (op.hasTrait<PiecewiseConstant>() ||
          llvm::none_of(op.getOperands(),
                        [&](Value operand) { return isRequired(operand); }))
        continue;
      for (Value result : op.getResults())
        if (isFloatTensor(result.getType()))
          require(result);
    }
  }

  /// Appends the gradients of `operators`, starting with the last one.
  /// `outputGradients` has a gradient for each of `outputs`.
  mlir::LogicalResult run(ArrayRef<Operation *> operators, ValueRange outputs,
                          ValueRange outputGradients) {
    for (auto [output, gradient] : llvm::zip_equal(outputs, outputGradients)) {
      auto compute = output.getDefiningOp<ComputeOpInterface>();
      accumulate(output, gradient,
                 compute ? (compute.getCellName() + ".grad").str() : "");
    }
    for (Operation *op : llvm::reverse(operators))
      if (failed(differentiate(op)))
        return failure();
    return success();
  }

  mlir::Value getGradient(mlir::Value value) const {
    return gradients.lookup(value);
  }

private:
  mlir::LogicalResult differentiate(Operation *op) {
    SmallVector<Value> resultGradients;
    for (Value result : op->getResults())
      resultGradients.push_back(getGradient(result));
    if (llvm::none_of(resultGradients, [](Value v) { return bool(v); }))
      return success();
    SmallVector<bool> needed;
    for (Value operand : op->getOperands())
      needed.push_back(isRequired(operand));
    if (llvm::none_of(needed, [](bool flag) { return flag; }))
      return success();

    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable)
      return op->emitOpError("has no gradient, but a trained parameter or the "
                             "chunk's input depends on it");
    for (auto [index, gradient] : llvm::enumerate(resultGradients))
      if (gradient && !differentiable.isDifferentiable(index))
        return op->emitOpError("has no gradient for result ")
               << index
               << ", but a trained parameter or the chunk's input depends on "
                  "it";

    std::string name;
    if (auto compute = dyn_cast<ComputeOpInterface>(op))
      name = (compute.getCellName() + ".grad").str();
    Block *block = builder.getInsertionBlock();
    Operation *before = block->empty() ? nullptr : &block->back();
    SmallVector<Value> operandGradients(op->getNumOperands());
    differentiable.buildGradient(builder, resultGradients, needed,
                                 operandGradients);
    for (Operation *created = before ? before->getNextNode() : &block->front();
         created; created = created->getNextNode())
      if (auto compute = dyn_cast<ComputeOpInterface>(created))
        compute.setCellName(name);

    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      if (!needed[index])
        continue;
      if (!operandGradients[index] && mayIgnore(operand))
        continue;
      if (!operandGradients[index])
        return op->emitOpError("has no gradient for operand ")
               << index
               << ", which depends on a trained parameter or the chunk's input";
      accumulate(operand, operandGradients[index], name);
    }
    return success();
  }

  void accumulate(Value value, Value gradient, StringRef name) {
    Value &sum = gradients[value];
    if (!sum) {
      sum = gradient;
      return;
    }
    if (largest.contains(value)) {
      auto larger = MaximumOp::create(builder, gradient.getLoc(), sum.getType(),
                                      sum, gradient, nullptr, nullptr, nullptr);
      larger.setName(name);
      sum = larger;
      return;
    }
    auto add = AddOp::create(builder, gradient.getLoc(), sum, gradient);
    add.setName(name);
    sum = add;
  }

  mlir::OpBuilder &builder;
  llvm::DenseSet<mlir::Value> needing, largest;
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
};

} // namespace

/// Builds the joint graph of one chunk.
class ChunkBuilder {
public:
  ChunkBuilder(ir::ModelOp model, mlir::SymbolTable &symbols,
               ChunkLayers &source, int64_t index, int64_t firstTrained)
      : model(model), symbols(symbols), source(source), index(index),
        firstTrained(firstTrained), builder(model.getContext()) {
    ir::TrainingAttr training = model.getTrainingAttr();
    hidden.resize(training ? training.getParallel().getCopies() : 1);
    stepInputs.resize(hidden.size());
  }

  mlir::LogicalResult build() {
    body = std::make_unique<Region>();
    block = &body->emplaceBlock();
    builder.setInsertionPointToEnd(block);
    addPast();
    for (LayerOp layer : source.layers)
      inlineLayer(layer);
    if (failed(checkInputs()) || failed(buildBackward()))
      return failure();
    emitRemark(createChunk());
    return success();
  }

private:
  /// Adds the arguments for values of earlier pieces after all others, ordered
  /// by piece and then by layer.
  void addPast() {
    int64_t piece = source.placement.getPiece();
    if (piece == 0)
      return;
    int64_t ofPiece = 0;
    for (LayerOp layer : source.layers) {
      firstOfLayer[layer] = ofPiece;
      ofPiece += static_cast<int64_t>(layer.getPast()) / piece;
    }
    for (int64_t earlier = 0; earlier < piece; ++earlier)
      for (LayerOp layer : source.layers) {
        int64_t count = static_cast<int64_t>(layer.getPast()) / piece;
        for (Type type : layer.getArgumentTypes()
                             .drop_front(layer.getFirstPast() + earlier * count)
                             .take_front(count))
          past.push_back(block->addArgument(type, layer.getLoc()));
      }
  }

  void inlineLayer(LayerOp layer) {
    IRMapping constants;
    SmallVector<SmallVector<Operation *>> copies;
    for (size_t copy = 0; copy < hidden.size(); ++copy) {
      Operation *before = block->empty() ? nullptr : &block->back();
      inlineCopy(layer, copy, constants);
      SmallVector<Operation *> &operators = copies.emplace_back();
      for (Operation *op = before ? before->getNextNode() : &block->front(); op;
           op = op->getNextNode())
        operators.push_back(op);
    }
    if (copies.size() == 1) {
      llvm::append_range(forward, copies.front());
      return;
    }
    // The gradients of constants are complete after all copies have added to
    // them.
    DenseSet<Value> shared;
    for (auto [from, to] : constants.getValueMap())
      shared.insert(to);
    llvm::copy_if(
        copies.front(), std::back_inserter(forward),
        [&](Operation *op) { return shared.contains(op->getResult(0)); });
    for (ArrayRef<Operation *> operators : llvm::reverse(copies))
      llvm::copy_if(operators, std::back_inserter(forward), [&](Operation *op) {
        return !shared.contains(op->getResult(0));
      });
  }

  /// Inlines a layer for one copy of the model. All copies share `constants`,
  /// the values that are computed from parameters alone.
  void inlineCopy(LayerOp layer, size_t copy, IRMapping &constants) {
    IRMapping mapping(constants);
    Block &layerBody = layer.getBody().front();
    for (BlockArgument argument : layerBody.getArguments())
      mapping.map(argument, getArgument(layer, copy, argument.getArgNumber()));
    for (Operation &op : layerBody.without_terminator()) {
      bool isConstant = llvm::all_of(op.getOperands(), [&](Value operand) {
        return constants.contains(operand);
      });
      if (op.getNumResults() > 0 && constants.contains(op.getResult(0)))
        continue;
      Operation *clone = builder.clone(op, mapping);
      if (isConstant)
        constants.map(op.getResults(), clone->getResults());
      if (auto compute = dyn_cast<ComputeOpInterface>(clone))
        compute.setCellName(
            (layer.getCell() + "." + compute.getCellName()).str());
    }
    hidden[copy].clear();
    ValueRange values = getReturn(layer).getValues();
    const size_t numBefore = losses.size();
    for (Value value : values.drop_back(layer.getFuture()))
      (isLoss(value.getType()) ? losses : hidden[copy])
          .push_back(mapping.lookup(value));
    SmallVector<LossPart> parts = findLossParts(layer);
    parts.resize(losses.size() - numBefore,
                 {builder.getStringAttr(""), builder.getF64FloatAttr(1.0)});
    llvm::append_range(lossParts, parts);
    for (Value value : values.take_back(layer.getFuture()))
      future.push_back(mapping.lookup(value));
  }

  /// Returns the value that argument `argument` of `layer` is mapped to.
  mlir::Value getArgument(LayerOp layer, size_t copy, unsigned argument) {
    unsigned firstPast = layer.getFirstPast();
    unsigned numHidden = std::min<size_t>(hidden[copy].size(), firstPast);
    if (argument < numHidden)
      return hidden[copy][argument];
    if (argument < firstPast || argument >= firstPast + layer.getPast())
      return addInput(layer, copy, argument);
    int64_t piece = source.placement.getPiece();
    int64_t count = static_cast<int64_t>(layer.getPast()) / piece;
    int64_t ofPiece = static_cast<int64_t>(past.size()) / piece;
    int64_t number = argument - firstPast;
    return past[number / count * ofPiece + firstOfLayer.lookup(layer) +
                number % count];
  }

  mlir::Value addInput(LayerOp layer, size_t copy, unsigned argument) {
    Type type = layer.getArgumentTypes()[argument];
    unsigned place = block->getNumArguments() - past.size();
    if (isFloatTensor(type))
      return hiddenInputs.emplace_back(
          block->insertArgument(place, type, layer.getLoc()));
    InputKind kind = getStepInputKind(layer.getKind(), type);
    for (auto [known, value] : stepInputs[copy])
      if (known == kind && value.getType() == type)
        return value;
    inputs.push_back(InputKindAttr::get(model.getContext(), kind));
    inputIndices.push_back(builder.getI64IntegerAttr(place));
    Value input = block->insertArgument(place, type, layer.getLoc());
    stepInputs[copy].emplace_back(kind, input);
    return input;
  }

  /// All layers of a chunk must read the same part of the tokens: a second
  /// input of a kind would belong to another micro-batch.
  mlir::LogicalResult checkInputs() {
    for (ArrayRef<std::pair<InputKind, Value>> ofCopy : stepInputs)
      for (auto [number, input] : llvm::enumerate(ofCopy))
        for (const auto &other : ofCopy.drop_front(number + 1))
          if (other.first == input.first)
            return source.layers.front().emitOpError(
                       "begins a chunk whose layers take ")
                   << stringifyInputKind(input.first) << " as "
                   << input.second.getType() << " and as "
                   << other.second.getType()
                   << "; expected one part of them for all, as "
                      "mf-propagate-layouts decides; run it first";
    return success();
  }

  /// Returns the value to add to the gradient of `param`: converted to its
  /// type, and reduce-scattered over ranks if this is done for each
  /// micro-batch.
  mlir::Value makeSummand(ParamOp param, Value gradient) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(gradient);
    std::string name = (param.getSymName() + ".grad").str();
    auto type = cast<RankedTensorType>(gradient.getType());
    Type element = param.getTensorType().getElementType();
    if (type.getElementType() != element) {
      auto cast =
          CastOp::create(builder, gradient.getLoc(), type.clone(element),
                         gradient, nullptr, nullptr, nullptr);
      cast.setName(name);
      gradient = cast;
    }
    if (gradient.getType() != param.getAccumulatedType())
      gradient = shareOutGradient(builder, param, gradient, name);
    return divideByRanks(param, gradient, name);
  }

  /// Returns the divisor of a summand of the gradient of `param`. It is the
  /// number of ranks that shard the parameter if its sharing requires that, or
  /// the number of ranks over which a mean is taken if the summand is their
  /// sum. Other sums are divided at the end of the step.
  int64_t getDivisor(ParamOp param) {
    if (param.getUpdateRule())
      return 1;
    if (auto sharing = ParameterSharing::find(param);
        sharing && sharing->dividesGradients)
      return getGroupSize(param, builder.getStrArrayAttr(sharing->axes));
    TrainingAttr training = model.getTrainingAttr();
    LayoutAttr layout = param.getLayoutAttr();
    if (!param.getReducedInBackward() || !layout || !training ||
        !training.getParallel().getGradientsMean())
      return 1;
    return getGroupSize(param, layout.getReduced());
  }

  mlir::Value divideByRanks(ParamOp param, Value sum, StringRef name) {
    const int64_t ranks = getDivisor(param);
    if (ranks == 1)
      return sum;
    auto mean = ScaleOp::create(
        builder, sum.getLoc(), sum,
        builder.getF64FloatAttr(1.0 / static_cast<double>(ranks)), nullptr,
        nullptr, nullptr);
    mean.setName(name);
    return mean;
  }

  mlir::LogicalResult buildBackward() {
    GradientBuilder gradients(builder);
    if (firstTrained == 0 || index > firstTrained)
      gradientInputs = hiddenInputs;
    if (index >= firstTrained)
      llvm::append_range(gradientInputs, past);
    for (Value input : gradientInputs)
      gradients.require(input);
    for (GetParamOp read : block->getOps<GetParamOp>()) {
      auto param = symbols.lookup<ParamOp>(read.getParam());
      if (!param)
        return read.emitOpError("expected a parameter, but got '")
               << read.getParam() << "'";
      if (param.getUntrained()) {
        ++numFrozen;
        frozenBytes += getTensorBytes(param.getAccumulatedType());
      }
      if (!param.needsGradient())
        continue;
      gradients.require(read.getResult());
      if (param.keepsLargest())
        gradients.keepLargest(read.getResult());
      trained.push_back({read, param});
    }
    gradients.propagate(*block);

    SmallVector<Value> outputs;
    for (ArrayRef<Value> ofCopy : hidden)
      llvm::append_range(outputs, ofCopy);
    llvm::append_range(outputs, losses);
    if (!future.empty())
      llvm::append_range(outputs, past);
    llvm::append_range(outputs, future);
    Location loc = outputs.front().getLoc();
    auto cut = CutOp::create(builder, loc, outputs);
    if (failed(gradients.run(forward, outputs, cut.getOutputGradients())) ||
        failed(collectGradients(gradients)))
      return failure();
    ReturnOp::create(builder, loc, results);
    dropMarkers();
    return success();
  }

  /// Removes views with several operands whose result is their first operand
  /// unchanged. They only served to give the other operands gradients.
  void dropMarkers() {
    for (Operation &op : llvm::make_early_inc_range(*block)) {
      auto compute = dyn_cast<ComputeOpInterface>(op);
      if (!compute || !compute.isView() || op.getNumOperands() < 2 ||
          op.getResult(0).getType() != op.getOperand(0).getType())
        continue;
      op.getResult(0).replaceAllUsesWith(op.getOperand(0));
      op.erase();
    }
    for (GetParamOp read :
         llvm::make_early_inc_range(block->getOps<GetParamOp>()))
      if (read->use_empty())
        read.erase();
  }

  /// Collects the chunk's results: the gradients of hidden inputs, then those
  /// of parameters.
  mlir::LogicalResult collectGradients(const GradientBuilder &gradients) {
    for (auto [index, input] : llvm::enumerate(gradientInputs)) {
      Value gradient = gradients.getGradient(input);
      if (!gradient)
        return emitError(input.getLoc(),
                         "no result of the chunk depends on its input ")
               << index << ", of type " << input.getType()
               << "; drop it from the results of the layer before";
      results.push_back(gradient);
    }
    for (auto [read, param] : trained) {
      Value gradient = gradients.getGradient(read.getResult());
      if (!gradient)
        return read.emitOpError(
            "reads a trained parameter that the result does not depend on");
      results.push_back(makeSummand(param, gradient));
      gradientNames.push_back(FlatSymbolRefAttr::get(param.getSymNameAttr()));
    }
    return success();
  }

  ir::ChunkOp createChunk() {
    OpBuilder outer(model.getContext());
    outer.setInsertionPointToEnd(&model.getBody().front());
    std::string name = "chunk" + std::to_string(index) +
                       getPieceSuffix(source.placement.getPiece());
    auto type = FunctionType::get(model.getContext(), block->getArgumentTypes(),
                                  ValueRange(results).getTypes());
    auto chunk = ChunkOp::create(
        outer, source.layers.front().getLoc(), name, type, source.placement,
        outer.getArrayAttr(inputs), outer.getArrayAttr(inputIndices),
        outer.getArrayAttr(gradientNames), past.size(), future.size(),
        ArrayAttr(), ArrayAttr());
    setLossParts(chunk, lossParts);
    chunk.getBody().takeBody(*body);
    return chunk;
  }

  void emitRemark(ChunkOp chunk) {
    auto countFrom = [](Operation *op) {
      int64_t count = 0;
      for (; op; op = op->getNextNode())
        count += isa<ComputeOpInterface>(op);
      return count;
    };
    Block &operators = chunk.getBody().front();
    int64_t backward = countFrom(chunk.getCut());
    auto options = remark::RemarkOpts::name("Backward")
                       .category("autodiff")
                       .function(chunk.getSymName());
    if (numFrozen > 0)
      remark::passed(chunk.getLoc(), options)
          << remark::add("weights that are not trained get no gradient")
          << remark::metric("frozen parameters", numFrozen)
          << remark::metric("gradient bytes not made", frozenBytes);
    remark::passed(chunk.getLoc(), options)
        << remark::add("layers {0} to {1} of stage {2} are one graph",
                       source.layers.front().getSymName(),
                       source.layers.back().getSymName(),
                       source.placement.getStage())
        << remark::metric("forward operators",
                          countFrom(&operators.front()) - backward)
        << remark::metric("backward operators", backward)
        << remark::metric("trained parameters", gradientNames.size());
  }

  ir::ModelOp model;
  mlir::SymbolTable &symbols;
  ChunkLayers &source;
  /// The index of the chunk, and that of the first chunk with trained weights,
  /// at which gradients end.
  int64_t index, firstTrained;
  mlir::OpBuilder builder;
  std::unique_ptr<mlir::Region> body;
  mlir::Block *block = nullptr;
  /// For each copy of the model, the values that the last inlined layer passes
  /// to the next one.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> hidden;
  /// Tokens and labels for each copy of the model.
  llvm::SmallVector<llvm::SmallVector<std::pair<ir::InputKind, mlir::Value>, 2>>
      stepInputs;
  /// Operators in such an order that its reverse visits all copies of a layer
  /// one after another, the first copy first.
  llvm::SmallVector<mlir::Operation *> forward;
  llvm::SmallVector<mlir::Value> losses, hiddenInputs;
  /// A part for each of the losses.
  llvm::SmallVector<ir::LossPart> lossParts;
  llvm::SmallVector<mlir::Value> gradientInputs;
  /// The values received from earlier pieces of the sequence, ordered by piece,
  /// and the values that this piece passes on.
  llvm::SmallVector<mlir::Value> past, future;
  /// For each layer of the chunk, the index of its first value among those of a
  /// piece.
  llvm::DenseMap<mlir::Operation *, int64_t> firstOfLayer;
  llvm::SmallVector<mlir::Attribute> inputs, inputIndices, gradientNames;
  llvm::SmallVector<std::pair<ir::GetParamOp, ir::ParamOp>> trained;
  /// The number of reads of weights that are not trained, and the size of the
  /// gradients that these would have.
  int64_t numFrozen = 0, frozenBytes = 0;
  llvm::SmallVector<mlir::Value> results;
};

namespace {

/// Groups layers by placement. A chunk consists of consecutive layers of the
/// model.
FailureOr<SmallVector<ChunkLayers>> groupLayers(ModelOp model) {
  SmallVector<ChunkLayers> chunks;
  DenseSet<Attribute> seen;
  for (LayerOp layer : model.getBody().getOps<LayerOp>()) {
    PlacementAttr placement = layer.getPlacementAttr();
    if (!placement)
      return layer.emitOpError("has no placement; run mf-partition first");
    if (chunks.empty() || chunks.back().placement != placement) {
      if (!seen.insert(placement).second)
        return layer.emitOpError(
            "expected the layers of one chunk to follow each other");
      chunks.push_back({placement, {}});
    }
    chunks.back().layers.push_back(layer);
  }
  return chunks;
}

/// Returns the index of the first chunk that reads a trained weight; 0 if none
/// does. Layers of later pieces of the sequence read the same weights.
int64_t findFirstTrained(ArrayRef<ChunkLayers> chunks,
                         const SymbolTable &symbols) {
  auto readsTrained = [&](LayerOp layer) {
    return llvm::any_of(layer.getBody().getOps<GetParamOp>(),
                        [&](GetParamOp read) {
                          auto param = symbols.lookup<ParamOp>(read.getParam());
                          return param && param.needsGradient();
                        });
  };
  for (auto [index, chunk] : llvm::enumerate(chunks))
    if (chunk.placement.getPiece() == 0 &&
        llvm::any_of(chunk.layers, readsTrained))
      return static_cast<int64_t>(index);
  return 0;
}

struct BuildBackwardPass
    : mf::passes::impl::BuildBackwardBase<BuildBackwardPass> {
  void runOnOperation() override {
    ModelOp model = getOperation();
    FailureOr<SmallVector<ChunkLayers>> chunks = groupLayers(model);
    if (failed(chunks))
      return signalPassFailure();
    SymbolTable symbols(model);
    const int64_t firstTrained = findFirstTrained(*chunks, symbols);
    // All pieces of a chunk have its index.
    int64_t index = 0, piece = 0;
    for (ChunkLayers &chunk : *chunks) {
      if (std::exchange(piece, chunk.placement.getPiece()) !=
          chunk.placement.getPiece())
        index = 0;
      if (failed(ChunkBuilder(model, symbols, chunk, index++, firstTrained)
                     .build()))
        return signalPassFailure();
    }
    for (ChunkLayers &chunk : *chunks)
      for (LayerOp layer : chunk.layers)
        layer.erase();
    for (CellTreeOp tree :
         llvm::make_early_inc_range(model.getBody().getOps<CellTreeOp>()))
      tree.erase();
  }
};

} // namespace
