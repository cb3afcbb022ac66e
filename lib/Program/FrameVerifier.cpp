//===- FrameVerifier.cpp - Do a frame's routines compute it? --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the routines of one chunk for one micro-batch on terms, forward,
// recompute and backward in the step's order, and compares what they give to
// others with the chunk's certificate.
//
//===----------------------------------------------------------------------===//

#include "FrameVerifier.h"
#include "mf/Program/LocatedError.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include <map>

using llvm::Error;

namespace mf::program {

namespace {

/// Assigns numbers to the buffers of a frame's events.
class EventList {
public:
  uint32_t getNumber(const Operand &operand) {
    return numbers.try_emplace({operand.buffer, operand.offset}, numbers.size())
        .first->second;
  }

  std::vector<FrameEvent> events;

private:
  std::map<std::pair<uint32_t, int64_t>, uint32_t> numbers;
};

} // namespace

std::vector<std::vector<FrameEvent>>
findFrameEvents(const StageProgram &stage) {
  std::vector<EventList> lists(stage.frames.size());
  for (const Instruction &instruction : stage.step.instructions) {
    FrameEvent event;
    event.location = instruction.location;
    if (const Call *call = stage.step.getCall(instruction)) {
      if (!call->frame)
        continue;
      EventList &list = lists[*call->frame];
      event.routine = call->routine;
      for (const Operand &argument : call->arguments)
        event.arguments.push_back(list.getNumber(argument));
      list.events.push_back(std::move(event));
    } else if (instruction.work == Work::Copy) {
      const Operand &source = instruction.accesses[0].operand;
      const Buffer &buffer = stage.step.buffers[source.buffer];
      if (buffer.kind != BufferKind::Slot)
        continue;
      EventList &list = lists[buffer.frame];
      event.slot = buffer.index;
      event.arguments.push_back(
          list.getNumber(instruction.accesses[1].operand));
      list.events.push_back(std::move(event));
    }
  }
  std::vector<std::vector<FrameEvent>> result;
  for (EventList &list : lists)
    result.push_back(std::move(list.events));
  return result;
}

/// Returns the bytes of a routine's argument; 0 if the routine does not use it.
static int64_t getArgumentBytes(const Routine &routine, uint32_t argument) {
  int64_t bytes = 0;
  for (const Buffer &buffer : routine.body.buffers)
    if (buffer.kind == BufferKind::Argument && buffer.index == argument)
      bytes = std::max(bytes, buffer.bytes);
  return bytes;
}

/// The routines that read an argument decide how many of its bytes count, so
/// the argument itself is taken to be larger than any buffer.
static constexpr int64_t wholeBytes = int64_t(1) << 48;

static std::string quote(llvm::StringRef text) {
  return text.empty() ? "" : " ('" + text.str() + "')";
}

namespace {

class FrameVerifier {
public:
  FrameVerifier(const Program &program, const StageProgram &stage,
                const StaticTerms &statics, const GradientCounts &counts,
                const FrameLayout &layout, llvm::ArrayRef<FrameEvent> events)
      : stage(stage), statics(statics), counts(counts), layout(layout),
        certificate(*layout.computes), events(events),
        equal(certificate.equal.begin(), certificate.equal.end()),
        chunk(program, statics, equal) {
    addResults(certificate.gradients, Kept::Sum);
    addResults(certificate.records, Kept::Last);
    addResults(certificate.largest, Kept::Largest);
  }

  llvm::Error verify() {
    bool hasForward = false, hasBackward = false;
    size_t behind = 0;
    for (Parts left = events; !left.empty();) {
      const FrameEvent &event = left.front();
      const Parts parts = left.take_front(event.routine ? countParts(left) : 1);
      left = left.drop_front(parts.size());
      if (!event.routine) {
        messages[event.arguments[0]].copy(chunk.getSlot(event.slot), 0, 0,
                                          layout.slots[event.slot].bytes);
        continue;
      }
      const bool recomputes = stage.routines[*event.routine].recomputes;
      Error error = !hasForward ? runForward(parts)
                                : runBehind(parts, !hasBackward && !recomputes);
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
                           layout.name + "', but one has " +
                           llvm::Twine(behind));
    for (const auto &[number, held] : chunk.getStatics())
      if (Error error = checkStatic(number, held))
        return error;
    return checkGiven();
  }

  /// Lets errors name the launch that makes a wrong term.
  void noteMakers() { chunk.noteMakers(); }

private:
  /// An event that begins a task, and those that continue it.
  using Parts = llvm::ArrayRef<FrameEvent>;

  llvm::Error runForward(Parts parts) {
    const FrameEvent &event = parts.front();
    const Routine &routine = stage.routines[*event.routine];
    const auto numArguments = static_cast<size_t>(certificate.numArguments);
    const size_t numTaken = numArguments + certificate.outputs.size();
    if (parts.size() > 1 ? event.arguments.size() < numTaken
                         : event.arguments.size() != numTaken)
      return makeError(event.location,
                       "'" + routine.name + "' takes " +
                           llvm::Twine(event.arguments.size()) +
                           " buffers, but the certificate of its chunk has " +
                           llvm::Twine(numArguments) + " arguments and " +
                           llvm::Twine(certificate.outputs.size()) +
                           " outputs");
    forwardArguments = event.arguments;
    llvm::SmallVector<TermRange> arguments;
    for (size_t i = 0; i < numTaken; ++i) {
      if (i >= numArguments) {
        arguments.push_back(getWhole(event, i));
        continue;
      }
      const auto value = certificate.numGradients + static_cast<int64_t>(i);
      values[value].write(0, getArgumentBytes(routine, i),
                          getInputTerm("argument", i));
      arguments.push_back({&values[value], 0, wholeBytes});
    }
    if (Error error = runParts(parts, arguments))
      return error;
    for (auto [number, output] : llvm::enumerate(certificate.outputs))
      if (Error error = compare(event, numArguments + number, output,
                                "output " + std::to_string(number)))
        return error;
    return Error::success();
  }

  llvm::Error runBehind(Parts parts, bool isBackward) {
    const FrameEvent &event = parts.front();
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
    const size_t numTaken = parts.size() > 1 ? taken->values.size() + results
                                             : event.arguments.size();
    for (size_t i = 0; i < numTaken; ++i) {
      arguments.push_back({});
      if (i >= taken->values.size())
        arguments.back() = getWhole(event, i);
      else if (Error error = bind(event, *taken, i, arguments.back()))
        return error;
    }
    if (Error error = runParts(parts, arguments))
      return error;
    for (size_t i = 0; i < results; ++i)
      if (Error error = compare(event, taken->values.size() + i,
                                certificate.inputGradients[i],
                                "gradient of input " + std::to_string(i)))
        return error;
    return Error::success();
  }

  /// Runs the parts of a task. Each part takes the task's arguments first, and
  /// then the buffers that the parts hand to each other.
  llvm::Error runParts(Parts parts, llvm::ArrayRef<TermRange> arguments) {
    for (const FrameEvent &part : parts) {
      const Routine &routine = stage.routines[*part.routine];
      const size_t count = std::min(arguments.size(), part.arguments.size());
      const auto own = llvm::ArrayRef(parts.front().arguments);
      if (count < arguments.size() ||
          llvm::ArrayRef(part.arguments).take_front(count) !=
              own.take_front(count))
        return makeError(part.location,
                         "'" + routine.name +
                             "' continues a task, but does not take the "
                             "buffers that this has taken");
      llvm::SmallVector<TermRange> all(arguments);
      for (size_t i = count; i < part.arguments.size(); ++i)
        all.push_back(getWhole(part, i));
      chunk.run(routine, all);
    }
    return Error::success();
  }

  /// Returns the number of parts that the first task of `from` has.
  size_t countParts(Parts from) const {
    size_t count = 1;
    while (count < from.size() && from[count].routine &&
           stage.routines[*from[count].routine].continues)
      ++count;
    return count;
  }

  /// Finds the value of the certificate to which an argument must correspond,
  /// and fails if the call passes another one.
  llvm::Error bind(const FrameEvent &event, const CertifiedArguments &taken,
                   size_t number, TermRange &argument) {
    const int64_t value = taken.values[number];
    const uint32_t passed = event.arguments[number];
    auto refuse = [&](llvm::StringRef what, int64_t index) {
      return makeError(event.location,
                       "argument " + llvm::Twine(number) + " of '" +
                           taken.routine + "' is not " + what + " " +
                           llvm::Twine(index) + " of its chunk");
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

  llvm::Error compare(const FrameEvent &event, size_t number,
                      const CertifiedResult &expected, llvm::StringRef what) {
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

  llvm::Error checkStatic(uint32_t number, const BufferTerms &held) {
    const Static &buffer = stage.statics[number];
    const Term before = statics.get(number).read(0, buffer.bytes);
    const Term after = held.read(0, buffer.bytes);
    if (after == before)
      return Error::success();
    const bool isGradient =
        buffer.role == Role::Gradient || buffer.role == Role::Accumulated;
    if (auto found = results.find(buffer.of);
        isGradient && found != results.end()) {
      given[buffer.of] = true;
      return checkGradient(buffer, before, after, found->second);
    }
    if (buffer.role == Role::Constant && !certificate.losses.empty()) {
      // The sum of one part of the loss has the name of the part.
      Results losses{Kept::Sum, {}};
      for (const CertifiedResult &loss : certificate.losses)
        if (loss.name == buffer.name)
          losses.terms.push_back(loss.term);
      if (losses.terms.empty()) {
        given[""] = true;
        for (const CertifiedResult &loss : certificate.losses)
          losses.terms.push_back(loss.term);
      }
      return checkGradient(buffer, before, after, losses);
    }
    return makeError(
        layout.location,
        "the routines of '" + layout.name + "' write '" + buffer.name +
            "', which is no result of the model's chunk; it becomes " +
            describe(after));
  }

  /// The rule by which the values of all micro-batches become one: their sum,
  /// the last one, or the largest.
  enum class Kept { Sum, Last, Largest };
  /// The terms of a parameter's gradient, record or largest values.
  struct Results {
    Kept kept;
    llvm::SmallVector<Term, 1> terms;
  };

  void addResults(llvm::ArrayRef<CertifiedResult> list, Kept kept) {
    for (const CertifiedResult &result : list)
      results.try_emplace(result.name, Results{kept, {}})
          .first->second.terms.push_back(result.term);
  }

  /// Fails unless the gradient is the sum of the expected terms, beginning with
  /// zero, or the last of them if a single task writes it. For the largest
  /// value, terms are compared instead of added.
  llvm::Error checkGradient(const Static &buffer, Term before, Term after,
                            const Results &expected) {
    const Kept kept = expected.kept;
    Term sum = before, last = 0;
    for (const Term term : expected.terms) {
      sum = kept == Kept::Largest
                ? getLarger(sum, term, buffer.shape)
                : getSum(sum, term, buffer.shape, buffer.shape);
      last = term;
    }
    const bool keepsLast = kept == Kept::Last;
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
                         (keepsLast               ? " in '"
                          : kept == Kept::Largest ? " among the largest in '"
                                                  : " to be added to '") +
                         buffer.name + "', but found " + describe(after));
  }

  /// Fails if a result of the certificate was not found.
  llvm::Error checkGiven() {
    for (const auto *list :
         {&certificate.gradients, &certificate.records, &certificate.largest})
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

  TermRange getWhole(const FrameEvent &event, size_t number) {
    return {&messages[event.arguments[number]], 0, wholeBytes};
  }

  llvm::Error makeError(uint32_t location, const llvm::Twine &message) const {
    return llvm::make_error<LocatedError>(location, message);
  }

  std::string describe(Term found) const {
    const std::string maker = chunk.getMaker(found);
    return describeTerm(found) + (maker.empty()
                                      ? ", which no launch of the chunk makes"
                                      : " of " + maker);
  }

  const StageProgram &stage;
  const StaticTerms &statics;
  const GradientCounts &counts;
  const FrameLayout &layout;
  const Certificate &certificate;
  llvm::ArrayRef<FrameEvent> events;
  EqualTerms equal;
  ChunkRun chunk;
  /// The terms of the step's buffers for this frame, by number.
  std::map<uint32_t, BufferTerms> messages;
  /// The buffers of forward's arguments and of gradients, once they are known.
  std::vector<uint32_t> forwardArguments;
  std::map<int64_t, uint32_t> gradients;
  /// Arguments that stand for values of the certificate.
  std::map<int64_t, BufferTerms> values;
  /// The results of the certificate, by parameter.
  llvm::StringMap<Results> results;
  /// Gradients that were found, by parameter. The losses have an empty name.
  llvm::StringMap<bool> given;
};

} // namespace

Error verifyFrame(const Program &program, const StageProgram &stage,
                  const StaticTerms &statics, const GradientCounts &counts,
                  const FrameLayout &layout,
                  llvm::ArrayRef<FrameEvent> events) {
  return verifyNamingMakers([&] {
    return FrameVerifier(program, stage, statics, counts, layout, events);
  });
}

} // namespace mf::program
