//===- ProgressVerifier.cpp - Do all messages come to their end? ----------===//
//
// Runs the ranks' streams on what can block alone: records, waits, transfers
// and reductions. Which of them runs first makes no difference to whether all
// come to their end, since each event and each message has but one source.
//
//===----------------------------------------------------------------------===//

#include "Description.h"
#include "StepWalker.h"
#include "mf/Program/Verifier.h"
#include <memory>

namespace mf::program {

namespace {

/// Something a stream does that others wait for, or that waits for others.
struct Item {
  const Instruction *instruction = nullptr;
  uint32_t position = 0;
  uint32_t number = 0;
  /// Of a record or wait: the event, counted through the expanded step.
  uint64_t event = 0;
};

struct StreamState {
  std::vector<Item> items;
  size_t next = 0;
  /// The next item has announced itself to its channel.
  bool hasArrived = false;
};

struct RankState {
  std::vector<StreamState> streams;
  /// Records that calls make, which stand in no list.
  std::vector<std::unique_ptr<Instruction>> callRecords;
  std::vector<bool> isRecorded;
};

/// Members that have come to the message or reduction which is next.
struct ChannelState {
  size_t numArrived = 0;
  uint64_t generation = 0;
};

class ProgressVerifier {
public:
  explicit ProgressVerifier(const Program &program)
      : program(program), channels(program.channels.size()),
        generations(program.ranks.size()) {}

  llvm::Error verify(llvm::ArrayRef<uint32_t> ends);

private:
  void collect(const Rank &rank, uint32_t end);
  void collectItem(RankState &state, const Rank &rank, const Item &item,
                   uint64_t firstEvent, const Call *call = nullptr);
  void collectCall(RankState &state, const Rank &rank, uint32_t position,
                   const Call &call, uint64_t firstEvent);
  /// Whether the stream did anything.
  bool advance(size_t rank, StreamState &stream);
  bool tryItem(size_t rank, StreamState &stream, const Item &item);
  bool tryChannel(size_t rank, StreamState &stream, uint32_t channel,
                  size_t numMembers);

  const Program &program;
  std::vector<RankState> ranks;
  std::vector<ChannelState> channels;
  /// For each rank and channel, how many messages it has finished.
  std::vector<std::map<uint32_t, uint64_t>> generations;
};

} // namespace

void ProgressVerifier::collectItem(RankState &state, const Rank &rank,
                                   const Item &item, uint64_t firstEvent,
                                   const Call *call) {
  const auto &action = item.instruction->action;
  Item added = item;
  if (const auto *record = std::get_if<Record>(&action))
    added.event = firstEvent + record->event;
  else if (const auto *wait = std::get_if<Wait>(&action))
    added.event =
        wait->isArgument ? call->events[wait->event] : firstEvent + wait->event;
  else if (!std::holds_alternative<Transfer>(action) &&
           !std::holds_alternative<AllReduce>(action))
    return;
  state.streams[*getStream(rank, *item.instruction)].items.push_back(added);
}

void ProgressVerifier::collectCall(RankState &state, const Rank &rank,
                                   uint32_t position, const Call &call,
                                   uint64_t firstEvent) {
  const InstructionList &body = rank.routines[call.routine].body;
  auto record = call.records.begin();
  for (uint32_t i = 0; i < body.instructions.size(); ++i) {
    collectItem(state, rank, {&body.instructions[i], position, i, 0},
                firstEvent, &call);
    for (; record != call.records.end() && record->instruction == i; ++record) {
      state.callRecords.push_back(std::make_unique<Instruction>(
          Instruction{record->record, body.instructions[i].location}));
      collectItem(state, rank, {state.callRecords.back().get(), position, i, 0},
                  0);
    }
  }
}

void ProgressVerifier::collect(const Rank &rank, uint32_t end) {
  RankState state;
  state.streams.resize(rank.streams.size());
  uint64_t numEvents = rank.step.numEvents;
  for (uint32_t i = 0; i < end; ++i) {
    const Instruction &instruction = rank.step.instructions[i];
    const auto *call = std::get_if<Call>(&instruction.action);
    if (!call) {
      collectItem(state, rank, {&instruction, i, 0, 0}, 0);
      continue;
    }
    collectCall(state, rank, i, *call, numEvents);
    numEvents += rank.routines[call->routine].body.numEvents;
  }
  state.isRecorded.assign(numEvents, false);
  ranks.push_back(std::move(state));
}

bool ProgressVerifier::tryChannel(size_t rank, StreamState &stream,
                                  uint32_t channel, size_t numMembers) {
  ChannelState &state = channels[channel];
  uint64_t &generation = generations[rank][channel];
  if (!stream.hasArrived) {
    stream.hasArrived = true;
    if (++state.numArrived == numMembers) {
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

bool ProgressVerifier::tryItem(size_t rank, StreamState &stream,
                               const Item &item) {
  const auto &action = item.instruction->action;
  if (std::holds_alternative<Record>(action)) {
    ranks[rank].isRecorded[item.event] = true;
    return true;
  }
  if (std::holds_alternative<Wait>(action))
    return ranks[rank].isRecorded[item.event];
  if (const auto *transfer = std::get_if<Transfer>(&action))
    return tryChannel(rank, stream, transfer->channel, 2);
  const auto &reduce = std::get<AllReduce>(action);
  return tryChannel(rank, stream, reduce.channel,
                    program.channels[reduce.channel].ranks.size());
}

bool ProgressVerifier::advance(size_t rank, StreamState &stream) {
  const size_t before = stream.next;
  const bool hadArrived = stream.hasArrived;
  while (stream.next < stream.items.size() &&
         tryItem(rank, stream, stream.items[stream.next]))
    ++stream.next;
  return stream.next != before || stream.hasArrived != hadArrived;
}

llvm::Error ProgressVerifier::verify(llvm::ArrayRef<uint32_t> ends) {
  for (size_t i = 0; i < program.ranks.size(); ++i) {
    const Rank &rank = program.ranks[i];
    collect(rank, ends.empty() ? rank.step.instructions.size() : ends[i]);
  }
  bool isMoving = true;
  while (isMoving) {
    isMoving = false;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      for (StreamState &stream : ranks[rank].streams)
        isMoving |= advance(rank, stream);
  }
  std::unique_ptr<LocatedError> error;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (const StreamState &stream : ranks[rank].streams) {
      if (stream.next == stream.items.size())
        continue;
      const Item &item = stream.items[stream.next];
      const std::string text =
          "rank " + std::to_string(rank) + ": " +
          describe(program, program.ranks[rank], item.position, item.number);
      if (!error)
        error = std::make_unique<LocatedError>(
            item.instruction->location,
            text + " never comes to its end: streams wait for each other");
      else
        error->addNote(item.instruction->location, text + " waits too");
    }
  if (error)
    return llvm::Error(std::move(error));
  return llvm::Error::success();
}

llvm::Error verifyProgress(const Program &program,
                           llvm::ArrayRef<uint32_t> ends) {
  return ProgressVerifier(program).verify(ends);
}

} // namespace mf::program
