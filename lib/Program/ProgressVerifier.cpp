//===- ProgressVerifier.cpp - Verifies that all exchanges complete --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the stages' streams on events and exchanges, the only instructions that
// can block. The order in which they run does not affect whether all streams
// complete, because each event and each exchange has only one source.
//
// All ranks of a stage run the same program, and groups and peers are named by
// axes. Hence ranks that differ only in axes other than `pp` are always in the
// same state, and an exchange among them is one of a rank with itself.
//
// In a call without exchanges among stages, streams only wait for each other
// and for the events that the call passes, and each event is recorded before
// others wait for it. Therefore a stream reaches the end of the call exactly if
// all streams that it waits for, directly or indirectly, reach its begin. Such
// calls are run in that shorter form.
//
//===----------------------------------------------------------------------===//

#include "mf/Program/Description.h"
#include "mf/Program/StepWalker.h"
#include "mf/Program/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include <map>
#include <memory>

namespace mf::program {

namespace {

/// An action of a stream that others wait for, or that waits for others.
struct Item {
  uint32_t position = 0;
  uint32_t instruction = 0;
  /// Events are numbered through the expanded step.
  llvm::SmallVector<uint64_t, 1> awaited;
  std::optional<uint64_t> recorded;
  const Exchange *exchange = nullptr;
};

struct StreamState {
  std::vector<Item> items;
  size_t next = 0;
  /// True if the next item has arrived at its channel.
  bool hasArrived = false;
};

struct StageState {
  std::vector<StreamState> streams;
  std::vector<bool> isRecorded;
};

/// The parties that have arrived at the next exchange: stages, or the sending
/// and the receiving side of one stage.
struct ChannelState {
  size_t numParties = 0;
  size_t numArrived = 0;
  uint64_t generation = 0;
};

/// A wait of a stream for sources that it has not waited for before in the
/// routine. Sources are streams, at the begin of the call, followed by the
/// events that the call passes.
struct CallWait {
  uint32_t instruction = 0;
  uint32_t stream = 0;
  llvm::SmallVector<uint32_t, 2> sources;
};

struct RoutineWaits {
  /// The instructions at which a stream may have to wait, or after which
  /// another stream may continue.
  std::vector<uint32_t> numbers;
  /// True if the routine has no exchange among stages, so that its calls can be
  /// represented by the begins of streams and waits for them.
  bool isShort = false;
  std::vector<CallWait> waits;
  /// The streams that others wait for.
  llvm::SmallBitVector begins;
};

class ProgressVerifier {
public:
  ProgressVerifier(const Program &program, CallProof calls)
      : program(program), calls(calls), generations(program.stages.size()) {
    for (const Channel &channel : program.channels) {
      size_t parties = 1;
      if (channel.isTransfer)
        parties = 2;
      else if (channel.group.crossesStages())
        parties = channel.group.stages.empty() ? program.stages.size()
                                               : channel.group.stages.size();
      channels.push_back({parties, 0, 0});
    }
  }

  llvm::Error verify(llvm::ArrayRef<uint32_t> ends) {
    for (size_t i = 0; i < program.stages.size(); ++i) {
      const StageProgram &stage = program.stages[i];
      collect(stage, ends.empty() ? stage.step.instructions.size() : ends[i]);
    }
    bool isMoving = true;
    while (isMoving) {
      isMoving = false;
      for (size_t stage = 0; stage < stages.size(); ++stage)
        for (StreamState &stream : stages[stage].streams)
          isMoving |= advance(stage, stream);
    }
    return makeError();
  }

private:
  void collect(const StageProgram &stage, uint32_t end) {
    StageState state;
    state.streams.resize(stage.streams.size());
    const InstanceTable table(stage);
    const StepWalker walker(stage, table);
    state.isRecorded.resize(table.getNumEvents(), false);
    std::vector<RoutineWaits> ofRoutines;
    for (const Routine &routine : stage.routines)
      ofRoutines.push_back(findWaits(stage, routine));
    for (uint32_t position : findNumbers(stage.step)) {
      if (position >= end)
        break;
      const Instruction &instruction = stage.step.instructions[position];
      const Call *call = stage.step.getCall(instruction);
      if (!call || instruction.recorded || !instruction.awaited.empty())
        addItem(state, walker.getStep(), instruction, position);
      if (call && ofRoutines[call->routine].isShort)
        addShortCall(state, walker, position, *call, ofRoutines[call->routine]);
      else if (call)
        addCall(state, walker, position, ofRoutines[call->routine]);
    }
    stages.push_back(std::move(state));
  }

  /// Returns the instructions of a list at which a stream may have to wait, or
  /// after which another stream may continue.
  std::vector<uint32_t> findNumbers(const InstructionList &list) const {
    std::vector<uint32_t> numbers;
    for (auto [number, instruction] : llvm::enumerate(list.instructions))
      if (instruction.work == Work::Call || instruction.recorded ||
          !instruction.awaited.empty() || findExchange(list, instruction))
        numbers.push_back(number);
    return numbers;
  }

  RoutineWaits findWaits(const StageProgram &stage,
                         const Routine &routine) const {
    RoutineWaits found;
    found.numbers = findNumbers(routine.body);
    found.isShort =
        calls == CallProof::Summarized &&
        llvm::none_of(found.numbers, [&](uint32_t number) {
          return findExchange(routine.body, routine.body.instructions[number]);
        });
    if (!found.isShort)
      return found;
    const size_t numStreams = stage.streams.size();
    const llvm::SmallBitVector none(numStreams + routine.numEventArguments);
    std::vector<llvm::SmallBitVector> streams(numStreams, none);
    std::vector<llvm::SmallBitVector> events(routine.body.numEvents, none);
    llvm::SmallBitVector isRecorded(routine.body.numEvents);
    for (size_t stream = 0; stream < numStreams; ++stream)
      streams[stream].set(stream);
    found.begins.resize(numStreams);
    for (uint32_t number : found.numbers) {
      const Instruction &instruction = routine.body.instructions[number];
      llvm::SmallBitVector &known = streams[instruction.stream];
      llvm::SmallBitVector added = none;
      for (const AwaitedEvent &awaited : instruction.awaited)
        if (awaited.isArgument)
          added.set(numStreams + awaited.event);
        else if (isRecorded.test(awaited.event))
          added |= events[awaited.event];
        else
          found.isShort = false;
      added.reset(known);
      known |= added;
      if (instruction.recorded) {
        events[*instruction.recorded] = known;
        isRecorded.set(*instruction.recorded);
      }
      if (added.none())
        continue;
      CallWait &wait = found.waits.emplace_back();
      wait.instruction = number;
      wait.stream = instruction.stream;
      for (unsigned source : added.set_bits()) {
        wait.sources.push_back(source);
        if (source < numStreams)
          found.begins.set(source);
      }
    }
    return found;
  }

  void addCall(StageState &state, const StepWalker &walker, uint32_t position,
               const RoutineWaits &waits) const {
    const Scope scope = walker.enter(position);
    const std::vector<CallRecord> &records = scope.call->records;
    size_t next = 0;
    for (uint32_t number : waits.numbers) {
      for (; next < records.size() && records[next].instruction < number;
           ++next)
        addItem(state, walker.getStep(), records[next].record, position);
      addItem(state, scope, scope.list->instructions[number], number);
    }
    for (; next < records.size(); ++next)
      addItem(state, walker.getStep(), records[next].record, position);
  }

  void addShortCall(StageState &state, const StepWalker &walker,
                    uint32_t position, const Call &call,
                    const RoutineWaits &waits) const {
    const size_t numStreams = state.streams.size();
    llvm::SmallVector<uint64_t, 8> begins(numStreams);
    for (unsigned stream : waits.begins.set_bits()) {
      Item &item = state.streams[stream].items.emplace_back();
      item.position = position;
      item.instruction = callItself;
      item.recorded = begins[stream] = state.isRecorded.size();
      state.isRecorded.push_back(false);
    }
    size_t next = 0;
    for (const CallWait &wait : waits.waits) {
      for (; next < call.records.size() &&
             call.records[next].instruction < wait.instruction;
           ++next)
        addItem(state, walker.getStep(), call.records[next].record, position);
      Item &item = state.streams[wait.stream].items.emplace_back();
      item.position = position;
      item.instruction = wait.instruction;
      for (uint32_t source : wait.sources)
        item.awaited.push_back(source < numStreams
                                   ? begins[source]
                                   : call.events[source - numStreams]);
    }
    for (; next < call.records.size(); ++next)
      addItem(state, walker.getStep(), call.records[next].record, position);
  }

  void addItem(StageState &state, const Scope &scope,
               const Instruction &instruction, uint32_t number) const {
    Item &item = state.streams[instruction.stream].items.emplace_back();
    item.position = scope.call ? scope.callPosition : number;
    item.instruction = scope.call ? number : callItself;
    for (const AwaitedEvent &awaited : instruction.awaited)
      item.awaited.push_back(StepWalker::getEvent(scope, awaited));
    if (instruction.recorded)
      item.recorded = scope.firstEvent + *instruction.recorded;
    item.exchange = findExchange(*scope.list, instruction);
  }

  /// Returns the instruction's exchange among stages, or null. Other exchanges
  /// never block.
  const Exchange *findExchange(const InstructionList &list,
                               const Instruction &instruction) const {
    const Exchange *exchange = list.getExchange(instruction);
    return exchange && channels[exchange->channel].numParties > 1 ? exchange
                                                                  : nullptr;
  }

  /// Advances a stream. Returns whether it made progress.
  bool advance(size_t stage, StreamState &stream) {
    const size_t before = stream.next;
    const bool hadArrived = stream.hasArrived;
    while (stream.next < stream.items.size() &&
           tryItem(stage, stream, stream.items[stream.next]))
      ++stream.next;
    return stream.next != before || stream.hasArrived != hadArrived;
  }

  bool tryItem(size_t stage, StreamState &stream, const Item &item) {
    std::vector<bool> &isRecorded = stages[stage].isRecorded;
    for (uint64_t event : item.awaited)
      if (!isRecorded[event])
        return false;
    if (item.exchange && !tryExchange(stage, stream, *item.exchange))
      return false;
    if (item.recorded)
      isRecorded[*item.recorded] = true;
    return true;
  }

  bool tryExchange(size_t stage, StreamState &stream,
                   const Exchange &exchange) {
    ChannelState &state = channels[exchange.channel];
    uint64_t &generation =
        generations[stage][{exchange.channel, exchange.isSend}];
    if (!stream.hasArrived) {
      stream.hasArrived = true;
      if (++state.numArrived == state.numParties) {
        state.numArrived = 0;
        ++state.generation;
      }
    }
    if (state.generation == generation)
      return false;
    ++generation;
    stream.hasArrived = false;
    return true;
  }

  llvm::Error makeError() const {
    std::unique_ptr<LocatedError> error;
    for (size_t number = 0; number < stages.size(); ++number)
      for (const StreamState &stream : stages[number].streams) {
        if (stream.next == stream.items.size())
          continue;
        const StageProgram &stage = program.stages[number];
        const Item &item = stream.items[stream.next];
        const uint32_t location =
            getInstruction(stage, item.position, item.instruction).location;
        const std::string text =
            "stage " + std::to_string(number) + ": " +
            describe(program, stage, item.position, item.instruction);
        if (!error)
          error = std::make_unique<LocatedError>(
              location,
              text + " never comes to its end: streams wait for each other");
        else
          error->addNote(location, text + " waits too");
      }
    if (error)
      return llvm::Error(std::move(error));
    return llvm::Error::success();
  }

  const Program &program;
  CallProof calls;
  std::vector<StageState> stages;
  std::vector<ChannelState> channels;
  /// For each stage, channel and side, the number of exchanges that have
  /// completed.
  std::vector<std::map<std::pair<uint32_t, bool>, uint64_t>> generations;
};

} // namespace

llvm::Error verifyProgress(const Program &program,
                           llvm::ArrayRef<uint32_t> ends, CallProof calls) {
  llvm::Error error = ProgressVerifier(program, calls).verify(ends);
  if (!error || calls == CallProof::Walked)
    return error;
  llvm::consumeError(std::move(error));
  return verifyProgress(program, ends, CallProof::Walked);
}

} // namespace mf::program
