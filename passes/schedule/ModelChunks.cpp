//===- ModelChunks.cpp - The chunks of a model as a pipeline --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/ModelChunks.h"

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using mf::passes::ChunkFunctions;
using mf::passes::ModelChunks;

SmallVector<int64_t> ChunkFunctions::getHiddenArguments() {
  SmallVector<int64_t> hidden;
  const int64_t visible = static_cast<int64_t>(forward.getNumArguments()) -
                          static_cast<int64_t>(forward.getPast());
  for (int64_t index = 0; index < visible; ++index)
    if (llvm::none_of(
            forward.getInputIndices().getAsRange<IntegerAttr>(),
            [&](IntegerAttr input) { return input.getInt() == index; }))
      hidden.push_back(index);
  return hidden;
}

int64_t ChunkFunctions::countHiddenOutputs() {
  return llvm::count_if(forward.getOutputTypes().drop_back(forward.getFuture()),
                        [](Type type) { return !isLoss(type); });
}

Operation *ChunkFunctions::getFunction(schedule::Phase phase) const {
  switch (phase) {
  case schedule::Phase::Forward:
    return forward;
  case schedule::Phase::Backward:
  case schedule::Phase::InputGradient:
    return backward;
  case schedule::Phase::WeightGradient:
    return weights;
  case schedule::Phase::Recompute:
    return recompute;
  }
  llvm_unreachable("unknown phase");
}

namespace {

/// Returns the parameters whose gradients a chunk computes.
static DenseSet<Attribute> getGradients(const ChunkFunctions &chunk) {
  DenseSet<Attribute> names;
  if (BackwardOp backward = chunk.backward)
    names.insert_range(backward.getGradients());
  if (BackwardWeightsOp weights = chunk.weights)
    names.insert_range(weights.getGradients());
  return names;
}

class ChunkReader {
public:
  explicit ChunkReader(ModelOp model) : model(model) {}

  FailureOr<ModelChunks> read() {
    ParallelAttr parallel = model.getTrainingAttr().getParallel();
    result.pipeline = {parallel.getStages(),
                       {},
                       parallel.getMicroBatches(),
                       parallel.getSequencePieces()};
    for (auto forward : model.getBody().getOps<ForwardOp>())
      if (!forward.getPlacement().getKeeps() && failed(addForward(forward)))
        return failure();
    result.keeping.resize(result.chunks.size());
    for (auto recompute : model.getBody().getOps<RecomputeOp>())
      if (!recompute.getPlacement().getKeeps() &&
          failed(add(recompute, &ChunkFunctions::recompute)))
        return failure();
    for (auto forward : model.getBody().getOps<ForwardOp>())
      if (forward.getPlacement().getKeeps() && failed(addKeeping(forward)))
        return failure();
    for (auto backward : model.getBody().getOps<BackwardOp>())
      if (failed(add(backward, &ChunkFunctions::backward)))
        return failure();
    for (auto weights : model.getBody().getOps<BackwardWeightsOp>())
      if (failed(add(weights, &ChunkFunctions::weights)))
        return failure();
    for (auto recompute : model.getBody().getOps<RecomputeOp>())
      if (recompute.getPlacement().getKeeps() &&
          failed(add(recompute, &ChunkFunctions::recompute)))
        return failure();
    if (failed(checkPieces()) || failed(findRecompute()))
      return failure();
    findFirstTrained();
    for (size_t number = 0; number < result.chunks.size(); ++number)
      if (failed(checkFunctions(result.chunks[number],
                                static_cast<int64_t>(number))) ||
          failed(checkKeeping(static_cast<int64_t>(number))) ||
          failed(checkChain(static_cast<int64_t>(number))) ||
          failed(checkPast(static_cast<int64_t>(number))))
        return failure();
    return std::move(result);
  }

private:
  LogicalResult addForward(ForwardOp forward) {
    PlacementAttr placement = forward.getPlacement();
    int64_t stage = placement.getStage();
    if (stage < 0 || stage >= result.pipeline.stages)
      return forward.emitOpError("is on stage ")
             << stage << ", but there are " << result.pipeline.stages;
    auto [entry, isNew] = numbers.try_emplace(
        placement, static_cast<int64_t>(result.chunks.size()));
    if (!isNew) {
      InFlightDiagnostic error = forward.emitOpError("is at ")
                                 << placement << " as another chunk";
      error.attachNote(result.chunks[entry->second].forward.getLoc())
          << "the other is here";
      return error;
    }
    result.chunks.emplace_back().forward = forward;
    if (placement.getPiece() == 0)
      result.pipeline.stageOfChunk.push_back(stage);
    return success();
  }

  /// Adds the version of a chunk that keeps all residuals. Its number comes
  /// after those of all chunks.
  LogicalResult addKeeping(ForwardOp forward) {
    PlacementAttr placement = forward.getPlacement();
    auto first = numbers.find(PlacementAttr::get(
        model.getContext(), placement.getStage(), placement.getChunk(),
        placement.getPiece(), /*keeps=*/false));
    if (first == numbers.end() || !result.chunks[first->second].recompute)
      return forward.emitOpError("is at ")
             << placement << ", but there is no chunk that recomputes there";
    const int64_t number = first->second;
    auto [entry, isNew] = numbers.try_emplace(
        placement, static_cast<int64_t>(result.chunks.size()) + number);
    if (!isNew) {
      InFlightDiagnostic error = forward.emitOpError("is at ")
                                 << placement << " as another chunk";
      error.attachNote(result.keeping[number].forward.getLoc())
          << "the other is here";
      return error;
    }
    result.keeping[number].forward = forward;
    return success();
  }

  template <typename OpT>
  LogicalResult add(OpT function, OpT ChunkFunctions::*member) {
    auto found = numbers.find(function.getPlacement());
    if (found == numbers.end())
      return function.emitOpError("has no forward function at its placement, ")
             << function.getPlacement();
    const auto number = static_cast<size_t>(found->second);
    const size_t count = result.chunks.size();
    OpT &slot = (number < count ? result.chunks[number]
                                : result.keeping[number - count]).*
                member;
    if (slot)
      return function.emitOpError("is the second of its kind at ")
             << function.getPlacement();
    slot = function;
    return success();
  }

  /// Backwards end with the first chunk that has one.
  void findFirstTrained() {
    auto first = llvm::find_if(result.chunks, [](const ChunkFunctions &chunk) {
      return static_cast<bool>(chunk.backward);
    });
    int64_t number = first - result.chunks.begin();
    result.pipeline.firstTrained =
        number < result.pipeline.getNumChunks() ? number : 0;
  }

  /// A chunk must recompute for all pieces of the sequence or for none.
  LogicalResult findRecompute() {
    const int64_t numChunks = result.pipeline.getNumChunks();
    for (auto [number, chunk] : llvm::enumerate(result.chunks)) {
      auto place = static_cast<int64_t>(number);
      if (static_cast<bool>(chunk.recompute) !=
          static_cast<bool>(result.chunks[place % numChunks].recompute))
        return chunk.forward.emitOpError("has ")
               << (chunk.recompute ? "a" : "no")
               << " recompute function at its placement, unlike the first "
                  "piece of the sequence";
      if (chunk.recompute && place < numChunks)
        result.pipeline.addRecompute(place);
    }
    return success();
  }

  /// Checks that a chunk without backward has no trained parameters.
  LogicalResult checkWithoutBackward(ChunkFunctions &chunk) {
    if (chunk.backward || chunk.weights || chunk.recompute)
      return (chunk.backward  ? chunk.backward.getOperation()
              : chunk.weights ? chunk.weights.getOperation()
                              : chunk.recompute.getOperation())
          ->emitOpError("is of a chunk that has none for the first piece of "
                        "the sequence");
    for (auto read : chunk.forward.getBody().getOps<GetParamOp>()) {
      auto param = SymbolTable::lookupNearestSymbolFrom<ParamOp>(
          model, read.getParamAttr());
      if (param && param.needsGradient())
        return chunk.forward.emitOpError("reads '")
               << read.getParam()
               << "', which is trained, but has no backward function at its "
                  "placement";
    }
    return success();
  }

  LogicalResult checkFunctions(ChunkFunctions &chunk, int64_t number) {
    number %= result.pipeline.getNumChunks();
    if (number < result.pipeline.firstTrained)
      return checkWithoutBackward(chunk);
    if (!chunk.backward)
      return chunk.forward.emitOpError(
          "has no backward function at its placement");
    if (static_cast<bool>(chunk.weights) != result.splitsBackward())
      return chunk.forward.emitOpError("has ")
             << (chunk.weights ? "a" : "no")
             << " backward_weights function at its placement, unlike the first "
                "chunk";
    if (chunk.recompute && failed(chunk.recompute.verifyAgainst(chunk.forward)))
      return failure();
    if (failed(chunk.backward.verifyAgainst(chunk.forward, chunk.recompute)) ||
        (chunk.weights && failed(chunk.weights.verifyAgainst(
                              chunk.forward, chunk.recompute, chunk.backward))))
      return failure();
    SmallVector<Type> hidden;
    const int64_t firstTrained = result.pipeline.firstTrained;
    if (firstTrained == 0 || number > firstTrained)
      for (int64_t index : chunk.getHiddenArguments())
        hidden.push_back(chunk.forward.getArgumentTypes()[index]);
    llvm::append_range(hidden, chunk.forward.getPastTypes());
    if (TypeRange(hidden) != TypeRange(chunk.backward.getInputGradientTypes()))
      return chunk.backward.emitOpError(
                 "expected gradients of the hidden inputs, (")
             << hidden << "), but returns ("
             << chunk.backward.getInputGradientTypes() << ")";
    return success();
  }

  /// Checks that the version of a chunk that keeps all residuals has the same
  /// arguments and results as the first one.
  LogicalResult checkKeeping(int64_t number) {
    ChunkFunctions &keeping = result.keeping[number];
    if (!keeping.forward)
      return success();
    ForwardOp first = result.chunks[number].forward, forward = keeping.forward;
    if (forward.getArgumentTypes() != first.getArgumentTypes() ||
        forward.getOutputTypes() != first.getOutputTypes() ||
        forward.getInputs() != first.getInputs() ||
        forward.getInputIndices() != first.getInputIndices() ||
        forward.getPast() != first.getPast() ||
        forward.getFuture() != first.getFuture() || keeping.recompute ||
        getGradients(keeping) != getGradients(result.chunks[number])) {
      InFlightDiagnostic error = forward.emitOpError(
          "is no version of its chunk that keeps all: expected the inputs, "
          "outputs and gradients of the other one, and no recompute function");
      error.attachNote(first.getLoc()) << "the other is here";
      return error;
    }
    return checkFunctions(keeping, number);
  }

  LogicalResult checkChain(int64_t number) {
    ChunkFunctions &chunk = result.chunks[number];
    SmallVector<Type> given, taken;
    int64_t numChunks = result.pipeline.getNumChunks();
    bool isFirst = number % numChunks == 0;
    if (!isFirst) {
      ChunkFunctions &before = result.chunks[number - 1];
      llvm::append_range(given, before.forward.getOutputTypes().take_front(
                                    before.countHiddenOutputs()));
    }
    for (int64_t index : chunk.getHiddenArguments())
      taken.push_back(chunk.forward.getArgumentTypes()[index]);
    if (given != taken)
      return chunk.forward.emitOpError("takes (")
             << taken << ") as hidden inputs, but "
             << (isFirst ? "is the first chunk: expected ("
                         : "the chunk before it gives (")
             << given << ")";
    if ((number + 1) % numChunks == 0 && chunk.countHiddenOutputs() > 0)
      return chunk.forward.emitOpError(
                 "is the last chunk, which returns losses, but returns ")
             << chunk.forward.getOutputTypes().front();
    return success();
  }

  /// Checks that each piece of the sequence has the same chunks as the first
  /// one, in the same order.
  LogicalResult checkPieces() {
    int64_t numChunks = result.pipeline.getNumChunks();
    for (auto [number, chunk] : llvm::enumerate(result.chunks)) {
      auto place = static_cast<int64_t>(number);
      PlacementAttr found = chunk.forward.getPlacement();
      if (numChunks == 0)
        return chunk.forward.emitOpError("is at ")
               << found << ", but no chunk is for the first piece";
      PlacementAttr first =
          result.chunks[place % numChunks].forward.getPlacement();
      auto expected = PlacementAttr::get(model.getContext(), first.getStage(),
                                         first.getChunk(), place / numChunks,
                                         /*keeps=*/false);
      if (found != expected)
        return chunk.forward.emitOpError("is at ")
               << found << ", expected " << expected
               << ": all chunks for one piece of the sequence, then for the "
                  "next";
    }
    auto expected = static_cast<size_t>(numChunks * result.pipeline.pieces);
    if (result.chunks.size() != expected)
      return model.emitOpError("has ")
             << result.chunks.size() << " chunks, expected " << expected << ", "
             << numChunks << " for each of " << result.pipeline.pieces
             << " pieces of the sequence";
    return success();
  }

  /// Checks that a chunk takes the values that it returned for all earlier
  /// pieces, and returns some itself unless it is for the last piece.
  LogicalResult checkPast(int64_t number) {
    int64_t numChunks = result.pipeline.getNumChunks();
    ForwardOp forward = result.chunks[number].forward;
    SmallVector<Type> given;
    for (int64_t earlier = number % numChunks; earlier < number;
         earlier += numChunks)
      llvm::append_range(given,
                         result.chunks[earlier].forward.getFutureTypes());
    if (ArrayRef<Type>(given) != forward.getPastTypes())
      return forward.emitOpError("takes (")
             << forward.getPastTypes()
             << ") of earlier pieces of the sequence, but these give (" << given
             << ")";
    if (forward.getFuture() > 0 &&
        number / numChunks + 1 == result.pipeline.pieces)
      return forward.emitOpError("is for the last piece of the sequence, but "
                                 "gives values for later ones");
    return success();
  }

  ModelOp model;
  ModelChunks result;
  DenseMap<Attribute, int64_t> numbers;
};

} // namespace

FailureOr<ModelChunks> mf::passes::readChunks(ModelOp model) {
  return ChunkReader(model).read();
}
