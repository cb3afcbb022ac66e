//===- ProgressVerifier.cpp - Do all exchanges come to their end? ---------===//
//
// Runs the stages' streams on the two things alone that can block: events and
// exchanges. Which of them runs first makes no difference to whether all come
// to their end, since each event and each exchange has but one source.
//
// All ranks of a stage run the same program, and groups and peers are named by
// axes, so the ranks that differ in other axes than `pp` are in the same state
// all the time: an exchange among them is one of a rank with itself.
//
//===----------------------------------------------------------------------===//

#include "mf/Program/Description.h"
#include "mf/Program/StepWalker.h"
#include "mf/Program/Verifier.h"
#include <map>
#include <memory>

namespace mf::program {

namespace {

/// Something a stream does that others wait for, or that waits for others.
struct Item {
  uint32_t position = 0;
  uint32_t instruction = 0;
  /// Counted through the expanded step.
  llvm::SmallVector<uint64_t, 1> awaited;
  std::optional<uint64_t> recorded;
  const Exchange *exchange = nullptr;
};

struct StreamState {
  std::vector<Item> items;
  size_t next = 0;
  /// The next item has announced itself to its channel.
  bool hasArrived = false;
};

struct StageState {
  std::vector<StreamState> streams;
  std::vector<bool> isRecorded;
};

/// Parties that have come to the exchange which is next: stages, or the sending
/// and the receiving side of one.
struct ChannelState {
  size_t numParties = 0;
  size_t numArrived = 0;
  uint64_t generation = 0;
};

class ProgressVerifier {
public:
  explicit ProgressVerifier(const Program &program);

  llvm::Error verify(llvm::ArrayRef<uint32_t> ends);

private:
  void collect(const StageProgram &stage, uint32_t end);
  /// Whether the stream did anything.
  bool advance(size_t stage, StreamState &stream);
  bool tryItem(size_t stage, StreamState &stream, const Item &item);
  bool tryExchange(size_t stage, StreamState &stream, const Exchange &exchange);
  llvm::Error makeError() const;

  const Program &program;
  std::vector<StageState> stages;
  std::vector<ChannelState> channels;
  /// For each stage, channel and side, how many exchanges it has finished.
  std::vector<std::map<std::pair<uint32_t, bool>, uint64_t>> generations;
};

} // namespace

ProgressVerifier::ProgressVerifier(const Program &program)
    : program(program), generations(program.stages.size()) {
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

void ProgressVerifier::collect(const StageProgram &stage, uint32_t end) {
  StageState state;
  state.streams.resize(stage.streams.size());
  const InstanceTable table(stage);
  StepWalker(stage, table)
      .walk([&](const Scope &scope, const Instruction &instruction,
                uint32_t number) {
        const uint32_t position = scope.call ? scope.callPosition : number;
        if (position >= end)
          return false;
        const Exchange *exchange = scope.list->getExchange(instruction);
        if (!exchange && !instruction.recorded && instruction.awaited.empty())
          return true;
        Item &item = state.streams[instruction.stream].items.emplace_back();
        item.position = position;
        item.instruction = scope.call ? number : callItself;
        for (const AwaitedEvent &awaited : instruction.awaited)
          item.awaited.push_back(StepWalker::getEvent(scope, awaited));
        if (instruction.recorded) {
          item.recorded = scope.firstEvent + *instruction.recorded;
          if (*item.recorded >= state.isRecorded.size())
            state.isRecorded.resize(*item.recorded + 1, false);
        }
        item.exchange = exchange;
        return true;
      });
  stages.push_back(std::move(state));
}

bool ProgressVerifier::tryExchange(size_t stage, StreamState &stream,
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

bool ProgressVerifier::tryItem(size_t stage, StreamState &stream,
                               const Item &item) {
  std::vector<bool> &isRecorded = stages[stage].isRecorded;
  for (uint64_t event : item.awaited)
    if (event >= isRecorded.size() || !isRecorded[event])
      return false;
  if (item.exchange && !tryExchange(stage, stream, *item.exchange))
    return false;
  if (item.recorded)
    isRecorded[*item.recorded] = true;
  return true;
}

bool ProgressVerifier::advance(size_t stage, StreamState &stream) {
  const size_t before = stream.next;
  const bool hadArrived = stream.hasArrived;
  while (stream.next < stream.items.size() &&
         tryItem(stage, stream, stream.items[stream.next]))
    ++stream.next;
  return stream.next != before || stream.hasArrived != hadArrived;
}

llvm::Error ProgressVerifier::makeError() const {
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

llvm::Error ProgressVerifier::verify(llvm::ArrayRef<uint32_t> ends) {
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

llvm::Error verifyProgress(const Program &program,
                           llvm::ArrayRef<uint32_t> ends) {
  return ProgressVerifier(program).verify(ends);
}

} // namespace mf::program
