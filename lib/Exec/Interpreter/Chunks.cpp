//===- Chunks.cpp - Parts of a model that run one after another -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "Chunks.h"
#include "Functions.h"

using namespace mlir;

namespace mf::interpreter {

/// Returns the arguments of a chunk's function: step inputs, and hidden values
/// in order.
static FailureOr<SmallVector<Tensor>>
getArguments(Rank &rank, FunctionOpInterface function, ArrayAttr inputs,
             ArrayAttr indices, int64_t microBatch,
             llvm::ArrayRef<Tensor> hidden) {
  const auto numHidden = function.getNumArguments() - inputs.size();
  if (numHidden != hidden.size())
    return function.emitOpError("cannot be run: takes ")
           << numHidden << " results of the chunk before it, but gets "
           << hidden.size();
  SmallVector<Tensor> arguments(function.getNumArguments());
  for (auto [number, kind, index] :
       llvm::enumerate(inputs.getAsRange<ir::InputKindAttr>(),
                       indices.getAsRange<IntegerAttr>())) {
    FailureOr<Tensor> input =
        rank.getInput(function, kind.getValue(),
                      ir::getMicroBatchOfInput(inputs, number, microBatch),
                      function.getArgumentTypes()[index.getInt()]);
    if (failed(input))
      return failure();
    arguments[index.getInt()] = *input;
  }
  for (Tensor &argument : arguments)
    if (!argument) {
      argument = hidden.front();
      hidden = hidden.drop_front();
    }
  return arguments;
}

//===----------------------------------------------------------------------===//
// A layer
//===----------------------------------------------------------------------===//

namespace {

class LayerChunk : public Chunk {
public:
  explicit LayerChunk(ir::LayerOp layer)
      : Chunk(layer.getPlacementAttr()), layer(layer) {}

  FunctionOpInterface getFunction() override { return layer; }
  SmallVector<Type> getOutputTypes() override {
    return SmallVector<Type>(layer.getResultTypes());
  }
  int64_t getNumPast() override {
    return static_cast<int64_t>(layer.getPast());
  }
  int64_t getNumFuture() override {
    return static_cast<int64_t>(layer.getFuture());
  }

  /// The embedding takes the tokens, and the head takes the labels too. All but
  /// the first layer take hidden states first.
  FailureOr<SmallVector<Tensor>>
  runForward(Rank &rank, int64_t microBatch,
             llvm::ArrayRef<Tensor> hidden) override {
    SmallVector<Tensor> arguments(hidden), results;
    for (Type type : layer.getArgumentTypes().drop_front(
             std::min<size_t>(hidden.size(), layer.getNumArguments()))) {
      if (ir::isFloatTensor(type))
        return layer.emitOpError("cannot be run: it takes the result of a "
                                 "layer before it, but there is none");
      FailureOr<Tensor> input = rank.getInput(
          layer, ir::getStepInputKind(layer.getKind(), type), microBatch, type);
      if (failed(input))
        return failure();
      arguments.push_back(*input);
    }
    rank.beginTask(microBatch, /*isForward=*/true, layer.getCell());
    if (failed(runFunction(rank, layer, arguments, &results)))
      return failure();
    return results;
  }

private:
  ir::LayerOp layer;
};

//===----------------------------------------------------------------------===//
// A joint graph
//===----------------------------------------------------------------------===//

/// A chunk whose forward consists of the operators before the cut, and whose
/// backward of those after it.
class JointChunk : public Chunk {
public:
  explicit JointChunk(ir::ChunkOp chunk)
      : Chunk(chunk.getPlacement()), chunk(chunk), cut(chunk.getCut()) {}

  FunctionOpInterface getFunction() override { return chunk; }
  SmallVector<Type> getOutputTypes() override {
    return llvm::map_to_vector(getOutputs(),
                               [](Value value) { return value.getType(); });
  }
  int64_t getNumPast() override {
    return static_cast<int64_t>(chunk.getPast());
  }
  int64_t getNumFuture() override {
    return static_cast<int64_t>(chunk.getFuture());
  }
  ArrayAttr getGradients() override { return chunk.getGradients(); }
  bool hasInputGradients() override {
    return chunk.getResultTypes().size() - chunk.getGradients().size() >
           chunk.getPast();
  }

  FailureOr<SmallVector<Tensor>>
  runForward(Rank &rank, int64_t microBatch,
             llvm::ArrayRef<Tensor> hidden) override {
    values.clear();
    rank.beginTask(microBatch, /*isForward=*/true);
    FailureOr<SmallVector<Tensor>> arguments =
        getArguments(rank, chunk, chunk.getInputs(), chunk.getInputIndices(),
                     microBatch, hidden);
    if (failed(arguments) || failed(bindArguments(chunk, *arguments, values)))
      return failure();
    Block &body = chunk.getBody().front();
    for (Operation &op : llvm::make_range(body.begin(), cut->getIterator()))
      if (failed(runOperator(rank, &op, values)))
        return failure();
    return lookup(getOutputs());
  }

  FailureOr<SmallVector<Tensor>>
  runBackward(Rank &rank, int64_t microBatch,
              llvm::ArrayRef<Tensor> outputGradients) override {
    rank.beginTask(microBatch, /*isForward=*/false);
    for (auto [value, gradient] :
         llvm::zip_equal(cut.getOutputGradients(), outputGradients))
      values[value] = gradient;
    ir::ReturnOp terminator = ir::getReturn(chunk);
    for (Operation &op : llvm::make_range(std::next(cut->getIterator()),
                                          terminator->getIterator()))
      if (failed(runOperator(rank, &op, values)))
        return failure();
    SmallVector<Tensor> results = lookup(terminator.getValues());
    const size_t numHidden = results.size() - chunk.getGradients().size();
    if (failed(addGradients(rank, chunk, chunk.getGradients(),
                            llvm::ArrayRef(results).drop_front(numHidden))))
      return failure();
    results.truncate(numHidden);
    return results;
  }

private:
  /// Returns the outputs without the values from earlier pieces.
  SmallVector<Value> getOutputs() {
    SmallVector<Value> outputs(cut.getOutputs());
    Value *end = outputs.end() - chunk.getFuture();
    outputs.erase(end - chunk.getNumPassedOn(), end);
    return outputs;
  }
  SmallVector<Tensor> lookup(ValueRange range) {
    return llvm::map_to_vector(
        range, [this](Value value) { return values.lookup(value); });
  }

  ir::ChunkOp chunk;
  ir::CutOp cut;
  /// The values of the micro-batch that runs.
  Environment values;
};

//===----------------------------------------------------------------------===//
// Forward and backward functions
//===----------------------------------------------------------------------===//

/// A chunk of functions. Recompute runs right before backward, and the half of
/// a split backward that computes gradients of parameters right after the other
/// one.
class FunctionChunk : public Chunk {
public:
  FunctionChunk(ir::ForwardOp forward, ir::RecomputeOp recompute,
                ir::BackwardOp backward, ir::BackwardWeightsOp weights)
      : Chunk(forward.getPlacement()), forward(forward), recompute(recompute),
        backward(backward), weights(weights) {}

  FunctionOpInterface getFunction() override { return forward; }
  SmallVector<Type> getOutputTypes() override {
    return SmallVector<Type>(forward.getOutputTypes());
  }
  int64_t getNumPast() override {
    return static_cast<int64_t>(forward.getPast());
  }
  int64_t getNumFuture() override {
    return static_cast<int64_t>(forward.getFuture());
  }

  ArrayAttr getGradients() override {
    if (!backward)
      return {};
    SmallVector<Attribute> names(backward.getGradients().getValue());
    if (weights)
      llvm::append_range(names, weights.getGradients());
    return ArrayAttr::get(forward.getContext(), names);
  }

  bool hasInputGradients() override {
    return backward &&
           backward.getInputGradientTypes().size() > forward.getPast();
  }

  FailureOr<SmallVector<Tensor>>
  runForward(Rank &rank, int64_t microBatch,
             llvm::ArrayRef<Tensor> hidden) override {
    FailureOr<SmallVector<Tensor>> inputs =
        getArguments(rank, forward, forward.getInputs(),
                     forward.getInputIndices(), microBatch, hidden);
    if (failed(inputs))
      return failure();
    arguments = std::move(*inputs);
    SmallVector<Tensor> results;
    rank.beginTask(microBatch, /*isForward=*/true);
    if (failed(runFunction(rank, forward, arguments, &results)))
      return failure();
    frame.assign(results.begin() + forward.getOutputs(), results.end());
    results.truncate(forward.getOutputs());
    outputs = results;
    return results;
  }

  FailureOr<SmallVector<Tensor>>
  runBackward(Rank &rank, int64_t microBatch,
              llvm::ArrayRef<Tensor> outputGradients) override {
    SmallVector<Tensor> passed(outputGradients);
    rank.beginTask(microBatch, /*isForward=*/false);
    if ((recompute && failed(runRecompute(rank))) ||
        failed(appendForward(backward, backward.getForwardArguments(),
                             backward.getForwardOutputs(), passed)))
      return failure();
    FailureOr<SmallVector<Tensor>> hidden =
        runBackwardFunction(rank, backward, passed, frame);
    if (failed(hidden) || !weights)
      return hidden;
    passed.clear();
    for (auto index : weights.getOutputGradients().getAsRange<IntegerAttr>())
      passed.push_back(outputGradients[index.getInt()]);
    if (failed(appendForward(weights, weights.getForwardArguments(),
                             ArrayAttr::get(weights.getContext(), {}),
                             passed)) ||
        failed(runWeightsFunction(rank, weights, passed, frame)))
      return failure();
    return hidden;
  }

private:
  /// Appends the arguments and outputs of the forward function that `user`
  /// takes, by index.
  LogicalResult appendForward(FunctionOpInterface user,
                              ArrayAttr argumentNumbers,
                              ArrayAttr outputNumbers,
                              SmallVectorImpl<Tensor> &passed) {
    auto append = [&](ArrayAttr numbers, llvm::ArrayRef<Tensor> from,
                      llvm::StringRef what) -> LogicalResult {
      for (auto number : numbers.getAsRange<IntegerAttr>()) {
        if (number.getInt() >= static_cast<int64_t>(from.size()))
          return user.emitOpError("cannot be run: reads ")
                 << what << " " << number.getInt()
                 << " of its forward function, which has " << from.size();
        passed.push_back(from[number.getInt()]);
      }
      return success();
    };
    if (failed(append(argumentNumbers, arguments, "argument")))
      return failure();
    return append(outputNumbers, outputs, "output");
  }

  LogicalResult runRecompute(Rank &rank) {
    SmallVector<Tensor> passed;
    if (failed(appendForward(recompute, recompute.getForwardArguments(),
                             recompute.getForwardOutputs(), passed)))
      return failure();
    return runRecomputeFunction(rank, recompute, passed, frame);
  }

  ir::ForwardOp forward;
  ir::RecomputeOp recompute;
  ir::BackwardOp backward;
  ir::BackwardWeightsOp weights;
  /// The tensors of the micro-batch that runs.
  SmallVector<Tensor> arguments, outputs, frame;
};

} // namespace

//===----------------------------------------------------------------------===//
// The chain
//===----------------------------------------------------------------------===//

/// Returns the function of kind `OpT` at the placement of `forward`, if there
/// is one.
template <typename OpT>
static OpT findPartner(ir::ModelOp model, ir::ForwardOp forward) {
  for (auto function : model.getBody().getOps<OpT>())
    if (function.getPlacement() == forward.getPlacement())
      return function;
  return {};
}

/// Chunks run in program order, whatever their stages. The layers of one chunk
/// are neighbours. There is one function of each kind for each chunk.
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
    // The version of a chunk that keeps all residuals computes the same
    // results, so it is left out.
    else if (auto forward = dyn_cast<ir::ForwardOp>(op);
             forward && !forward.getPlacement().getKeeps())
      chunks.push_back(std::make_unique<FunctionChunk>(
          forward, findPartner<ir::RecomputeOp>(model, forward),
          findPartner<ir::BackwardOp>(model, forward),
          findPartner<ir::BackwardWeightsOp>(model, forward)));
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

} // namespace mf::interpreter
