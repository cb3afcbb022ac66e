//===- VerifyTransfers.cpp - Verifies that all messages arrive ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ErrorBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using llvm::createStringError;
using llvm::Error;
using llvm::Twine;

namespace mf::schedule {

namespace {

/// Tasks and transfers as nodes of one graph: transfer i is node `tasks` + i.
/// The edges do not depend on how long anything takes.
class TransferChecker {
public:
  TransferChecker(const Schedule &schedule, llvm::ArrayRef<Transfer> transfers)
      : schedule(schedule), transfers(transfers),
        graph(schedule, TaskGraph::InputEdges::None) {}

  Error verify() {
    if (Error error = checkMessages())
      return error;
    if (Error error = checkChannels())
      return error;
    addTransferNodes();
    std::vector<int64_t> cycle = graph.findCycle();
    if (cycle.empty())
      return Error::success();
    return (ErrorBuilder(graph) << "deadlock: ")
        .addCycle(std::move(cycle), transfers);
  }

private:
  /// Verifies that there is exactly one transfer for every input from another
  /// stage.
  Error checkMessages() const {
    const Pipeline &pipeline = schedule.pipeline;
    std::vector<bool> isSent(graph.getNumTasks(), false);
    for (const Transfer &transfer : transfers) {
      if (!graph.isKnown(transfer.producer) || !graph.isKnown(transfer.reader))
        return createStringError(
            "a transfer from " + pipeline.getName(transfer.producer) +
            " of chunk " + Twine(transfer.producer.chunk) + " to " +
            pipeline.getName(transfer.reader) + " of chunk " +
            Twine(transfer.reader.chunk) + ", expected tasks of the schedule");
      if (getProducer(pipeline, transfer.reader) != transfer.producer)
        return ErrorBuilder(graph) << transfer
                                   << " is none, expected a result that the "
                                      "reader takes from another stage";
      if (transfer.ahead < 1 || transfer.behind < 1)
        return ErrorBuilder(graph)
               << transfer << " is ahead " << Twine(transfer.ahead)
               << " and behind " << Twine(transfer.behind)
               << ", expected both at least 1";
      int64_t reader = graph.getNumber(transfer.reader);
      if (isSent[reader])
        return ErrorBuilder(graph)
               << transfer << " is there twice, expected once";
      isSent[reader] = true;
    }
    for (int64_t number = 0; number < graph.getNumTasks(); ++number) {
      Task task = graph.getTask(number);
      if (!graph.isKnown(task))
        continue;
      std::optional<Task> producer = getProducer(pipeline, task);
      if (producer && !isSent[number])
        return ErrorBuilder(graph) << Transfer{*producer, task}
                                   << " is missing, expected a transfer";
    }
    return Error::success();
  }

  /// Verifies that the messages of each channel are read in the order in which
  /// they are sent.
  Error checkChannels() {
    channels.assign(2 * schedule.pipeline.getNumChunks(), {});
    for (size_t index = 0; index < transfers.size(); ++index) {
      const Task &producer = transfers[index].producer;
      bool isForward = producer.phase == Phase::Forward;
      channels[2 * producer.chunk + (isForward ? 0 : 1)].push_back(
          static_cast<int64_t>(index));
    }
    for (std::vector<int64_t> &channel : channels) {
      llvm::sort(channel, [&](int64_t one, int64_t other) {
        return graph.getPosition(transfers[one].producer) <
               graph.getPosition(transfers[other].producer);
      });
      for (size_t index = 1; index < channel.size(); ++index) {
        const Transfer &first = transfers[channel[index - 1]];
        const Transfer &second = transfers[channel[index]];
        if (graph.getPosition(first.reader) > graph.getPosition(second.reader))
          return ErrorBuilder(graph)
                 << first.producer << " runs before " << second.producer
                 << ", but " << first.reader << " runs behind " << second.reader
                 << ", expected messages to be read in the order in which they "
                    "are made";
      }
    }
    return Error::success();
  }

  void addTransferNodes() {
    int64_t tasks = graph.getNumTasks();
    graph.addNodes(static_cast<int64_t>(transfers.size()));
    for (size_t index = 0; index < transfers.size(); ++index) {
      const Transfer &transfer = transfers[index];
      auto node = static_cast<int64_t>(tasks + index);
      graph.addEdge(graph.getNode(transfer.producer), node);
      graph.addEdge(node, graph.getNode(transfer.reader));
      int64_t issuedBehind = graph.getPosition(transfer.reader) - 1;
      llvm::ArrayRef<Task> receiver =
          schedule.stages[graph.getStage(transfer.reader)];
      // `ahead` may be any number, so it is not added to another one, which
      // could overflow.
      if (transfer.ahead <= issuedBehind)
        graph.addEdge(graph.getNode(receiver[issuedBehind - transfer.ahead]),
                      node);
      llvm::ArrayRef<Task> sender =
          schedule.stages[graph.getStage(transfer.producer)];
      int64_t position = graph.getPosition(transfer.producer);
      if (transfer.behind < static_cast<int64_t>(sender.size()) - position)
        graph.addEdge(node, graph.getNode(sender[position + transfer.behind]));
    }
    for (const std::vector<int64_t> &channel : channels)
      for (size_t index = 1; index < channel.size(); ++index)
        graph.addEdge(tasks + channel[index - 1], tasks + channel[index]);
  }

  const Schedule &schedule;
  llvm::ArrayRef<Transfer> transfers;
  TaskGraph graph;
  /// The transfers of each channel (sending chunk, direction), in order.
  std::vector<std::vector<int64_t>> channels;
};

} // namespace

Error verifyTransfers(const Schedule &schedule,
                      llvm::ArrayRef<Transfer> transfers) {
  if (Error error = schedule.verify())
    return error;
  return TransferChecker(schedule, transfers).verify();
}

} // namespace mf::schedule
