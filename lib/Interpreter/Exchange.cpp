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

/// The sum of fp32, bf16 or fp16 tensors in fp32, one after the other. The
/// first is not added to 0, which would turn -0 into 0.
static llvm::Error sumInto(llvm::ArrayRef<Tensor> parts, const Tensor &sum) {
  const TensorShape &shape = sum.getShape();
  const TensorShape wide{DType::F32, shape.dims};
  Tensor total(wide);
  for (const auto &[number, part] : llvm::enumerate(parts)) {
    Tensor values(wide);
    if (llvm::Error error = convertElements(shape.type, part.getBytes(),
                                            DType::F32, values.getBytes()))
      return error;
    for (auto [element, value] :
         llvm::zip(total.getElements<float>(), values.getElements<float>()))
      element = number == 0 ? value : element + value;
  }
  return convertElements(DType::F32, total.getBytes(), shape.type,
                         sum.getBytes());
}

LogicalResult Exchange::allReduce(Operation *op, int64_t rank,
                                  llvm::ArrayRef<int64_t> members,
                                  llvm::StringRef channel,
                                  const Tensor &value) {
  if (!llvm::is_contained(members, rank))
    return op->emitError("rank ")
           << rank << " is no member of the group of '" << channel << "'";
  // A rank may be at its next sum while others still leave the last one.
  if (failed(turns.waitUntil(op, ("the end of '" + channel + "'").str(), [&] {
        return collectives[channel.str()].numDone == 0;
      })))
    return failure();
  Collective &collective = collectives[channel.str()];
  if (collective.arrived.empty())
    collective.members = members.vec();
  else if (llvm::ArrayRef(collective.members) != members ||
           collective.arrived.begin()->second.getShape() != value.getShape())
    return op->emitError("takes part in '")
           << channel << "' with another group or shape than rank "
           << collective.arrived.begin()->first;
  collective.arrived[rank] = value.clone();
  if (failed(turns.waitUntil(
          op, ("the other members of '" + channel + "'").str(), [&] {
            return collective.arrived.size() == collective.members.size();
          })))
    return failure();
  std::vector<Tensor> parts;
  for (int64_t member : members)
    parts.push_back(collective.arrived[member]);
  if (llvm::Error error = sumInto(parts, value))
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
