//===- ComputationVerifier.cpp - Checks that routines compute the model ---===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Compares what the routines of each chunk give to others with the chunk's
// certificate, frame by frame.
//
//===----------------------------------------------------------------------===//

#include "ChunkRun.h"
#include "FrameVerifier.h"
#include "mf/Program/LocatedError.h"
#include "mf/Program/Program.h"
#include "mf/Program/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include <map>
#include <set>

using llvm::Error;

namespace mf::program {

//===----------------------------------------------------------------------===//
// Verifies messages between calls
//===----------------------------------------------------------------------===//

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

  void run() {
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
      } else if (const Exchange *exchange =
                     stage.step.getExchange(instruction)) {
        if (program.channels[exchange->channel].isTransfer)
          runTransfer(*exchange, instruction.accesses[0].operand);
      }
    }
  }

  std::vector<TakenMessage> taken;

private:
  using Key = std::pair<uint32_t, int64_t>;

  void runCall(const Call &call, uint32_t location) {
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

  void runForward(const Call &call, uint32_t location) {
    const Frame &frame = stage.frames[*call.frame];
    const FrameLayout &layout = stage.layouts[frame.layout];
    const auto numArguments =
        static_cast<size_t>(layout.computes->numArguments);
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

  void runBackward(const Call &call, uint32_t location) {
    const Frame &frame = stage.frames[*call.frame];
    const FrameLayout &layout = stage.layouts[frame.layout];
    const std::string &routine = stage.routines[call.routine].name;
    const Certificate &computes = *layout.computes;
    for (const CertifiedArguments &entry : computes.taken) {
      if (entry.routine != routine)
        continue;
      for (auto [value, operand] : llvm::zip(entry.values, call.arguments))
        if (value < computes.numGradients)
          taken.push_back({&frame, &getChunk(layout), location, true, value,
                           find(operand)});
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

  void runTransfer(const Exchange &exchange, const Operand &operand) {
    if (exchange.isSend)
      sent[exchange.channel].push_back(find(operand));
    else
      put(operand, {Origin::Kind::Receive, "", received[exchange.channel]++,
                    exchange.channel});
  }

  Origin find(const Operand &operand) const {
    const Buffer &buffer = stage.step.buffers[operand.buffer];
    if (buffer.kind == BufferKind::Static)
      return {Origin::Kind::Static, stage.statics[buffer.index].name,
              operand.offset, 0};
    auto found = origins.find({operand.buffer, operand.offset});
    return found == origins.end() ? Origin() : found->second;
  }

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

  Error verify(const TakenMessage &message) {
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

private:
  const SentMessages &sent;
  std::map<const FrameLayout *, int64_t> numFrames;
  /// The origins of the messages that the first frame of a layout reads,
  /// shifted to micro-batch 0.
  std::map<std::tuple<const FrameLayout *, bool, int64_t>, Origin> first;
};

} // namespace

/// Proves, for a program whose chunks all have certificates, that each forward
/// reads loads and outputs, and each backward gradients, of its own
/// micro-batch, and that all micro-batches read them from the same chunks.
static Error verifyMessages(const Program &program) {
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

//===----------------------------------------------------------------------===//
// Checks that routines compute the model
//===----------------------------------------------------------------------===//

namespace {

/// The statics that a routine uses, by number.
struct UsedStatics {
  std::set<uint32_t> read, written;
};

} // namespace

/// Returns the term of the sum to which so many calls on frames have added.
static Term getPartialSum(const Static &buffer, int64_t calls) {
  return TermHash("calls")
      .add(buffer.name)
      .add(static_cast<uint64_t>(calls))
      .get();
}

/// Returns the term of the sum over all calls on frames.
static Term getTotal(const Static &buffer) {
  return getInputTerm("total", buffer.of.empty() ? buffer.name : buffer.of);
}

/// Returns whether the next step or a checkpoint needs the value of a static.
static bool isKept(const Static &buffer) {
  switch (buffer.role) {
  case Role::Parameter:
  case Role::Table:
  case Role::FirstMoment:
  case Role::SecondMoment:
  case Role::Average:
  case Role::Factor:
    return true;
  case Role::Constant:
    return buffer.init.has_value();
  default:
    return false;
  }
}

namespace {

class UpdateVerifier {
public:
  UpdateVerifier(const Program &program, const StageProgram &stage,
                 const StaticTerms &statics)
      : stage(stage), statics(statics), certificate(*stage.computes),
        run(program, statics, none), used(stage.routines.size()) {}

  Error verify() {
    findUses();
    for (const Instruction &instruction :
         llvm::ArrayRef(stage.step.instructions)
             .drop_front(statics.getNumInstructions())) {
      last = instruction.location;
      const Call *call = stage.step.getCall(instruction);
      if (!call || !call->frame) {
        run.runStep(stage, instruction);
        continue;
      }
      if (Error error = runOnFrame(*call, instruction.location))
        return error;
    }
    return checkEnd();
  }

  /// Lets errors name the launch that makes a wrong term.
  void noteMakers() { run.noteMakers(); }

private:
  void findUses() {
    for (auto [routine, uses] : llvm::zip_equal(stage.routines, used)) {
      if (!routine.layout)
        continue;
      for (const Instruction &instruction : routine.body.instructions)
        for (const MemoryAccess &access : instruction.accesses) {
          const Buffer &buffer = routine.body.buffers[access.operand.buffer];
          if (buffer.kind != BufferKind::Static)
            continue;
          (access.access == Access::In ? uses.read : uses.written)
              .insert(buffer.index);
        }
    }
    for (const Call &call : stage.step.calls)
      if (call.frame)
        for (uint32_t number : used[call.routine].written)
          ++numCalls[number];
  }

  Error runOnFrame(const Call &call, uint32_t location) {
    const UsedStatics &uses = used[call.routine];
    for (uint32_t number : uses.read)
      if (uses.written.count(number) == 0)
        if (Error error = checkRead(call, number, location))
          return error;
    if (Error error = checkLossGradient(call, location))
      return error;
    for (uint32_t number : uses.written)
      if (Error error = addTo(call, number, location))
        return error;
    return Error::success();
  }

  Error checkRead(const Call &call, uint32_t number, uint32_t location) {
    const Static &buffer = stage.statics[number];
    if (read(number) == statics.get(number).read(0, buffer.bytes))
      return Error::success();
    return makeError(location, "'" + stage.routines[call.routine].name +
                                   "' reads '" + buffer.name +
                                   "' after a change of it: it is " +
                                   describe(read(number)));
  }

  /// Checks the gradient of losses, which is the only gradient that no task
  /// makes.
  Error checkLossGradient(const Call &call, uint32_t location) {
    for (const Operand &argument : call.arguments) {
      const Buffer &buffer = stage.step.buffers[argument.buffer];
      if (buffer.kind != BufferKind::Static)
        continue;
      const Term found = run.resolve(stage.step, argument).read();
      if (found == certificate.lossGradient)
        continue;
      return makeError(
          location,
          "'" + stage.routines[call.routine].name + "' takes '" + buffer.name +
              "' as the gradient of a loss: expected " +
              (certificate.lossGradient
                   ? "the term " + describeTerm(*certificate.lossGradient)
                   : "none, as the stage has no loss") +
              ", but found " + describe(found));
    }
    return Error::success();
  }

  Error addTo(const Call &call, uint32_t number, uint32_t location) {
    const Static &buffer = stage.statics[number];
    int64_t &done = numDone[number];
    const Term expected = done == 0 ? statics.get(number).read(0, buffer.bytes)
                                    : getPartialSum(buffer, done);
    if (read(number) != expected)
      return makeError(location,
                       "'" + stage.routines[call.routine].name + "' adds to '" +
                           buffer.name +
                           "', in which is no sum of calls before it, but " +
                           describe(read(number)));
    ++done;
    run.getStatic(number).write(0, buffer.bytes,
                                done == numCalls[number]
                                    ? getTotal(buffer)
                                    : getPartialSum(buffer, done));
    return Error::success();
  }

  Error checkResult(uint32_t number, const CertifiedResult &result) {
    const Term found = read(number);
    if (found == result.term)
      return Error::success();
    return makeError(
        last, "the step does not compute '" + result.name +
                  "' as the model's update does: expected the term " +
                  describeTerm(result.term) + ", but found " + describe(found));
  }

  /// Compares all results that the certificate names, and then all other
  /// statics, with what is expected at the end of the step.
  Error checkEnd() {
    llvm::StringMap<uint32_t> numbers;
    for (auto [number, buffer] : llvm::enumerate(stage.statics))
      numbers.try_emplace(buffer.name, number);
    llvm::StringSet<> named;
    for (const CertifiedResult &result : certificate.results) {
      auto found = numbers.find(result.name);
      if (found == numbers.end())
        return makeError(last, "the step has no '" + result.name +
                                   "', which the model's update makes");
      if (Error error = checkResult(found->second, result))
        return error;
      named.insert(result.name);
    }
    for (auto [number, buffer] : llvm::enumerate(stage.statics))
      if (!named.contains(buffer.name))
        if (Error error = checkKept(static_cast<uint32_t>(number)))
          return error;
    return Error::success();
  }

  Error checkKept(uint32_t number) {
    const Static &buffer = stage.statics[number];
    const Term found = read(number);
    if (!isKept(buffer) || found == StaticTerms::getInitial(buffer))
      return Error::success();
    return makeError(last,
                     "the step changes '" + buffer.name +
                         "', which the model's update leaves: it becomes " +
                         describe(found));
  }

  Term read(uint32_t number) {
    return run.getStatic(number).read(0, stage.statics[number].bytes);
  }

  std::string describe(Term found) const {
    const std::string maker = run.getMaker(found);
    return describeTerm(found) +
           (maker.empty() ? ", which no launch makes" : " of " + maker);
  }

  Error makeError(uint32_t location, const llvm::Twine &message) const {
    return llvm::make_error<LocatedError>(location, message);
  }

  const StageProgram &stage;
  const StaticTerms &statics;
  const StepCertificate &certificate;
  const EqualTerms none;
  ChunkRun run;
  /// For each routine on frames, the statics that it uses.
  std::vector<UsedStatics> used;
  /// For each static, the number of calls on frames that write it, and of those
  /// that have run.
  std::map<uint32_t, int64_t> numCalls, numDone;
  /// The last instruction of the step, for errors.
  uint32_t last = 0;
};

} // namespace

/// Proves that a step with a certificate leaves what the certificate says: the
/// parameters, state and reports that the update computes from the gradients,
/// and everything else unchanged. verifyFrame proves what calls on frames add
/// to gradients. This function proves that nothing else writes them in between,
/// and that these calls get the gradient of losses. `statics` are the terms
/// before the first of these calls.
static Error verifyStep(const Program &program, const StageProgram &stage,
                        const StaticTerms &statics) {
  return verifyNamingMakers(
      [&] { return UpdateVerifier(program, stage, statics); });
}

static Error verifyStage(const Program &program, const StageProgram &stage) {
  if (!stage.computes &&
      llvm::none_of(stage.layouts, [](const FrameLayout &layout) {
        return layout.computes.has_value();
      }))
    return Error::success();
  const StaticTerms statics(program, stage);
  const std::vector<std::vector<FrameEvent>> events = findFrameEvents(stage);
  GradientCounts counts;
  for (const Frame &frame : stage.frames)
    if (const auto &computes = stage.layouts[frame.layout].computes)
      for (const auto *list : {&computes->gradients, &computes->largest})
        for (const CertifiedResult &result : *list)
          ++counts[result.name];
  // Frames with the same events hold the same terms, so one proof serves all of
  // them.
  std::vector<std::vector<const std::vector<FrameEvent> *>> proven(
      stage.layouts.size());
  for (auto [frame, ofFrame] : llvm::zip_equal(stage.frames, events)) {
    const FrameLayout &layout = stage.layouts[frame.layout];
    auto isAlike = [&, &ofFrame = ofFrame](const auto *other) {
      return *other == ofFrame;
    };
    if (!layout.computes || llvm::any_of(proven[frame.layout], isAlike))
      continue;
    if (Error error =
            verifyFrame(program, stage, statics, counts, layout, ofFrame))
      return error;
    proven[frame.layout].push_back(&ofFrame);
  }
  return stage.computes ? verifyStep(program, stage, statics)
                        : Error::success();
}

Error verifyComputation(const Program &program) {
  for (const StageProgram &stage : program.stages)
    if (Error error = verifyStage(program, stage))
      return error;
  return verifyMessages(program);
}

} // namespace mf::program
