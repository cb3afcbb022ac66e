//===- Exchange.cpp - Messages and collectives between ranks --------------===//

#include "Exchange.h"
#include "mf/Data/ElementConversion.h"
#include "mf/Signatures/RowCounts.h"
#include "mf/Tensor/Maximum.h"
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
                                              : getMaximum(element, value);
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

/// What the member at `place` gets of the rows of all, row after row.
static llvm::Error exchangeRows(const ir::EmittedCollective &collective,
                                llvm::ArrayRef<Exchange::Contribution> members,
                                size_t place, const Tensor &output) {
  const Exchange::Contribution &own = members[place];
  const TensorShape &shape = output.getShape();
  const size_t rowBytes = shape.dims.back() * mf::getBytes(shape.type);
  const size_t experts = own.send.getElements<float>().size() / members.size();
  size_t next = 0;
  for (const auto &[from, member] : llvm::enumerate(members)) {
    llvm::ArrayRef<float> counts = member.send.getElements<float>();
    size_t row = 0;
    for (size_t i = 0; i < place * experts; ++i)
      row += static_cast<size_t>(counts[i]);
    llvm::ArrayRef<float> came = own.receive.getElements<float>();
    for (size_t i = from * experts; i < (from + 1) * experts; ++i)
      for (auto count = static_cast<int64_t>(came[i]); count > 0; --count)
        copyBytes(member.input, row++ * rowBytes, output, next++ * rowBytes,
                  rowBytes);
  }
  const Tensor fill = makeScalar(static_cast<float>(collective.fill));
  const size_t bytes = mf::getBytes(shape.type);
  Tensor element(TensorShape{shape.type, {}});
  if (llvm::Error error = convertElements(DType::F32, fill.getBytes(),
                                          shape.type, element.getBytes()))
    return error;
  for (size_t at = next * rowBytes; at < output.getBytes().size(); at += bytes)
    copyBytes(element, 0, output, at, bytes);
  return llvm::Error::success();
}

/// The rank that cannot take part, and why.
static std::optional<std::string>
findCountError(Operation *op, const ir::EmittedCollective &collective,
               llvm::ArrayRef<int64_t> ranks,
               llvm::ArrayRef<Exchange::Contribution> members,
               const Tensor &output) {
  std::vector<RowCounts> counts;
  counts.reserve(members.size());
  for (const Exchange::Contribution &member : members)
    counts.push_back({member.send.getElements<float>(),
                      member.receive.getElements<float>()});
  auto countRows = [&](const Tensor &tensor) {
    const TensorShape &shape = tensor.getShape();
    return static_cast<int64_t>(tensor.getBytes().size()) /
           (shape.dims.back() * mf::getBytes(shape.type));
  };
  std::optional<RowCountError> error = checkRowCounts(
      counts, ranks, countRows(members.front().input), countRows(output));
  if (!error)
    return std::nullopt;
  auto compute = dyn_cast<ir::ComputeOpInterface>(op);
  return "rank " + std::to_string(ranks[error->member]) + ": " +
         describeRowExchange(compute ? compute.getCellName() : "",
                             collective.channel) +
         ": " + error->reason;
}

/// What the member at `place` gets of the inputs of all.
static llvm::Error combine(const ir::EmittedCollective &collective,
                           llvm::ArrayRef<Exchange::Contribution> members,
                           size_t place, const Tensor &output) {
  llvm::SmallVector<Tensor> parts;
  for (const Exchange::Contribution &member : members)
    parts.push_back(member.input);
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
  case CollectiveKind::AllToAllV:
    return exchangeRows(collective, members, place, output);
  }
  return llvm::Error::success();
}

LogicalResult Exchange::communicate(Operation *op, int64_t rank,
                                    llvm::ArrayRef<int64_t> members,
                                    const ir::EmittedCollective &what,
                                    const Contribution &own,
                                    const Tensor &output) {
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
             !collective.arrived.begin()->second.hasShapesOf(own)) {
    return op->emitError("takes part in '")
           << what.channel << "' with another kind, group or shape than rank "
           << collective.arrived.begin()->first;
  }
  collective.arrived[rank] = own.clone();
  if (failed(turns.waitUntil(
          op, "the other members of '" + what.channel + "'", [&] {
            return collective.arrived.size() == collective.members.size();
          })))
    return failure();
  std::vector<Contribution> arrived;
  for (int64_t member : members)
    arrived.push_back(collective.arrived[member]);
  if (what.kind == CollectiveKind::AllToAllV)
    if (std::optional<std::string> reason =
            findCountError(op, what, members, arrived, output))
      return op->emitError(*reason);
  if (llvm::Error error = combine(what, arrived, place, output))
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
