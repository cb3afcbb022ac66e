//===- ChunkChain.cpp - Micro-batches through all chunks and back ---------===//

#include "Chunks.h"

using namespace mlir;

namespace mf::interpreter {

using Chunks = llvm::ArrayRef<std::unique_ptr<Chunk>>;
/// By chunk, what pieces of the sequence hand to one another. They are on one
/// rank.
using Carried = std::vector<SmallVector<Tensor>>;

/// How many chunks there are for each piece: all for the first piece stand
/// before those for the next.
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

/// The message of output `output` of chunk `from` that chunk `to` takes, or of
/// that output's gradient the other way round.
static Route getRoute(const Rank &rank, Chunks chunks, size_t from, size_t to,
                      size_t output) {
  std::string channel =
      (to > from ? "forward." : "backward.") + std::to_string(from);
  if (output > 0)
    channel += "." + std::to_string(output);
  return {rank.getPeer(chunks[from]->getStage()),
          rank.getPeer(chunks[to]->getStage()), std::move(channel)};
}

/// Whether an output of a chunk goes into the step's loss. Nobody else takes
/// what the last chunk makes.
static bool isAddedToLoss(Chunks chunks, size_t chunk, Type output) {
  return isLast(chunks, chunk) || ir::isLoss(output);
}

/// The types of the outputs that are not for later pieces.
static SmallVector<Type> getOwnOutputTypes(Chunk &chunk) {
  SmallVector<Type> types = chunk.getOutputTypes();
  types.truncate(types.size() - chunk.getNumFuture());
  return types;
}

/// Receives what chunk `from` makes for chunk `to`, of these types.
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

/// The types of the outputs of `chunk` that the next chunk takes.
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
    for (auto [type, output] : llvm::zip(getOwnOutputTypes(*chunk), *outputs)) {
      if (!isAddedToLoss(chunks, i, type))
        rank.getWorld().exchange.send(
            op, getRoute(rank, chunks, i, i + 1, numSent++), microBatch,
            output);
      else if (failed(rank.addLoss(op, output)))
        return failure();
    }
  }
  return success();
}

/// The gradients of the outputs of chunk `index`: from the next chunk, or what
/// backward of a loss begins with.
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

/// Whether a chunk has a backward to run: chunks below all that is trained get
/// no gradients from the chunk behind them.
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
