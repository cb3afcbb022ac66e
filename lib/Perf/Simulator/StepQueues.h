//===- StepQueues.h - A step on the queues of the simulator -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each stream of each stage is a queue. All ranks of a stage run the same
// program at the same time, so one rank represents them all
// (lib/Program/ProgressVerifier.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PERF_SIMULATOR_STEPQUEUES_H
#define MF_LIB_PERF_SIMULATOR_STEPQUEUES_H

#include "StepCosts.h"
#include "mf/Perf/EventEngine/Queues.h"
#include "mf/Program/StepWalker.h"
#include "llvm/ADT/STLExtras.h"
#include <deque>

namespace mf::simulator {

enum class OpKind : uint8_t {
  /// Successive kernels.
  Kernels,
  Copy,
  Exchange,
  Wait,
  Record,
  /// A place at which a call may record events of the step.
  CallRecord,
  Call
};

struct Op {
  OpKind kind = OpKind::Kernels;
  /// For a Wait, true if a call passes the event.
  bool isArgument = false;
  uint32_t stream = 0;
  /// The number of the event, or of the cost of the exchange.
  uint32_t operand = 0;
  /// The instructions of the list. For Kernels, those in [first, last] that are
  /// kernels of the stream.
  uint32_t first = 0;
  uint32_t last = 0;
  /// The time of Kernels and Copy.
  double seconds = 0;

  /// Calls `visit(number, instruction)` for the kernels of Kernels, in order.
  template <typename Visitor>
  void forEachKernel(const program::InstructionList &list,
                     Visitor visit) const {
    for (uint32_t i = first; i <= last; ++i)
      if (list.instructions[i].work == program::Work::Kernel &&
          list.instructions[i].stream == stream)
        visit(i, list.instructions[i]);
  }
};

/// The operations of a stage's step and routines.
struct StageOps {
  std::vector<Op> step;
  std::vector<std::vector<Op>> routines;
};

StageOps makeStageOps(const program::Program &program, size_t stage,
                      const StepCosts &costs);

/// An item that is put on a queue.
struct Emitted {
  const Op *op = nullptr;
  /// The list of the item, and the call that runs the list; the call is null in
  /// the step's own list.
  const program::InstructionList *list = nullptr;
  const program::Call *call = nullptr;
  /// The position of the call or of the instruction in the step.
  uint32_t position = 0;
  uint32_t stream = 0;
  /// The event of a Wait or Record, in a numbering of the whole step of the
  /// stage.
  uint64_t event = 0;
};

class StepQueues {
public:
  /// Times are rounded to multiples of `tick`, a power of two. They are not
  /// rounded if it is 0.
  StepQueues(const program::Program &program, const StepCosts &costs,
             double tick);

  /// Fails with a LocatedError if queues wait for each other.
  llvm::Expected<events::Timeline> simulate() const;

  const events::Queues &getQueues() const { return queues; }
  events::QueueId getQueue(size_t stage, uint32_t stream) const {
    return firstQueues[stage] + static_cast<events::QueueId>(stream);
  }

  /// Returns whether kernels and exchanges of the stage slow each other.
  bool hasDevice(size_t stage) const { return devices[stage] >= 0; }
  /// Returns the time at which the last member of each rendezvous arrives,
  /// which is its start.
  std::vector<double> getGroupStarts(const events::Timeline &times) const;

  /// Calls `visit(emitted)` for each item of a stage, in the order in which
  /// they were put on queues. The k-th item of a stream is item k of its queue.
  template <typename Visitor> void walk(size_t stage, Visitor visit) const;

  /// Describes the instruction or call of an item, for messages.
  std::string describeItem(events::ItemId item) const;
  /// Returns the place of an item in the program.
  uint32_t getLocation(events::ItemId item) const;

private:
  void addStage(size_t stage);
  void addLinks(size_t stage);
  /// Adds a device if kernels of the stage and its exchanges slow each other.
  void addDevice(size_t stage);
  /// Returns the links of the networks that a transfer uses, on the sending or
  /// on the receiving stage. Links that only one stream uses are left out.
  void getLinks(size_t stage, const target::TransferCost &cost, bool isSend,
                llvm::SmallVectorImpl<events::LinkId> &links) const;
  events::GroupId addGroup(size_t stage, events::QueueId queue,
                           const program::Channel &channel,
                           const target::TransferCost &cost);
  void addItem(size_t stage, const Emitted &emitted);
  void addExchange(size_t stage, events::QueueId queue, const Emitted &emitted);
  std::pair<size_t, Emitted> find(events::ItemId item) const;

  const program::Program &program;
  const StepCosts &costs;
  std::vector<StageOps> ops;
  struct StageScopes {
    program::InstanceTable table;
    program::StepWalker walker;
    explicit StageScopes(const program::StageProgram &stage)
        : table(stage), walker(stage, table) {}
  };
  std::deque<StageScopes> scopes;
  events::Queues queues;
  /// The first queue of each stage.
  std::vector<events::QueueId> firstQueues;
  std::vector<events::EventId> firstEvents;
  /// For each stage, network and direction (sent, received), the link, or -1.
  std::vector<std::vector<std::array<events::LinkId, 2>>> links;
  /// For each stage, the device on which kernels and exchanges slow each other,
  /// or -1.
  std::vector<events::LinkId> devices;
  /// For each channel, the rendezvous of its uses between stages and, for each
  /// stage and side, the number of those that it has reached.
  std::vector<std::vector<events::GroupId>> groups;
  std::vector<std::vector<std::array<uint32_t, 2>>> numExchanges;
};

template <typename Visitor>
void StepQueues::walk(size_t number, Visitor visit) const {
  auto getCall = [](const Op &op) {
    return op.kind == OpKind::Call ? std::optional(op.first) : std::nullopt;
  };
  const StageOps &ofStage = ops[number];
  scopes[number].walker.walkItems<Op>(
      ofStage.step, ofStage.routines, getCall,
      [&](const program::Scope &scope, const Op &op) {
        Emitted emitted{&op,        scope.list,
                        scope.call, scope.call ? scope.callPosition : op.first,
                        op.stream,  0};
        if (op.kind == OpKind::CallRecord) {
          llvm::ArrayRef<program::CallRecord> records = scope.call->records;
          for (const auto *record =
                   llvm::partition_point(records,
                                         [&](const program::CallRecord &other) {
                                           return other.instruction < op.first;
                                         });
               record != records.end() && record->instruction == op.first;
               ++record) {
            emitted.event = *record->record.recorded;
            emitted.stream = record->record.stream;
            visit(emitted);
          }
          return;
        }
        if (op.kind == OpKind::Wait || op.kind == OpKind::Record)
          emitted.event =
              program::StepWalker::getEvent(scope, {op.operand, op.isArgument});
        visit(emitted);
      });
}

} // namespace mf::simulator

#endif // MF_LIB_PERF_SIMULATOR_STEPQUEUES_H
