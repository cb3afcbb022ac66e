//===- MessageVerifier.cpp - Verifies messages between calls --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Follows the messages of the step from their origins (loads, outputs of
// forward, gradients of inputs), through sends and receives, to the calls that
// read them.
//
//===----------------------------------------------------------------------===//

#include "MessageVerifier.h"
#include "mf/Program/LocatedError.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using llvm::Error;

namespace mf::program {

namespace {

/// The origin of a message.
struct Origin {
  enum class Kind : uint8_t {
    Nowhere,
    Load,
    Output,
    Gradient,
    Static,
    Receive
  };
  Kind kind = Kind::Nowhere;
  /// The name of the static or layout.
  std::string name;
  /// The index of the output, of the input, or of the message on its channel.
  /// For a load, it is the number of bytes of the static.
  int64_t number = 0;
  /// The micro-batch of a call, the offset of a load, or the number of the
  /// channel.
  int64_t place = 0;

  bool operator==(const Origin &other) const {
    return kind == other.kind && name == other.name && number == other.number &&
           place == other.place;
  }
};

/// A message that a call reads: an argument of forward, or the gradient of an
/// output.
struct TakenMessage {
  const Frame *frame = nullptr;
  /// The first layout of the chunk.
  const FrameLayout *layout = nullptr;
  uint32_t location = 0;
  bool isGradient = false;
  int64_t number = 0;
  Origin origin;
};

/// The messages that were sent, by channel.
using SentMessages = std::map<uint32_t, std::vector<Origin>>;

/// Walks the step of one stage.
class StageMessages {
public:
  StageMessages(const Program &program, const StageProgram &stage,
                SentMessages &sent)
      : program(program), stage(stage), sent(sent),
        calls(stage.frames.size(), 0) {}

  void run();
  std::vector<TakenMessage> taken;

private:
  using Key = std::pair<uint32_t, int64_t>;

  void runCall(const Call &call, uint32_t location);
  void runForward(const Call &call, uint32_t location);
  void runBackward(const Call &call, uint32_t location);
  void runTransfer(const Exchange &exchange, const Operand &operand);
  Origin find(const Operand &operand) const;
  /// The first layout of the chunk, for all of its versions.
  const FrameLayout &getChunk(const FrameLayout &layout) const {
    return stage.layouts[layout.chunk];
  }
  void put(const Operand &operand, Origin origin) {
    origins[{operand.buffer, operand.offset}] = std::move(origin);
  }

  const Program &program;
  const StageProgram &stage;
  SentMessages &sent;
  /// The number of calls of each frame, without those that recompute.
  std::vector<int64_t> calls;
  std::map<Key, Origin> origins;
  std::map<uint32_t, int64_t> received;
};

} // namespace

Origin StageMessages::find(const Operand &operand) const {
  const Buffer &buffer = stage.step.buffers[operand.buffer];
  if (buffer.kind == BufferKind::Static)
    return {Origin::Kind::Static, stage.statics[buffer.index].name,
            operand.offset, 0};
  auto found = origins.find({operand.buffer, operand.offset});
  return found == origins.end() ? Origin() : found->second;
}

void StageMessages::runForward(const Call &call, uint32_t location) {
  const Frame &frame = stage.frames[*call.frame];
  const FrameLayout &layout = stage.layouts[frame.layout];
  const auto numArguments = static_cast<size_t>(layout.computes->numArguments);
  for (auto [number, operand] : llvm::enumerate(call.arguments)) {
    const auto index = static_cast<int64_t>(number);
    if (number < numArguments)
      taken.push_back(
          {&frame, &getChunk(layout), location, false, index, find(operand)});
    else
      put(operand, {Origin::Kind::Output, getChunk(layout).name,
                    index - layout.computes->numArguments, frame.microBatch});
  }
}

void StageMessages::runBackward(const Call &call, uint32_t location) {
  const Frame &frame = stage.frames[*call.frame];
  const FrameLayout &layout = stage.layouts[frame.layout];
  const std::string &routine = stage.routines[call.routine].name;
  const Certificate &computes = *layout.computes;
  for (const CertifiedArguments &entry : computes.taken) {
    if (entry.routine != routine)
      continue;
    for (auto [value, operand] : llvm::zip(entry.values, call.arguments))
      if (value < computes.numGradients)
        taken.push_back(
            {&frame, &getChunk(layout), location, true, value, find(operand)});
    const llvm::ArrayRef<Operand> rest =
        llvm::ArrayRef(call.arguments)
            .drop_front(std::min(entry.values.size(), call.arguments.size()));
    // Buffers of values that are copied back early may follow.
    const size_t results =
        std::min(computes.inputGradients.size(), rest.size());
    for (auto [number, operand] : llvm::enumerate(rest.take_front(results)))
      put(operand, {Origin::Kind::Gradient, getChunk(layout).name,
                    static_cast<int64_t>(number), frame.microBatch});
  }
}

void StageMessages::runCall(const Call &call, uint32_t location) {
  const Routine &routine = stage.routines[call.routine];
  // The first part takes and gives all that the whole does.
  if (!call.frame || routine.recomputes || routine.continues)
    return;
  const int64_t number = calls[*call.frame]++;
  if (number == 0)
    runForward(call, location);
  else if (number == 1)
    runBackward(call, location);
}

void StageMessages::runTransfer(const Exchange &exchange,
                                const Operand &operand) {
  if (exchange.isSend)
    sent[exchange.channel].push_back(find(operand));
  else
    put(operand, {Origin::Kind::Receive, "", received[exchange.channel]++,
                  exchange.channel});
}

void StageMessages::run() {
  for (const Instruction &instruction : stage.step.instructions) {
    if (const Call *call = stage.step.getCall(instruction)) {
      runCall(*call, instruction.location);
    } else if (instruction.work == Work::Copy) {
      const Operand &source = instruction.accesses[0].operand;
      const Buffer &buffer = stage.step.buffers[source.buffer];
      if (buffer.kind == BufferKind::Static)
        put(instruction.accesses[1].operand,
            {Origin::Kind::Load, stage.statics[buffer.index].name,
             stage.statics[buffer.index].bytes, source.offset});
    } else if (const Exchange *exchange = stage.step.getExchange(instruction)) {
      if (program.channels[exchange->channel].isTransfer)
        runTransfer(*exchange, instruction.accesses[0].operand);
    }
  }
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

static std::string describe(const Origin &origin) {
  const std::string number = std::to_string(origin.number);
  const std::string place = std::to_string(origin.place);
  switch (origin.kind) {
  case Origin::Kind::Load:
    return "what is loaded from byte " + place + " of '" + origin.name + "'";
  case Origin::Kind::Output:
    return "output " + number + " of '" + origin.name + "' for micro-batch " +
           place;
  case Origin::Kind::Gradient:
    return "the gradient of input " + number + " of '" + origin.name +
           "' for micro-batch " + place;
  case Origin::Kind::Static:
    return "'" + origin.name + "'";
  case Origin::Kind::Receive:
  case Origin::Kind::Nowhere:
    break;
  }
  return "nothing that a task makes";
}

/// The origin of a received message is that of the sent one. A message that
/// passes on a received one has no origin.
static Origin resolve(const Origin &origin, const SentMessages &sent) {
  if (origin.kind != Origin::Kind::Receive)
    return origin;
  auto found = sent.find(static_cast<uint32_t>(origin.place));
  if (found == sent.end() ||
      origin.number >= static_cast<int64_t>(found->second.size()))
    return {};
  return found->second[origin.number];
}

namespace {

/// Compares the messages that the frames of one stage read.
class TakenVerifier {
public:
  TakenVerifier(const StageProgram &stage, const SentMessages &sent)
      : sent(sent) {
    for (const Frame &frame : stage.frames)
      ++numFrames[&stage.layouts[stage.layouts[frame.layout].chunk]];
  }

  Error verify(const TakenMessage &message);

private:
  const SentMessages &sent;
  std::map<const FrameLayout *, int64_t> numFrames;
  /// The origins of the messages that the first frame of a layout reads,
  /// shifted to micro-batch 0.
  std::map<std::tuple<const FrameLayout *, bool, int64_t>, Origin> first;
};

} // namespace

Error TakenVerifier::verify(const TakenMessage &message) {
  const Origin origin = resolve(message.origin, sent);
  const int64_t microBatch = message.frame->microBatch;
  Origin wanted = origin;
  const bool isMade = origin.kind == Origin::Kind::Output ||
                      origin.kind == Origin::Kind::Gradient;
  if (isMade)
    wanted.place -= microBatch;
  else if (origin.kind == Origin::Kind::Load)
    wanted.place -= microBatch * (origin.number / numFrames[message.layout]);
  const Origin &known =
      first
          .try_emplace({message.layout, message.isGradient, message.number},
                       wanted)
          .first->second;
  const bool fits = message.isGradient
                        ? origin.kind == Origin::Kind::Gradient ||
                              origin.kind == Origin::Kind::Static
                        : origin.kind == Origin::Kind::Load ||
                              origin.kind == Origin::Kind::Output;
  if (fits && known == wanted && (!isMade || wanted.place == 0))
    return Error::success();
  return llvm::make_error<LocatedError>(
      message.location,
      "'" + message.layout->name + "' for micro-batch " +
          std::to_string(microBatch) + " takes " + describe(origin) + " as " +
          (message.isGradient ? "the gradient of its output " : "argument ") +
          std::to_string(message.number) +
          ", which is not what the model says or other micro-batches take");
}

Error verifyMessages(const Program &program) {
  for (const StageProgram &stage : program.stages)
    for (const FrameLayout &layout : stage.layouts)
      if (!layout.computes)
        return Error::success();
  SentMessages sent;
  std::vector<StageMessages> stages;
  for (const StageProgram &stage : program.stages)
    stages.emplace_back(program, stage, sent).run();
  for (auto [stage, messages] : llvm::zip_equal(program.stages, stages)) {
    TakenVerifier verifier(stage, sent);
    for (const TakenMessage &message : messages.taken)
      if (Error error = verifier.verify(message))
        return error;
  }
  return Error::success();
}

} // namespace mf::program
