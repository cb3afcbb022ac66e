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
#include "MessageVerifier.h"
#include "mf/Program/LocatedError.h"
#include "mf/Program/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include <set>

using llvm::Error;

namespace mf::program {

namespace {

/// The statics that a routine uses, by number.
struct UsedStatics {
  std::set<uint32_t> read, written;
};

class UpdateVerifier {
public:
  UpdateVerifier(const Program &program, const StageProgram &stage,
                 const StaticTerms &statics)
      : stage(stage), statics(statics), certificate(*stage.computes),
        run(program, statics, none), used(stage.routines.size()) {}

  Error verify();
  /// Lets errors name the launch that makes a wrong term.
  void noteMakers() { run.noteMakers(); }

private:
  void findUses();
  Error runOnFrame(const Call &call, uint32_t location);
  Error checkRead(const Call &call, uint32_t number, uint32_t location);
  Error checkLossGradient(const Call &call, uint32_t location);
  Error addTo(const Call &call, uint32_t number, uint32_t location);
  Error checkResult(uint32_t number, const CertifiedResult &result);
  Error checkEnd();
  Error checkKept(uint32_t number);
  Term read(uint32_t number) {
    return run.getStatic(number).read(0, stage.statics[number].bytes);
  }
  std::string describe(Term found) const;
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

std::string UpdateVerifier::describe(Term found) const {
  const std::string maker = run.getMaker(found);
  return describeTerm(found) +
         (maker.empty() ? ", which no launch makes" : " of " + maker);
}

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

void UpdateVerifier::findUses() {
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

//===----------------------------------------------------------------------===//
// Calls on frames
//===----------------------------------------------------------------------===//

Error UpdateVerifier::checkRead(const Call &call, uint32_t number,
                                uint32_t location) {
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
Error UpdateVerifier::checkLossGradient(const Call &call, uint32_t location) {
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

Error UpdateVerifier::addTo(const Call &call, uint32_t number,
                            uint32_t location) {
  const Static &buffer = stage.statics[number];
  int64_t &done = numDone[number];
  const Term expected = done == 0 ? statics.get(number).read(0, buffer.bytes)
                                  : getPartialSum(buffer, done);
  if (read(number) != expected)
    return makeError(location, "'" + stage.routines[call.routine].name +
                                   "' adds to '" + buffer.name +
                                   "', in which is no sum of calls before it, "
                                   "but " +
                                   describe(read(number)));
  ++done;
  run.getStatic(number).write(0, buffer.bytes,
                              done == numCalls[number]
                                  ? getTotal(buffer)
                                  : getPartialSum(buffer, done));
  return Error::success();
}

Error UpdateVerifier::runOnFrame(const Call &call, uint32_t location) {
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

//===----------------------------------------------------------------------===//
// The end of the step
//===----------------------------------------------------------------------===//

Error UpdateVerifier::checkResult(uint32_t number,
                                  const CertifiedResult &result) {
  const Term found = read(number);
  if (found == result.term)
    return Error::success();
  return makeError(last, "the step does not compute '" + result.name +
                             "' as the model's update does: expected the "
                             "term " +
                             describeTerm(result.term) + ", but found " +
                             describe(found));
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

Error UpdateVerifier::checkKept(uint32_t number) {
  const Static &buffer = stage.statics[number];
  const Term found = read(number);
  if (!isKept(buffer) || found == StaticTerms::getInitial(buffer))
    return Error::success();
  return makeError(last, "the step changes '" + buffer.name +
                             "', which the model's update leaves: it becomes " +
                             describe(found));
}

/// Compares all results that the certificate names, and then all other statics,
/// with what is expected at the end of the step.
Error UpdateVerifier::checkEnd() {
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

Error UpdateVerifier::verify() {
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

/// Proves that a step with a certificate leaves what the certificate says: the
/// parameters, state and reports that the update computes from the gradients,
/// and everything else unchanged. FrameVerifier proves what calls on frames add
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
    if (Error error = verifyNamingMakers([&, &ofFrame = ofFrame] {
          return FrameVerifier(program, stage, statics, counts, layout,
                               ofFrame);
        }))
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
