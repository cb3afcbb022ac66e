//===- Liveness.cpp - Lifetimes of the buffers of a step ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Liveness.h"
#include "StreamClocks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <deque>

namespace mf::program {

namespace {

/// Uses of buffers by other streams that may still go on when the compute
/// stream continues. They are stored by stream, in the order of their positions
/// there.
template <typename Buffer> class PendingUses {
public:
  explicit PendingUses(size_t numStreams) : streams(numStreams) {}

  void add(uint32_t stream, uint64_t position, const Buffer &buffer) {
    streams[stream].push_back({position, buffer});
  }

  /// Removes the uses that the compute stream knows to be over, and calls
  /// `visit` with the buffer of each.
  template <typename Visit>
  void settle(const StreamClocks &clocks, uint32_t compute, Visit visit) {
    for (uint32_t stream = 0; stream < streams.size(); ++stream) {
      auto &uses = streams[stream];
      if (uses.empty())
        continue;
      const uint64_t known = clocks.getClock(compute, stream);
      for (; !uses.empty() && uses.front().first <= known; uses.pop_front())
        visit(uses.front().second);
    }
  }

  /// Calls `visit` with the buffer of each remaining use that the compute
  /// stream knows to be over, and removes the uses for which it returns true.
  template <typename Visit>
  void eraseKnown(const StreamClocks &clocks, uint32_t compute, Visit visit) {
    for (uint32_t stream = 0; stream < streams.size(); ++stream) {
      auto &uses = streams[stream];
      if (uses.empty())
        continue;
      const uint64_t known = clocks.getClock(compute, stream);
      uses.erase(std::remove_if(uses.begin(), uses.end(),
                                [&](const auto &use) {
                                  return use.first <= known &&
                                         visit(use.second);
                                }),
                 uses.end());
    }
  }

  template <typename Visit> void forEach(Visit visit) {
    for (uint32_t stream = 0; stream < streams.size(); ++stream)
      for (auto &use : streams[stream])
        visit(stream, use.second);
  }

private:
  std::vector<std::deque<std::pair<uint64_t, Buffer>>> streams;
};

//===----------------------------------------------------------------------===//
// Routines
//===----------------------------------------------------------------------===//

class RoutineAnalysis {
public:
  RoutineAnalysis(const StageProgram &stage, const Routine &routine)
      : stage(stage), routine(routine), clocks(stage, routine.body),
        pending(stage.streams.size()), momentsBehind(1, 0) {
    scope.list = &routine.body;
    result.arguments.resize(routine.numArguments);
    if (routine.layout)
      result.slots.resize(stage.layouts[*routine.layout].slots.size());
    for (const Buffer &buffer : routine.body.buffers)
      if (buffer.kind == BufferKind::Temporary)
        result.temporaries.emplace_back();
  }

  RoutineLiveness run() {
    for (uint32_t i = 0; i < routine.body.instructions.size(); ++i)
      visit(i);
    // Memory is needed to the end if no wait orders anything after its use.
    const auto end = static_cast<int64_t>(result.instructions.size());
    pending.forEach([&](uint32_t stream, const RangeUse &use) {
      use.range->end = std::max(use.range->end, end);
      if (use.kind != BufferKind::Temporary)
        result.open.push_back({stream, use.kind, use.index});
    });
    return std::move(result);
  }

private:
  struct RangeUse {
    MomentRange *range;
    BufferKind kind;
    uint32_t index;
  };

  /// Returns null for memory that lives beyond the routine.
  MomentRange *find(const Operand &operand) {
    const Buffer &buffer = routine.body.buffers[operand.buffer];
    switch (buffer.kind) {
    case BufferKind::Temporary:
      return &result.temporaries[buffer.index];
    case BufferKind::Argument:
      return &result.arguments[buffer.index];
    case BufferKind::Slot:
      return &result.slots[buffer.index];
    case BufferKind::Static:
      if (isOfStep(stage.statics[buffer.index].role))
        return &result.statics[buffer.index];
      break;
    case BufferKind::Message:
      break;
    }
    return nullptr;
  }

  void visit(uint32_t number) {
    const Instruction &instruction = routine.body.instructions[number];
    const bool isCompute = instruction.stream == stage.computeStream;
    const uint64_t position = clocks.begin(scope, instruction);
    if (!instruction.accesses.empty() ||
        (isCompute && !instruction.awaited.empty())) {
      moment = static_cast<int64_t>(result.instructions.size());
      result.instructions.push_back(number);
    }
    if (isCompute && !instruction.awaited.empty())
      pending.settle(clocks, stage.computeStream,
                     [&](const RangeUse &use) { use.range->end = moment + 1; });
    const int64_t start = isCompute ? moment : getStart(instruction.stream);
    for (const MemoryAccess &access : instruction.accesses) {
      MomentRange *range = find(access.operand);
      if (!range)
        continue;
      range->begin = range->isUsed() ? std::min(range->begin, start) : start;
      range->end = moment + 1;
      range->lastInstruction = number;
      if (isCompute)
        continue;
      range->onlyCompute = false;
      const Buffer &buffer = routine.body.buffers[access.operand.buffer];
      pending.add(instruction.stream, position,
                  {range, buffer.kind, buffer.index});
    }
    if (isCompute)
      momentsBehind.push_back(static_cast<int64_t>(result.instructions.size()));
    clocks.end(scope, instruction);
  }

  /// Returns the earliest start of work that is issued to another stream now.
  /// It follows the moments for which the stream waits, which may be earlier
  /// than the moment of issue.
  int64_t getStart(uint32_t stream) const {
    return momentsBehind[clocks.getClock(stream, stage.computeStream)];
  }

  const StageProgram &stage;
  const Routine &routine;
  Scope scope;
  StreamClocks clocks;
  PendingUses<RangeUse> pending;
  /// The moment after each position (from 1) on the compute stream.
  std::vector<int64_t> momentsBehind;
  int64_t moment = 0;
  RoutineLiveness result;
};

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

class StepAnalysis {
public:
  explicit StepAnalysis(const StageProgram &stage)
      : stage(stage), clocks(stage), pending(stage.streams.size()) {
    scope.list = &stage.step;
  }

  StepLiveness run() {
    for (const Routine &routine : stage.routines)
      result.routines.push_back(RoutineAnalysis(stage, routine).run());
    for (const FrameLayout &layout : stage.layouts)
      result.slotsOfStep.emplace_back(layout.slots.size(), false);
    for (const Buffer &buffer : stage.step.buffers) {
      if (buffer.kind == BufferKind::Message)
        result.messages.emplace_back();
      if (buffer.kind == BufferKind::Slot)
        result.slotsOfStep[stage.frames[buffer.frame].layout][buffer.index] =
            true;
    }
    result.statics.resize(stage.statics.size());
    collectCalls();
    for (uint32_t i = 0; i < stage.step.instructions.size(); ++i) {
      const Instruction &instruction = stage.step.instructions[i];
      if (const Call *call = stage.step.getCall(instruction))
        visitCall(*call, instruction, i);
      else
        visitOther(instruction);
    }
    // The host waits for all streams at the end.
    pending.forEach([&](uint32_t, MessageRange *message) {
      extend(*message, {numCalls, 0}, {numCalls, 0});
    });
    keepForHost();
    return std::move(result);
  }

private:
  void collectCalls() {
    int64_t time = 0;
    for (uint32_t i = 0; i < stage.step.instructions.size(); ++i) {
      const Call *call = stage.step.getCall(stage.step.instructions[i]);
      if (!call)
        continue;
      result.calls.push_back(i);
      result.starts.push_back(time);
      time += result.routines[call->routine].getLength();
    }
    result.starts.push_back(time);
  }

  void visitCall(const Call &call, const Instruction &instruction,
                 uint32_t position) {
    const RoutineLiveness &routine = result.routines[call.routine];
    const uint32_t compute = stage.computeStream;
    clocks.begin(scope, instruction);
    pending.settle(clocks, compute, [&](MessageRange *message) {
      extend(*message, {numCalls, 0}, {numCalls, 0});
    });
    for (size_t i = 0; i < call.arguments.size(); ++i)
      if (MessageRange *message = find(call.arguments[i]))
        useInCall(*message, routine.arguments[i], position);
    for (const auto &[number, use] : routine.statics)
      useInCall(result.statics[number], use, position);
    const int64_t start = result.starts[numCalls];
    for (const CallRecord &record : call.records) {
      const auto behind =
          std::upper_bound(routine.instructions.begin(),
                           routine.instructions.end(), record.instruction) -
          routine.instructions.begin();
      clocks.setPosition(compute, start + behind);
      clocks.end(scope, record.record);
    }
    clocks.setPosition(compute, start + routine.getLength());
    for (const uint32_t event : call.events)
      clocks.wait(compute, event);
    // A message for which the routine itself waits is live until its use there.
    pending.eraseKnown(clocks, compute, [&](MessageRange *message) {
      const auto isPassed = [&](const Operand &argument) {
        return find(argument) == message;
      };
      const auto isMeant = [&](const auto &use) {
        return &result.statics[use.first] == message;
      };
      return llvm::any_of(call.arguments, isPassed) ||
             llvm::any_of(routine.statics, isMeant);
    });
    keepOpen(call, routine);
    ++numCalls;
  }

  void visitOther(const Instruction &instruction) {
    const bool isCompute = instruction.stream == stage.computeStream;
    const auto before = clocks.getClock(instruction.stream, instruction.stream);
    const uint64_t position = clocks.begin(scope, instruction);
    // The clock of the compute stream counts the moments of calls.
    if (isCompute)
      clocks.setPosition(instruction.stream, before);
    for (const MemoryAccess &access : instruction.accesses) {
      MessageRange *message = find(access.operand);
      if (!message)
        continue;
      message->isExchanged |= instruction.work == Work::Exchange;
      message->isCopied |= instruction.work == Work::Copy;
      message->onlyCompute = false;
      usedElsewhere.insert(message);
      const CallMoment start = getStart(instruction.stream);
      // Between two calls, the compute stream counts as overlapping both of
      // them.
      extend(*message, start,
             isCompute
                 ? CallMoment{numCalls, numCalls < static_cast<int64_t>(
                                                       result.calls.size())
                                            ? 1
                                            : 0}
                 : start);
      if (!isCompute)
        pending.add(instruction.stream, position, message);
    }
    clocks.end(scope, instruction);
  }

  void useInCall(MessageRange &message, const MomentRange &use,
                 uint32_t position) {
    // A part of a routine is passed what only other parts use.
    if (!use.isUsed())
      return;
    extend(message, {numCalls, use.begin}, {numCalls, use.end});
    message.lastPosition = position;
    message.lastInstruction = use.lastInstruction;
    message.onlyCompute = use.onlyCompute && !usedElsewhere.count(&message);
    if (!use.onlyCompute)
      usedElsewhere.insert(&message);
  }

  /// Memory that other streams use behind a call is needed until the compute
  /// stream knows that they are done.
  void keepOpen(const Call &call, const RoutineLiveness &routine) {
    for (const OpenUse &use : routine.open) {
      MessageRange *message = nullptr;
      if (use.kind == BufferKind::Argument)
        message = find(call.arguments[use.index]);
      else if (use.kind == BufferKind::Static)
        message = &result.statics[use.index];
      if (!message)
        continue;
      Instruction work;
      work.stream = use.stream;
      pending.add(use.stream, clocks.begin(scope, work), message);
    }
  }

  /// The host may read gradients before the update, or at the end of a step
  /// that has none.
  void keepForHost() {
    const auto isUpdate = [&](uint32_t position) {
      const Call &call = *stage.step.getCall(stage.step.instructions[position]);
      return stage.routines[call.routine].updatesParameters;
    };
    const int64_t read =
        std::find_if(result.calls.begin(), result.calls.end(), isUpdate) -
        result.calls.begin();
    for (uint32_t i = 0; i < stage.statics.size(); ++i) {
      MessageRange &range = result.statics[i];
      if (stage.statics[i].role != Role::Gradient || !range.isUsed ||
          !(range.end < CallMoment{read, 0}))
        continue;
      range.end = {read, 0};
      range.onlyCompute = false;
    }
  }

  /// Returns the message, or the static that lives for a part of the step, that
  /// an operand uses; null for other operands.
  MessageRange *find(const Operand &operand) {
    const Buffer &buffer = stage.step.buffers[operand.buffer];
    if (buffer.kind == BufferKind::Message)
      return &result.messages[buffer.index];
    if (buffer.kind == BufferKind::Static &&
        isOfStep(stage.statics[buffer.index].role))
      return &result.statics[buffer.index];
    return nullptr;
  }
  static void extend(MessageRange &message, CallMoment begin, CallMoment end) {
    message.begin = message.isUsed ? std::min(message.begin, begin) : begin;
    message.end = message.isUsed ? std::max(message.end, end) : end;
    message.isUsed = true;
  }

  /// Returns the earliest moment at which work that is issued to another stream
  /// now may start: during the last moment of the compute stream that is known
  /// to be over. A later wait of the stream does not count, because it may
  /// still be pending.
  CallMoment getStart(uint32_t stream) const {
    const auto over =
        static_cast<int64_t>(clocks.getClock(stream, stage.computeStream));
    if (over == 0)
      return {0, 0};
    auto next = std::upper_bound(result.starts.begin(), result.starts.end() - 1,
                                 over - 1);
    const int64_t call = next - result.starts.begin() - 1;
    return {call, over - 1 - result.starts[call]};
  }

  const StageProgram &stage;
  Scope scope;
  StreamClocks clocks;
  PendingUses<MessageRange *> pending;
  /// Messages with uses other than by calls on the compute stream.
  llvm::SmallPtrSet<const MessageRange *, 16> usedElsewhere;
  /// The number of calls before the visited instruction.
  int64_t numCalls = 0;
  StepLiveness result;
};

} // namespace

StepLiveness computeLiveness(const StageProgram &stage) {
  return StepAnalysis(stage).run();
}

} // namespace mf::program
