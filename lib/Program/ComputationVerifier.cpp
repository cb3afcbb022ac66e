//===- ComputationVerifier.cpp - Checks that routines compute the model ---===//
//
// Runs the routines of each chunk on terms, forward, recompute and backward in
// the step's order, and compares the terms of the values that they pass on with
// those of the chunk's certificate.
//
//===----------------------------------------------------------------------===//

#include "ChunkRun.h"
#include "FrameEvents.h"
#include "MessageVerifier.h"
#include "UpdateVerifier.h"
#include "mf/Program/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using llvm::Error;

namespace mf::program {

namespace {

/// The number of times that a step adds to the gradient of each parameter.
using GradientCounts = llvm::StringMap<int64_t>;

/// Verifies one frame by running its events.
class FrameVerifier {
public:
  FrameVerifier(const Program &program, const StageProgram &stage,
                const StaticTerms &statics, const GradientCounts &counts,
                const FrameLayout &layout, llvm::ArrayRef<FrameEvent> events)
      : stage(stage), statics(statics), counts(counts), layout(layout),
        certificate(*layout.computes), events(events),
        equal(certificate.equal.begin(), certificate.equal.end()),
        chunk(program, statics, equal) {}

  Error verify();
  /// Records the launch that computes each term, for errors.
  void noteMakers() { chunk.noteMakers(); }

private:
  Error runForward(const FrameEvent &event);
  Error runBehind(const FrameEvent &event, bool isBackward);
  Error bind(const FrameEvent &event, const CertifiedArguments &taken,
             size_t number, TermRange &argument);
  Error compare(const FrameEvent &event, size_t number,
                const CertifiedResult &expected, llvm::StringRef what);
  Error checkStatic(uint32_t number, const BufferTerms &held);
  Error checkGradient(const Static &buffer, Term before, Term after,
                      llvm::ArrayRef<CertifiedResult> results, bool keepsLast);
  Error checkGiven();
  TermRange getWhole(const FrameEvent &event, size_t number);
  Error makeError(uint32_t location, const llvm::Twine &message) const {
    return llvm::make_error<LocatedError>(location, message);
  }
  std::string describe(Term found) const;

  const StageProgram &stage;
  const StaticTerms &statics;
  const GradientCounts &counts;
  const FrameLayout &layout;
  const Certificate &certificate;
  llvm::ArrayRef<FrameEvent> events;
  EqualTerms equal;
  ChunkRun chunk;
  /// The terms of the step's buffers for this frame, by index.
  std::map<uint32_t, BufferTerms> messages;
  /// The buffers of forward's arguments and of gradients, as soon as they are
  /// known.
  std::vector<uint32_t> forwardArguments;
  std::map<int64_t, uint32_t> gradients;
  /// Arguments that hold values of the certificate.
  std::map<int64_t, BufferTerms> values;
  /// The gradients and losses that were found, by name. Losses have no name.
  llvm::StringMap<bool> given;
};

} // namespace

/// The size of arguments is checked by their routines.
static constexpr int64_t wholeBytes = int64_t(1) << 48;

static std::string quote(llvm::StringRef text) {
  return text.empty() ? "" : " ('" + text.str() + "')";
}

std::string FrameVerifier::describe(Term found) const {
  const std::string maker = chunk.getMaker(found);
  return describeTerm(found) + (maker.empty()
                                    ? ", which no launch of the chunk makes"
                                    : " of " + maker);
}

//===----------------------------------------------------------------------===//
// Routines
//===----------------------------------------------------------------------===//

TermRange FrameVerifier::getWhole(const FrameEvent &event, size_t number) {
  return {&messages[event.arguments[number]], 0, wholeBytes};
}

Error FrameVerifier::compare(const FrameEvent &event, size_t number,
                             const CertifiedResult &expected,
                             llvm::StringRef what) {
  const Routine &routine = stage.routines[*event.routine];
  const Term found = messages[event.arguments[number]].read(
      0, getArgumentBytes(routine, number));
  if (found == expected.term)
    return Error::success();
  return makeError(event.location,
                   "'" + routine.name + "' does not compute the model's " +
                       what + quote(expected.name) + ": expected the term " +
                       describeTerm(expected.term) + ", but found " +
                       describe(found));
}

Error FrameVerifier::runForward(const FrameEvent &event) {
  const Routine &routine = stage.routines[*event.routine];
  const auto numArguments = static_cast<size_t>(certificate.numArguments);
  if (event.arguments.size() != numArguments + certificate.outputs.size())
    return makeError(event.location,
                     "'" + routine.name + "' takes " +
                         llvm::Twine(event.arguments.size()) +
                         " buffers, but the certificate of its chunk has " +
                         llvm::Twine(numArguments) + " arguments and " +
                         llvm::Twine(certificate.outputs.size()) + " outputs");
  forwardArguments = event.arguments;
  llvm::SmallVector<TermRange> arguments;
  for (size_t i = 0; i < event.arguments.size(); ++i) {
    if (i >= numArguments) {
      arguments.push_back(getWhole(event, i));
      continue;
    }
    const auto value = certificate.numGradients + static_cast<int64_t>(i);
    values[value].write(0, getArgumentBytes(routine, i),
                        getInputTerm("argument", i));
    arguments.push_back({&values[value], 0, wholeBytes});
  }
  chunk.run(routine, arguments);
  for (auto [number, output] : llvm::enumerate(certificate.outputs))
    if (Error error = compare(event, numArguments + number, output,
                              "output " + std::to_string(number)))
      return error;
  return Error::success();
}

/// Finds the value of the certificate that an argument must hold, and checks
/// that the call passes that value.
Error FrameVerifier::bind(const FrameEvent &event,
                          const CertifiedArguments &taken, size_t number,
                          TermRange &argument) {
  const int64_t value = taken.values[number];
  const uint32_t passed = event.arguments[number];
  auto refuse = [&](llvm::StringRef what, int64_t index) {
    return makeError(event.location, "argument " + llvm::Twine(number) +
                                         " of '" + taken.routine + "' is not " +
                                         what + " " + llvm::Twine(index) +
                                         " of its chunk");
  };
  if (value < certificate.numGradients) {
    auto [known, isNew] = gradients.try_emplace(value, passed);
    if (!isNew && known->second != passed)
      return refuse("the gradient of output", value);
    if (isNew)
      values[value].write(
          0, getArgumentBytes(stage.routines[*event.routine], number),
          getInputTerm("gradient", value));
    argument = {&values[value], 0, wholeBytes};
    return Error::success();
  }
  const int64_t index = value - certificate.numGradients;
  if (index >= static_cast<int64_t>(forwardArguments.size()) ||
      forwardArguments[index] != passed)
    return index < certificate.numArguments
               ? refuse("argument", index)
               : refuse("output", index - certificate.numArguments);
  argument = index < certificate.numArguments
                 ? TermRange{&values[value], 0, wholeBytes}
                 : TermRange{&messages[passed], 0, wholeBytes};
  return Error::success();
}

Error FrameVerifier::runBehind(const FrameEvent &event, bool isBackward) {
  const Routine &routine = stage.routines[*event.routine];
  const auto taken =
      llvm::find_if(certificate.taken, [&](const CertifiedArguments &entry) {
        return entry.routine == routine.name;
      });
  const size_t results = isBackward ? certificate.inputGradients.size() : 0;
  if (taken == certificate.taken.end() ||
      event.arguments.size() < taken->values.size() + results)
    return makeError(event.location,
                     "'" + routine.name +
                         "' is no routine of its chunk's certificate, or "
                         "takes fewer buffers than that says");
  llvm::SmallVector<TermRange> arguments;
  for (size_t i = 0; i < event.arguments.size(); ++i) {
    arguments.push_back({});
    if (i >= taken->values.size())
      arguments.back() = getWhole(event, i);
    else if (Error error = bind(event, *taken, i, arguments.back()))
      return error;
  }
  chunk.run(routine, arguments);
  for (size_t i = 0; i < results; ++i)
    if (Error error = compare(event, taken->values.size() + i,
                              certificate.inputGradients[i],
                              "gradient of input " + std::to_string(i)))
      return error;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Statics
//===----------------------------------------------------------------------===//

/// A gradient is a sum that starts at zero, or the value that was written last
/// if only one task writes it.
Error FrameVerifier::checkGradient(const Static &buffer, Term before,
                                   Term after,
                                   llvm::ArrayRef<CertifiedResult> results,
                                   bool keepsLast) {
  Term sum = before, last = 0;
  for (const CertifiedResult &result : results) {
    if (result.name != buffer.of && buffer.role != Role::Constant)
      continue;
    sum = getSum(sum, result.term, buffer.shape, buffer.shape);
    last = result.term;
    given[result.name] = true;
  }
  const bool isAdded =
      after == sum && !keepsLast && before == getZeroTerm(buffer.shape);
  const bool isWritten = after == last && last != 0 &&
                         buffer.role != Role::Constant &&
                         (keepsLast || counts.lookup(buffer.of) == 1);
  if (isAdded || isWritten)
    return Error::success();
  const std::string what = buffer.role == Role::Constant
                               ? "loss"
                               : "gradient of '" + buffer.of + "'";
  return makeError(layout.location,
                   "the routines of '" + layout.name +
                       "' do not compute the model's " + what +
                       ": expected the term " + describeTerm(last) +
                       (keepsLast ? " in '" : " to be added to '") +
                       buffer.name + "', but found " + describe(after));
}

Error FrameVerifier::checkStatic(uint32_t number, const BufferTerms &held) {
  const Static &buffer = stage.statics[number];
  const Term before = statics.get(number).read(0, buffer.bytes);
  const Term after = held.read(0, buffer.bytes);
  if (after == before)
    return Error::success();
  const bool isGradient =
      buffer.role == Role::Gradient || buffer.role == Role::Accumulated;
  auto isOf = [&](const CertifiedResult &result) {
    return result.name == buffer.of;
  };
  if (isGradient && llvm::any_of(certificate.gradients, isOf))
    return checkGradient(buffer, before, after, certificate.gradients, false);
  if (isGradient && llvm::any_of(certificate.records, isOf))
    return checkGradient(buffer, before, after, certificate.records, true);
  if (buffer.role == Role::Constant && !certificate.losses.empty()) {
    if (Error error =
            checkGradient(buffer, before, after, certificate.losses, false))
      return error;
    given[""] = true;
    return Error::success();
  }
  return makeError(layout.location, "the routines of '" + layout.name +
                                        "' write '" + buffer.name +
                                        "', which is no result of the model's "
                                        "chunk; it becomes " +
                                        describe(after));
}

/// Checks that everything in the certificate was found.
Error FrameVerifier::checkGiven() {
  for (const auto *list : {&certificate.gradients, &certificate.records})
    for (const CertifiedResult &result : *list)
      if (!given.lookup(result.name))
        return makeError(layout.location, "no routine of '" + layout.name +
                                              "' makes the gradient of '" +
                                              result.name +
                                              "': expected the term " +
                                              describeTerm(result.term));
  if (!certificate.losses.empty() && !given.lookup(""))
    return makeError(layout.location,
                     "no routine of '" + layout.name +
                         "' adds to the loss: expected the term " +
                         describeTerm(certificate.losses.front().term) +
                         quote(certificate.losses.front().name));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

Error FrameVerifier::verify() {
  bool hasForward = false, hasBackward = false;
  size_t behind = 0;
  for (const FrameEvent &event : events) {
    if (!event.routine) {
      messages[event.arguments[0]].copy(chunk.getSlot(event.slot), 0, 0,
                                        layout.slots[event.slot].bytes);
      continue;
    }
    const bool recomputes = stage.routines[*event.routine].recomputes;
    Error error = !hasForward ? runForward(event)
                              : runBehind(event, !hasBackward && !recomputes);
    if (error)
      return error;
    behind += hasForward;
    hasBackward |= hasForward && !recomputes;
    hasForward = true;
  }
  if (behind != certificate.taken.size())
    return makeError(layout.location,
                     "expected " + llvm::Twine(certificate.taken.size()) +
                         " routines behind forward on each frame of '" +
                         layout.name + "', but one has " + llvm::Twine(behind));
  for (const auto &[number, held] : chunk.getStatics())
    if (Error error = checkStatic(number, held))
      return error;
  return checkGiven();
}

/// If a frame is wrong, it is run again to record which launches compute its
/// terms.
static Error verifyFrame(const Program &program, const StageProgram &stage,
                         const StaticTerms &statics,
                         const GradientCounts &counts,
                         const FrameLayout &layout,
                         llvm::ArrayRef<FrameEvent> events) {
  Error error =
      FrameVerifier(program, stage, statics, counts, layout, events).verify();
  if (!error)
    return Error::success();
  llvm::consumeError(std::move(error));
  FrameVerifier again(program, stage, statics, counts, layout, events);
  again.noteMakers();
  return again.verify();
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
      for (const CertifiedResult &result : computes->gradients)
        ++counts[result.name];
  // Frames with the same events hold the same terms.
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
