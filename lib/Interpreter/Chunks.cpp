//===- Chunks.cpp - Parts of a model that run one after another -----------===//

#include "Chunks.h"
#include "Functions.h"

using namespace mlir;

namespace mf::interpreter {

/// The arguments of a chunk's function: step inputs, and the hidden one.
static FailureOr<SmallVector<Tensor>>
getArguments(Rank &rank, FunctionOpInterface function, ArrayAttr inputs,
             ArrayAttr indices, int64_t microBatch, const Tensor &hidden) {
  SmallVector<Tensor> arguments(function.getNumArguments(), hidden);
  for (auto [kind, index] :
       llvm::zip_equal(inputs.getAsRange<ir::InputKindAttr>(),
                       indices.getAsRange<IntegerAttr>())) {
    FailureOr<Tensor> input =
        rank.getInput(function, kind.getValue(), microBatch,
                      function.getArgumentTypes()[index.getInt()]);
    if (failed(input))
      return failure();
    arguments[index.getInt()] = *input;
  }
  return arguments;
}

namespace {

//===----------------------------------------------------------------------===//
// A layer
//===----------------------------------------------------------------------===//

class LayerChunk : public Chunk {
public:
  explicit LayerChunk(ir::LayerOp layer)
      : Chunk(layer.getPlacementAttr()), layer(layer) {}

  FunctionOpInterface getFunction() override { return layer; }
  Type getOutputType() override { return layer.getResultTypes().front(); }
  FailureOr<Tensor> runForward(Rank &rank, int64_t microBatch,
                               const Tensor &hidden) override;

private:
  ir::LayerOp layer;
};

/// The embedding takes the tokens, the head the labels too; all but the first
/// layer take the hidden state first.
FailureOr<Tensor> LayerChunk::runForward(Rank &rank, int64_t microBatch,
                                         const Tensor &hidden) {
  SmallVector<Tensor> arguments, results;
  for (Type type : layer.getArgumentTypes()) {
    if (arguments.empty() && hidden) {
      arguments.push_back(hidden);
      continue;
    }
    if (isa<FloatType>(getElementTypeOrSelf(type)))
      return layer.emitOpError(
          "cannot be run: it takes the result of a layer before it, but there "
          "is none");
    FailureOr<Tensor> input = rank.getInput(
        layer,
        layer.getKind() == ir::LayerKind::Embedding ? ir::InputKind::Tokens
                                                    : ir::InputKind::Labels,
        microBatch, type);
    if (failed(input))
      return failure();
    arguments.push_back(*input);
  }
  if (failed(runFunction(rank, layer, arguments, &results)))
    return failure();
  return results.front();
}

//===----------------------------------------------------------------------===//
// A joint graph
//===----------------------------------------------------------------------===//

/// Forward are the operators before the cut, backward those behind it.
class JointChunk : public Chunk {
public:
  explicit JointChunk(ir::ChunkOp chunk)
      : Chunk(chunk.getPlacement()), chunk(chunk),
        cut(chunk.getCut()) {}

  FunctionOpInterface getFunction() override { return chunk; }
  Type getOutputType() override { return cut.getOutputs().front().getType(); }
  ArrayAttr getGradients() override { return chunk.getGradients(); }
  FailureOr<Tensor> runForward(Rank &rank, int64_t microBatch,
                               const Tensor &hidden) override;
  FailureOr<Tensor> runBackward(Rank &rank, int64_t microBatch,
                                const Tensor &outputGradient) override;

private:
  ir::ChunkOp chunk;
  ir::CutOp cut;
  /// Of the micro-batch that runs.
  Environment values;
};

FailureOr<Tensor> JointChunk::runForward(Rank &rank, int64_t microBatch,
                                         const Tensor &hidden) {
  values.clear();
  FailureOr<SmallVector<Tensor>> arguments =
      getArguments(rank, chunk, chunk.getInputs(), chunk.getInputIndices(),
                   microBatch, hidden);
  if (failed(arguments) || failed(bindArguments(chunk, *arguments, values)))
    return failure();
  Block &body = chunk.getBody().front();
  for (Operation &op : llvm::make_range(body.begin(), cut->getIterator()))
    if (failed(runOperator(rank, &op, values)))
      return failure();
  return values.lookup(cut.getOutputs().front());
}

FailureOr<Tensor> JointChunk::runBackward(Rank &rank, int64_t microBatch,
                                          const Tensor &outputGradient) {
  values[cut.getOutputGradients().front()] = outputGradient;
  ir::ReturnOp terminator = ir::getReturn(chunk);
  for (Operation &op : llvm::make_range(std::next(cut->getIterator()),
                                        terminator->getIterator()))
    if (failed(runOperator(rank, &op, values)))
      return failure();
  SmallVector<Tensor> results;
  for (Value value : terminator.getValues())
    results.push_back(values.lookup(value));
  return addGradients(rank, chunk, chunk.getGradients(), results);
}

//===----------------------------------------------------------------------===//
// Forward and backward functions
//===----------------------------------------------------------------------===//

class FunctionChunk : public Chunk {
public:
  FunctionChunk(ir::ForwardOp forward, ir::BackwardOp backward)
      : Chunk(forward.getPlacement()), forward(forward), backward(backward) {}

  FunctionOpInterface getFunction() override { return forward; }
  Type getOutputType() override { return forward.getResultTypes().front(); }
  ArrayAttr getGradients() override {
    return backward ? backward.getGradients() : ArrayAttr();
  }
  FailureOr<Tensor> runForward(Rank &rank, int64_t microBatch,
                               const Tensor &hidden) override;
  FailureOr<Tensor> runBackward(Rank &rank, int64_t microBatch,
                                const Tensor &outputGradient) override;

private:
  ir::ForwardOp forward;
  ir::BackwardOp backward;
  /// Of the micro-batch that runs.
  SmallVector<Tensor> arguments, results;
};

FailureOr<Tensor> FunctionChunk::runForward(Rank &rank, int64_t microBatch,
                                            const Tensor &hidden) {
  FailureOr<SmallVector<Tensor>> inputs =
      getArguments(rank, forward, forward.getInputs(),
                   forward.getInputIndices(), microBatch, hidden);
  if (failed(inputs))
    return failure();
  arguments = std::move(*inputs);
  results.clear();
  if (failed(runFunction(rank, forward, arguments, &results)))
    return failure();
  return results.front();
}

FailureOr<Tensor> FunctionChunk::runBackward(Rank &rank, int64_t microBatch,
                                             const Tensor &outputGradient) {
  SmallVector<Tensor> inputs;
  for (auto index : backward.getForwardArguments().getAsRange<IntegerAttr>()) {
    if (index.getInt() >= static_cast<int64_t>(arguments.size()))
      return backward.emitOpError("cannot be run: reads argument ")
             << index.getInt() << " of its forward function, which has "
             << arguments.size();
    inputs.push_back(arguments[index.getInt()]);
  }
  return runBackwardFunction(rank, backward, outputGradient, inputs,
                             ArrayRef(results).drop_front());
}

} // namespace

//===----------------------------------------------------------------------===//
// The chain
//===----------------------------------------------------------------------===//

static ir::BackwardOp findBackward(ir::ModelOp model, ir::ForwardOp forward) {
  for (auto backward : model.getBody().getOps<ir::BackwardOp>())
    if (backward.getPlacement() == forward.getPlacement())
      return backward;
  return {};
}

/// Chunks run as they stand, whatever their stages. The layers of one chunk are
/// neighbours; of functions there is one for each chunk.
static LogicalResult
checkPlaces(llvm::ArrayRef<std::unique_ptr<Chunk>> chunks) {
  llvm::DenseMap<Attribute, size_t> last;
  for (const auto &[i, chunk] : llvm::enumerate(chunks)) {
    auto [place, isNew] = last.try_emplace(chunk->getPlacement(), i);
    FunctionOpInterface function = chunk->getFunction();
    bool mayFollow = isa<ir::LayerOp>(function) && place->second + 1 == i;
    if (!isNew && !mayFollow) {
      InFlightDiagnostic error = function->emitOpError(
          isa<ir::LayerOp>(function)
              ? "is placed with layers that it does not follow"
              : "has the placement of another chunk");
      error.attachNote(chunks[place->second]->getFunction()->getLoc())
          << "which is here";
      return error;
    }
    place->second = i;
  }
  return success();
}

FailureOr<std::vector<std::unique_ptr<Chunk>>>
collectChunks(ir::ModelOp model) {
  std::vector<std::unique_ptr<Chunk>> chunks;
  for (Operation &op : model.getBody().front()) {
    if (auto layer = dyn_cast<ir::LayerOp>(op))
      chunks.push_back(std::make_unique<LayerChunk>(layer));
    else if (auto chunk = dyn_cast<ir::ChunkOp>(op))
      chunks.push_back(std::make_unique<JointChunk>(chunk));
    else if (auto forward = dyn_cast<ir::ForwardOp>(op))
      chunks.push_back(std::make_unique<FunctionChunk>(
          forward, findBackward(model, forward)));
  }
  if (chunks.empty())
    return model.emitOpError("has no layers to run");
  for (size_t i = 1; i < chunks.size(); ++i)
    if (chunks[i]->getFunction()->getName() !=
        chunks[0]->getFunction()->getName())
      return chunks[i]->getFunction()->emitOpError("cannot be run beside ")
             << chunks[0]->getFunction()->getName();
  if (failed(checkPlaces(chunks)))
    return failure();
  return chunks;
}

/// The message that chunk `index` makes for its neighbour in `direction`.
static Route getRoute(const Rank &rank,
                      llvm::ArrayRef<std::unique_ptr<Chunk>> chunks,
                      size_t from, size_t to) {
  return {rank.getPeer(chunks[from]->getStage()),
          rank.getPeer(chunks[to]->getStage()),
          (to > from ? "forward." : "backward.") + std::to_string(from)};
}

static LogicalResult runForwards(Rank &rank,
                                 llvm::ArrayRef<std::unique_ptr<Chunk>> chunks,
                                 int64_t microBatch) {
  Exchange &exchange = rank.getWorld().exchange;
  for (const auto &[i, chunk] : llvm::enumerate(chunks)) {
    if (chunk->getStage() != rank.getStage())
      continue;
    FunctionOpInterface op = chunk->getFunction();
    Tensor hidden;
    if (i > 0) {
      FailureOr<TensorShape> shape =
          getTensorShape(op, chunks[i - 1]->getOutputType());
      if (failed(shape))
        return failure();
      FailureOr<Tensor> received = exchange.receive(
          op, getRoute(rank, chunks, i - 1, i), microBatch, *shape);
      if (failed(received))
        return failure();
      hidden = *received;
    }
    FailureOr<Tensor> output = chunk->runForward(rank, microBatch, hidden);
    if (failed(output))
      return failure();
    if (i + 1 < chunks.size())
      exchange.send(op, getRoute(rank, chunks, i, i + 1), microBatch, *output);
    else if (failed(rank.addLoss(op, *output)))
      return failure();
  }
  return success();
}

static LogicalResult runBackwards(Rank &rank,
                                  llvm::ArrayRef<std::unique_ptr<Chunk>> chunks,
                                  int64_t microBatch) {
  World &world = rank.getWorld();
  ir::TrainingAttr training = world.model.getTrainingAttr();
  for (size_t i = chunks.size(); i-- > 0;) {
    Chunk &chunk = *chunks[i];
    if (chunk.getStage() != rank.getStage())
      continue;
    FunctionOpInterface op = chunk.getFunction();
    FailureOr<Tensor> gradient;
    if (i + 1 == chunks.size()) {
      gradient = rank.getLossGradient(
          op, 1.0 / static_cast<double>(world.microBatches),
          training && training.scalesLoss(), chunk.getOutputType());
    } else {
      FailureOr<TensorShape> shape = getTensorShape(op, chunk.getOutputType());
      if (failed(shape))
        return failure();
      gradient = world.exchange.receive(op, getRoute(rank, chunks, i + 1, i),
                                        microBatch, *shape);
    }
    if (failed(gradient))
      return failure();
    FailureOr<Tensor> hidden = chunk.runBackward(rank, microBatch, *gradient);
    if (failed(hidden))
      return failure();
    if (i == 0)
      continue;
    if (!*hidden)
      return op->emitOpError("cannot be run: expected the gradient of its "
                             "hidden input");
    world.exchange.send(op, getRoute(rank, chunks, i, i - 1), microBatch,
                        *hidden);
  }
  return success();
}

LogicalResult runChunks(Rank &rank,
                        llvm::ArrayRef<std::unique_ptr<Chunk>> chunks) {
  bool hasBackward = llvm::all_of(
      chunks, [](const auto &chunk) { return bool(chunk->getGradients()); });
  for (int64_t i = 0; i < rank.getWorld().microBatches; ++i) {
    if (failed(runForwards(rank, chunks, i)))
      return failure();
    if (hasBackward && failed(runBackwards(rank, chunks, i)))
      return failure();
  }
  return success();
}

} // namespace mf::interpreter
