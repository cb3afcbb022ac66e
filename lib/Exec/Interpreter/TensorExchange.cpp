//===- TensorExchange.cpp - Messages and collectives ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TensorExchange.h"
#include "mf/Exec/Ranks/CollectiveShare.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"
#include <thread>

using namespace mlir;

namespace mf::interpreter {

void RankScheduler::reportDeadlock() const {
  std::optional<InFlightDiagnostic> error;
  for (const auto &[number, rank] : llvm::enumerate(ranks)) {
    if (rank.isDone)
      continue;
    if (!error)
      error.emplace(rank.op->emitError("no rank can go on: rank ")
                    << number << " waits for " << rank.what);
    else
      error->attachNote(rank.op->getLoc())
          << "rank " << number << " waits for " << rank.what;
  }
}

void RankScheduler::passTurn() {
  for (size_t i = 1; i <= ranks.size(); ++i) {
    const size_t next = (current + i) % ranks.size();
    if (!canRun(ranks[next]))
      continue;
    current = next;
    changed.notify_all();
    return;
  }
  const bool isOver =
      llvm::all_of(ranks, [](const Rank &rank) { return rank.isDone; });
  if (!isOver && !hasFailed) {
    reportDeadlock();
    hasFailed = true;
  }
  changed.notify_all();
}

LogicalResult RankScheduler::waitUntil(Operation *op, std::string what,
                                       llvm::function_ref<bool()> isReady) {
  if (isReady())
    return success();
  std::unique_lock<std::mutex> lock(mutex);
  const size_t self = current;
  Rank &rank = ranks[self];
  rank.isReady = isReady;
  rank.op = op;
  rank.what = std::move(what);
  passTurn();
  changed.wait(lock, [&] { return current == self || hasFailed; });
  rank.isReady = nullptr;
  return failure(hasFailed);
}

LogicalResult
RankScheduler::run(size_t numRanks,
                   llvm::function_ref<LogicalResult(size_t)> body) {
  ranks.assign(numRanks, {});
  current = 0;
  hasFailed = false;
  auto runRank = [&](size_t self) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return current == self || hasFailed; });
      if (hasFailed)
        return;
    }
    const LogicalResult result = body(self);
    std::lock_guard<std::mutex> lock(mutex);
    ranks[self].isDone = true;
    hasFailed |= failed(result);
    if (hasFailed)
      changed.notify_all();
    else
      passTurn();
  };
  std::vector<std::thread> threads;
  threads.reserve(numRanks);
  for (size_t rank = 0; rank < numRanks; ++rank)
    threads.emplace_back(runRank, rank);
  for (std::thread &thread : threads)
    thread.join();
  return failure(hasFailed);
}

void TensorExchange::clear() {
  messages.clear();
  collectives.clear();
}

void TensorExchange::send(Operation *op, const Route &route, int64_t microBatch,
                          const Tensor &value) {
  messages[route].push_back({op, microBatch, value.clone()});
}

FailureOr<Tensor> TensorExchange::receive(Operation *op, const Route &route,
                                          int64_t microBatch,
                                          const TensorShape &shape) {
  std::deque<Message> &queue = messages[route];
  if (failed(scheduler.waitUntil(
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

static int64_t getRowBytes(const Tensor &tensor) {
  const TensorShape &shape = tensor.getShape();
  return shape.dims.back() * mf::getBytes(shape.type);
}

static program::Exchange describe(Operation *op,
                                  const ir::EmittedCollective &collective,
                                  const TensorExchange::Member &member,
                                  size_t numMembers) {
  program::Exchange exchange;
  exchange.kind = collective.kind;
  exchange.reduction = collective.reduction;
  exchange.type = member.input.getShape().type;
  if (collective.kind != CollectiveKind::AllToAllV)
    return exchange;
  exchange.rows.rowBytes = getRowBytes(member.input);
  exchange.rows.experts = static_cast<int64_t>(
      member.send.getShape().getNumElements() / numMembers);
  exchange.rows.fill = collective.fill;
  if (auto compute = dyn_cast<ir::ComputeOpInterface>(op))
    exchange.rows.cell = compute.getCellName().str();
  return exchange;
}

static ranks::Contribution
getContribution(const TensorExchange::Member &member) {
  auto getData = [](const Tensor &tensor) {
    return reinterpret_cast<std::byte *>(tensor.getBytes().data());
  };
  ranks::Contribution own;
  own.input = getData(member.input);
  own.inputBytes = member.input.getShape().getBytes();
  own.output = getData(member.output);
  own.outputBytes = member.output.getShape().getBytes();
  if (member.send) {
    own.send = member.send.getElements<float>().data();
    own.receive = member.receive.getElements<float>().data();
  }
  return own;
}

/// Computes the outputs of all members, after all of them have arrived.
LogicalResult TensorExchange::compute(Operation *op,
                                      const ir::EmittedCollective &collective,
                                      const Collective &arrived) {
  llvm::ArrayRef<int64_t> ranks = arrived.ranks;
  std::vector<ranks::Contribution> members;
  for (int64_t rank : ranks)
    members.push_back(getContribution(arrived.members.at(rank)));
  const program::Exchange exchange =
      describe(op, collective, arrived.members.begin()->second, members.size());
  if (collective.kind == CollectiveKind::AllToAllV) {
    std::vector<RowCounts> counts;
    for (const ranks::Contribution &member : members)
      counts.push_back(ranks::getCounts(exchange, member, members.size()));
    if (std::optional<RowCountError> error = ranks::findRowCountError(
            exchange, collective.channel, counts, ranks, members.front()))
      return op->emitError("rank ")
             << ranks[error->member] << ": " << error->reason;
  }
  for (size_t place = 0; place < members.size(); ++place)
    ranks::computeShare(exchange, members, place);
  return success();
}

LogicalResult TensorExchange::communicate(Operation *op, int64_t rank,
                                          llvm::ArrayRef<int64_t> members,
                                          const ir::EmittedCollective &what,
                                          const Member &own) {
  if (!llvm::is_contained(members, rank))
    return op->emitError("rank ")
           << rank << " is not a member of the group of '" << what.channel
           << "'";
  Collective &collective = collectives[{
      what.channel, *std::min_element(members.begin(), members.end())}];
  if (collective.members.empty()) {
    collective.ranks = members.vec();
    collective.kind = what.kind;
  } else if (llvm::ArrayRef(collective.ranks) != members ||
             collective.kind != what.kind ||
             !collective.members.begin()->second.hasShapesOf(own)) {
    return op->emitError("takes part in '")
           << what.channel << "' with another kind, group or shape than rank "
           << collective.members.begin()->first;
  }
  collective.members[rank] = own;
  if (collective.members.size() < members.size())
    return scheduler.waitUntil(op,
                               "the other members of '" + what.channel + "'",
                               [&collective, before = collective.numDone] {
                                 return collective.numDone != before;
                               });
  // The other members wait, so that their inputs do not change before the last
  // member has read them.
  if (failed(compute(op, what, collective)))
    return failure();
  collective.members.clear();
  ++collective.numDone;
  return success();
}

LogicalResult TensorExchange::checkAllReceived() const {
  for (const auto &[route, queue] : messages)
    if (!queue.empty())
      return queue.front().sender->emitError("sends a message to ")
             << route.to << " on channel '" << route.channel
             << "' that nobody receives";
  return success();
}

} // namespace mf::interpreter
