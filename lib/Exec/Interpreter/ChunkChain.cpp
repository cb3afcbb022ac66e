//===- ChunkChain.cpp - Micro-batches through all chunks and back ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "Chunks.h"

using namespace mlir;

namespace mf::interpreter {

using Chunks = llvm::ArrayRef<std::unique_ptr<Chunk>>;
/// For each chunk, the values that pieces of the sequence pass to later pieces,
/// which are on the same rank.
using Carried = std::vector<SmallVector<Tensor>>;

/// Returns the number of chunks of one piece. All chunks of the first piece
/// precede those of the second.
static size_t countChunks(Chunks chunks) {
  return llvm::count_if(
      chunks, [](const auto &chunk) { return chunk->getPiece() == 0; });
}

static bool isFirst(Chunks chunks, size_t index) {
  return index % countChunks(chunks) == 0;
}

static bool isLast(Chunks chunks, size_t index) {
  return (index + 1) % countChunks(chunks) == 0;
}

/// Returns the message that carries output `output` of chunk `from` to chunk
/// `to`, or the gradient of that output in the other direction.
static Route getRoute(const Rank &rank, Chunks chunks, size_t from, size_t to,
                      size_t output) {
  std::string channel =
      (to > from ? "forward." : "backward.") + std::to_string(from);
  if (output > 0)
    channel += "." + std::to_string(output);
  return {rank.getPeer(chunks[from]->getStage()),
          rank.getPeer(chunks[to]->getStage()), std::move(channel)};
}

/// Returns whether an output of a chunk is part of the step's loss. All outputs
/// of the last chunk are.
static bool isAddedToLoss(Chunks chunks, size_t chunk, Type output) {
  return isLast(chunks, chunk) || ir::isLoss(output);
}

/// Returns the types of the outputs that are not for later pieces.
static SmallVector<Type> getOwnOutputTypes(Chunk &chunk) {
  SmallVector<Type> types = chunk.getOutputTypes();
  types.truncate(types.size() - chunk.getNumFuture());
  return types;
}

/// Receives the values of these types that chunk `from` computes for chunk
/// `to`.
static FailureOr<SmallVector<Tensor>> receiveAll(Rank &rank, Chunks chunks,
                                                 size_t from, size_t to,
                                                 int64_t microBatch,
                                                 llvm::ArrayRef<Type> types) {
  FunctionOpInterface op = chunks[to]->getFunction();
  SmallVector<Tensor> tensors;
  for (Type type : types) {
    FailureOr<TensorShape> shape = getTensorShape(op, type);
    if (failed(shape))
      return failure();
    FailureOr<Tensor> received = rank.getWorld().exchange.receive(
        op, getRoute(rank, chunks, from, to, tensors.size()), microBatch,
        *shape);
    if (failed(received))
      return failure();
    tensors.push_back(*received);
  }
  return tensors;
}

/// Returns the types of the outputs of `chunk` that are operands of the next
/// chunk.
static SmallVector<Type> getHiddenTypes(Chunk &chunk) {
  SmallVector<Type> types = getOwnOutputTypes(chunk);
  llvm::erase_if(types, ir::isLoss);
  return types;
}

static LogicalResult runForwards(Rank &rank, Chunks chunks,
                                 int64_t microBatch) {
  Carried past(countChunks(chunks));
  for (const auto &[i, chunk] : llvm::enumerate(chunks)) {
    if (chunk->getStage() != rank.getStage())
      continue;
    FunctionOpInterface op = chunk->getFunction();
    SmallVector<Tensor> hidden;
    if (!isFirst(chunks, i)) {
      FailureOr<SmallVector<Tensor>> received = receiveAll(
          rank, chunks, i - 1, i, microBatch, getHiddenTypes(*chunks[i - 1]));
      if (failed(received))
        return failure();
      hidden = std::move(*received);
    }
    SmallVector<Tensor> &ofChunk = past[i % past.size()];
    llvm::append_range(hidden, ofChunk);
    FailureOr<SmallVector<Tensor>> outputs =
        chunk->runForward(rank, microBatch, hidden);
    if (failed(outputs))
      return failure();
    llvm::append_range(
        ofChunk, llvm::ArrayRef(*outputs).take_back(chunk->getNumFuture()));
    size_t numSent = 0;
    SmallVector<ir::LossPart> parts = ir::findLossParts(op);
    auto part = parts.begin();
    for (auto [type, output] : llvm::zip(getOwnOutputTypes(*chunk), *outputs)) {
      if (!isAddedToLoss(chunks, i, type))
        rank.getWorld().exchange.send(
            op, getRoute(rank, chunks, i, i + 1, numSent++), microBatch,
            output);
      else if (failed(rank.addLoss(
                   op, output, part == parts.end() ? ir::LossPart() : *part++)))
        return failure();
    }
  }
  return success();
}

/// Returns the gradients of the outputs of chunk `index`: those from the next
/// chunk, or the initial gradients of losses.
static FailureOr<SmallVector<Tensor>> getOutputGradients(Rank &rank,
                                                         Chunks chunks,
                                                         size_t index,
                                                         int64_t microBatch) {
  World &world = rank.getWorld();
  ir::TrainingAttr training = world.model.getTrainingAttr();
  Chunk &chunk = *chunks[index];
  FailureOr<SmallVector<Tensor>> received = SmallVector<Tensor>();
  if (!isLast(chunks, index))
    received = receiveAll(rank, chunks, index + 1, index, microBatch,
                          getHiddenTypes(chunk));
  if (failed(received))
    return failure();
  SmallVector<Tensor> gradients;
  size_t numReceived = 0;
  for (Type type : getOwnOutputTypes(chunk)) {
    if (!isAddedToLoss(chunks, index, type)) {
      gradients.push_back((*received)[numReceived++]);
      continue;
    }
    FailureOr<Tensor> gradient = rank.getLossGradient(
        chunk.getFunction(), 1.0 / static_cast<double>(world.runs),
        training && training.scalesLoss(), type);
    if (failed(gradient))
      return failure();
    gradients.push_back(*gradient);
  }
  return gradients;
}

/// Returns whether a chunk has a backward to run. Chunks before all trained
/// parameters receive no gradients from the next chunk.
static bool runsBackward(Chunks chunks, size_t chunk) {
  return isLast(chunks, chunk) || chunks[chunk + 1]->hasInputGradients();
}

static LogicalResult runBackwards(Rank &rank, Chunks chunks,
                                  int64_t microBatch) {
  Carried later(countChunks(chunks));
  for (size_t i = chunks.size(); i-- > 0;) {
    Chunk &chunk = *chunks[i];
    if (chunk.getStage() != rank.getStage() || !runsBackward(chunks, i))
      continue;
    FunctionOpInterface op = chunk.getFunction();
    FailureOr<SmallVector<Tensor>> gradients =
        getOutputGradients(rank, chunks, i, microBatch);
    if (failed(gradients))
      return failure();
    SmallVector<Tensor> &ofChunk = later[i % later.size()];
    llvm::append_range(*gradients, ofChunk);
    FailureOr<SmallVector<Tensor>> hidden =
        chunk.runBackward(rank, microBatch, *gradients);
    if (failed(hidden))
      return failure();
    Tensor *firstPast = hidden->end() - chunk.getNumPast();
    ofChunk.assign(firstPast, hidden->end());
    hidden->erase(firstPast, hidden->end());
    if (isFirst(chunks, i) || !runsBackward(chunks, i - 1))
      continue;
    const size_t expected = getHiddenTypes(*chunks[i - 1]).size();
    if (hidden->size() != expected)
      return op->emitOpError("cannot be run: expected the gradients of its ")
             << expected << " hidden inputs, but backward makes "
             << hidden->size();
    for (auto [number, gradient] : llvm::enumerate(*hidden))
      rank.getWorld().exchange.send(
          op, getRoute(rank, chunks, i, i - 1, number), microBatch, gradient);
  }
  return success();
}

bool haveBackward(Chunks chunks) {
  for (const auto &[i, chunk] : llvm::enumerate(chunks))
    if (!chunk->getGradients() && runsBackward(chunks, i))
      return false;
  return true;
}

LogicalResult runChunks(Rank &rank, Chunks chunks) {
  const bool hasBackward = haveBackward(chunks);
  for (int64_t i = 0; i < rank.getWorld().runs; ++i) {
    if (failed(runForwards(rank, chunks, i)))
      return failure();
    if (hasBackward && failed(runBackwards(rank, chunks, i)))
      return failure();
  }
  return success();
}

} // namespace mf::interpreter
