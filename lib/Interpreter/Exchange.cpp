//===- Exchange.cpp - Messages and collectives between ranks --------------===//

#include "Exchange.h"
#include "mf/Data/ElementConversion.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace mf::interpreter {

void Exchange::clear() {
  messages.clear();
  collectives.clear();
}

void Exchange::send(Operation *op, const Route &route, int64_t microBatch,
                    const Tensor &value) {
  messages[route].push_back({op, microBatch, value.clone()});
}

FailureOr<Tensor> Exchange::receive(Operation *op, const Route &route,
                                    int64_t microBatch,
                                    const TensorShape &shape) {
  std::deque<Message> &queue = messages[route];
  if (failed(turns.waitUntil(
          op,
          llvm::formatv("a message from {0} on channel '{1}', micro-batch {2}",
                        route.from, route.channel, microBatch),
          [&] { return !queue.empty(); })))
    return failure();
  Message message = queue.front();
  queue.pop_front();
  if (message.microBatch != microBatch || message.value.getShape() != shape) {
    InFlightDiagnostic error =
        op->emitError("expected a message of micro-batch ")
        << microBatch << " and " << shape.getBytes()
        << " bytes, but got one of micro-batch " << message.microBatch
        << " and " << message.value.getShape().getBytes() << " bytes";
    error.attachNote(message.sender->getLoc()) << "it is sent here";
    return failure();
  }
  return message.value;
}

/// Combines fp32, bf16 or fp16 tensors in fp32, one after the other. The first
/// is not added to 0, which would turn -0 into 0.
static llvm::Expected<Tensor> reduce(llvm::ArrayRef<Tensor> parts,
                                     Reduction reduction) {
  const TensorShape &shape = parts.front().getShape();
  const TensorShape wide{DType::F32, shape.dims};
  Tensor total(wide), result(shape);
  for (const auto &[number, part] : llvm::enumerate(parts)) {
    Tensor values(wide);
    if (llvm::Error error = convertElements(shape.type, part.getBytes(),
                                            DType::F32, values.getBytes()))
      return error;
    for (auto [element, value] :
         llvm::zip(total.getElements<float>(), values.getElements<float>()))
      element = number == 0                   ? value
                : reduction == Reduction::Sum ? element + value
                                              : std::max(element, value);
  }
  if (llvm::Error error = convertElements(DType::F32, total.getBytes(),
                                          shape.type, result.getBytes()))
    return error;
  return result;
}

/// Copies `bytes` bytes from one place to another.
static void copyBytes(const Tensor &from, size_t fromByte, const Tensor &to,
                      size_t toByte, size_t bytes) {
  llvm::copy(from.getBytes().slice(fromByte, bytes),
             to.getBytes().begin() + toByte);
}

/// What the member at `place` gets of the inputs of all.
static llvm::Error combine(const ir::EmittedCollective &collective,
                           llvm::ArrayRef<Tensor> parts, size_t place,
                           const Tensor &output) {
  const size_t bytes = parts.front().getBytes().size();
  const size_t share = bytes / parts.size();
  switch (collective.kind) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::ReduceScatter: {
    auto total = reduce(parts, collective.reduction);
    if (!total)
      return total.takeError();
    const size_t size = output.getBytes().size();
    copyBytes(*total,
              collective.kind == CollectiveKind::AllReduce ? 0 : place * size,
              output, 0, size);
    break;
  }
  case CollectiveKind::AllGather:
    for (size_t i = 0; i < parts.size(); ++i)
      copyBytes(parts[i], 0, output, i * bytes, bytes);
    break;
  case CollectiveKind::AllToAll:
    for (size_t i = 0; i < parts.size(); ++i)
      copyBytes(parts[i], place * share, output, i * share, share);
    break;
  case CollectiveKind::Broadcast:
    copyBytes(parts.front(), 0, output, 0, bytes);
    break;
  }
  return llvm::Error::success();
}

LogicalResult Exchange::communicate(Operation *op, int64_t rank,
                                    llvm::ArrayRef<int64_t> members,
                                    const ir::EmittedCollective &what,
                                    const Tensor &input, const Tensor &output) {
  const auto place = llvm::find(members, rank) - members.begin();
  if (place == static_cast<int64_t>(members.size()))
    return op->emitError("rank ")
           << rank << " is no member of the group of '" << what.channel << "'";
  const std::pair<std::string, int64_t> key(
      what.channel, *std::min_element(members.begin(), members.end()));
  // A rank may be at its next collective while others still leave the last one.
  if (failed(turns.waitUntil(op, "the end of '" + what.channel + "'",
                             [&] { return collectives[key].numDone == 0; })))
    return failure();
  Collective &collective = collectives[key];
  if (collective.arrived.empty()) {
    collective.members = members.vec();
    collective.kind = what.kind;
  } else if (llvm::ArrayRef(collective.members) != members ||
             collective.kind != what.kind ||
             collective.arrived.begin()->second.getShape() !=
                 input.getShape()) {
    return op->emitError("takes part in '")
           << what.channel << "' with another kind, group or shape than rank "
           << collective.arrived.begin()->first;
  }
  collective.arrived[rank] = input.clone();
  if (failed(turns.waitUntil(
          op, "the other members of '" + what.channel + "'", [&] {
            return collective.arrived.size() == collective.members.size();
          })))
    return failure();
  std::vector<Tensor> parts;
  for (int64_t member : members)
    parts.push_back(collective.arrived[member]);
  if (llvm::Error error = combine(what, parts, place, output))
    return op->emitError(llvm::toString(std::move(error)));
  if (++collective.numDone == static_cast<int64_t>(members.size()))
    collective = {};
  return success();
}

LogicalResult Exchange::checkAllReceived() const {
  for (const auto &[route, queue] : messages)
    if (!queue.empty())
      return queue.front().sender->emitError("sends a message to ")
             << route.to << " on channel '" << route.channel
             << "' that nobody receives";
  return success();
}

} // namespace mf::interpreter
