//===- VerifyTransfers.cpp - Whether all messages of a schedule arrive ----===//

#include "ErrorBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using llvm::createStringError;
using llvm::Error;
using llvm::Twine;

namespace mf::schedule {

namespace {

/// Tasks and transfers as nodes of one graph: transfer i is node `tasks` + i.
/// Which waits for which does not depend on how long anything takes.
class TransferChecker {
public:
  TransferChecker(const Schedule &schedule, llvm::ArrayRef<Transfer> transfers)
      : schedule(schedule), transfers(transfers), order(schedule) {}

  Error verify();

private:
  Error checkMessages() const;
  Error checkChannels();
  void addTransferEdges(WaitGraph &graph) const;
  int64_t getNode(const Task &task) const {
    return order.getNumbers().getNumber(task);
  }

  const Schedule &schedule;
  llvm::ArrayRef<Transfer> transfers;
  StageOrder order;
  /// The transfers of each channel (sending chunk, direction), in order.
  std::vector<std::vector<int64_t>> channels;
};

/// Verifies that there is one transfer for every input from another stage.
Error TransferChecker::checkMessages() const {
  const Pipeline &pipeline = schedule.pipeline;
  const TaskNumbers &numbers = order.getNumbers();
  // A task has one input from another chunk at most.
  std::vector<bool> isSent(numbers.size(), false);
  for (const Transfer &transfer : transfers) {
    if (!numbers.isKnown(transfer.producer) ||
        !numbers.isKnown(transfer.reader))
      return createStringError(
          "a transfer from " + pipeline.getName(transfer.producer) +
          " of chunk " + Twine(transfer.producer.chunk) + " to " +
          pipeline.getName(transfer.reader) + " of chunk " +
          Twine(transfer.reader.chunk) + ", expected tasks of the schedule");
    if (order.getStage(transfer.producer) == order.getStage(transfer.reader) ||
        !llvm::is_contained(getInputs(pipeline, transfer.reader),
                            transfer.producer))
      return ErrorBuilder(order) << transfer
                                 << " is none, expected a result that the "
                                    "reader takes from another stage";
    if (transfer.ahead < 1 || transfer.behind < 1)
      return ErrorBuilder(order)
             << transfer << " is ahead " << Twine(transfer.ahead)
             << " and behind " << Twine(transfer.behind)
             << ", expected both at least 1";
    int64_t reader = numbers.getNumber(transfer.reader);
    if (isSent[reader])
      return ErrorBuilder(order)
             << transfer << " is there twice, expected once";
    isSent[reader] = true;
  }
  for (int64_t number = 0; number < numbers.size(); ++number) {
    Task task = numbers.getTask(number);
    for (const Task &input : getInputs(pipeline, task))
      if (!isSent[number] && order.getStage(input) != order.getStage(task))
        return ErrorBuilder(order)
               << Transfer{input, task} << " is missing, expected a transfer";
  }
  return Error::success();
}

/// Verifies that the messages of each channel are read in the order in which
/// they are sent.
Error TransferChecker::checkChannels() {
  channels.assign(2 * schedule.pipeline.getNumChunks(), {});
  for (size_t index = 0; index < transfers.size(); ++index) {
    const Task &producer = transfers[index].producer;
    bool isForward = producer.phase == Phase::Forward;
    channels[2 * producer.chunk + (isForward ? 0 : 1)].push_back(index);
  }
  for (std::vector<int64_t> &channel : channels) {
    llvm::sort(channel, [&](int64_t one, int64_t other) {
      return order.getPosition(transfers[one].producer) <
             order.getPosition(transfers[other].producer);
    });
    for (size_t index = 1; index < channel.size(); ++index) {
      const Transfer &first = transfers[channel[index - 1]];
      const Transfer &second = transfers[channel[index]];
      if (order.getPosition(first.reader) > order.getPosition(second.reader))
        return ErrorBuilder(order)
               << first.producer << " runs before " << second.producer
               << ", but " << first.reader << " runs behind " << second.reader
               << ", expected messages to be read in the order in which they "
                  "are made";
    }
  }
  return Error::success();
}

void TransferChecker::addTransferEdges(WaitGraph &graph) const {
  int64_t tasks = order.getNumbers().size();
  for (size_t index = 0; index < transfers.size(); ++index) {
    const Transfer &transfer = transfers[index];
    int64_t node = tasks + index;
    graph.addEdge(getNode(transfer.producer), node);
    graph.addEdge(node, getNode(transfer.reader));
    int64_t issuedBehind = order.getPosition(transfer.reader) - 1;
    llvm::ArrayRef<Task> receiver =
        schedule.stages[order.getStage(transfer.reader)];
    // Compared this way round, as both numbers may be of any size.
    if (transfer.ahead <= issuedBehind)
      graph.addEdge(getNode(receiver[issuedBehind - transfer.ahead]), node);
    llvm::ArrayRef<Task> sender =
        schedule.stages[order.getStage(transfer.producer)];
    int64_t position = order.getPosition(transfer.producer);
    if (transfer.behind < static_cast<int64_t>(sender.size()) - position)
      graph.addEdge(node, getNode(sender[position + transfer.behind]));
  }
  for (const std::vector<int64_t> &channel : channels)
    for (size_t index = 1; index < channel.size(); ++index)
      graph.addEdge(tasks + channel[index - 1], tasks + channel[index]);
}

Error TransferChecker::verify() {
  if (Error error = checkMessages())
    return error;
  if (Error error = checkChannels())
    return error;
  int64_t tasks = order.getNumbers().size();
  WaitGraph graph(tasks + transfers.size());
  order.addEdges(graph, [&](const Task &input, const Task &task) {
    return order.getStage(input) == order.getStage(task);
  });
  addTransferEdges(graph);
  graph.index();
  std::vector<int64_t> cycle = graph.findCycle();
  if (cycle.empty())
    return Error::success();
  return (ErrorBuilder(order) << "deadlock: ")
      .addCycle(std::move(cycle), transfers);
}

} // namespace

Error verifyTransfers(const Schedule &schedule,
                      llvm::ArrayRef<Transfer> transfers) {
  if (Error error = schedule.verify())
    return error;
  return TransferChecker(schedule, transfers).verify();
}

} // namespace mf::schedule
