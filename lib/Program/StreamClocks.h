//===- StreamClocks.h - Order among streams as vector clocks ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Lamport's happened-before for a stage's streams. The instructions of one
// stream are ordered, and whatever follows a wait comes after the work that its
// event captured. Position n on stream s happened before the next instruction
// of stream t if t's clock for s has reached n (Mattern, Virtual Time and
// Global States of Distributed Systems, 1989).
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_STREAMCLOCKS_H
#define MF_LIB_PROGRAM_STREAMCLOCKS_H

#include "mf/Program/StepWalker.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::program {

class StreamClocks {
public:
  explicit StreamClocks(const StageProgram &program)
      : StreamClocks(program, program.step) {}

  /// For a single list. Events that a call would pass are never awaited.
  StreamClocks(const StageProgram &program, const InstructionList &list)
      : numStreams(program.streams.size()), clocks(numStreams * numStreams, 0),
        stepEvents(list.numEvents * numStreams, 0) {}

  /// Makes the instruction's stream wait for the instruction's events, and adds
  /// the instruction to the stream. Returns its position there, from 1.
  uint64_t begin(const Scope &scope, const Instruction &instruction) {
    for (const AwaitedEvent &awaited : instruction.awaited)
      if (!awaited.isArgument)
        join(instruction.stream, getEvents(scope), awaited.event);
      else if (scope.call)
        join(instruction.stream, stepEvents, scope.call->events[awaited.event]);
    return ++at(instruction.stream, instruction.stream);
  }

  /// Records the instruction's event, if it has one.
  void end(const Scope &scope, const Instruction &instruction) {
    if (!instruction.recorded)
      return;
    Clocks &events = getEvents(scope);
    const size_t begin = size_t{*instruction.recorded} * numStreams;
    if (events.size() < begin + numStreams)
      events.resize(begin + numStreams, 0);
    std::copy_n(clocks.begin() +
                    static_cast<ptrdiff_t>(instruction.stream * numStreams),
                numStreams, events.begin() + static_cast<ptrdiff_t>(begin));
  }

  /// Makes a stream wait for an event of the step.
  void wait(uint32_t stream, uint32_t stepEvent) {
    join(stream, stepEvents, stepEvent);
  }

  /// Sets the position of a stream's latest instruction.
  void setPosition(uint32_t stream, uint64_t position) {
    at(stream, stream) = position;
  }

  /// Returns whether the instruction at `position` of `from` is over when the
  /// latest instruction of `stream` starts.
  bool isOrdered(uint32_t from, uint64_t position, uint32_t stream) const {
    return getClock(stream, from) >= position;
  }

  /// Returns up to which position `from` is over when the latest instruction of
  /// `stream` starts.
  uint64_t getClock(uint32_t stream, uint32_t from) const {
    return clocks[stream * numStreams + from];
  }

  /// Returns the clock of the latest instruction of `stream`.
  llvm::ArrayRef<uint64_t> getClocks(uint32_t stream) const {
    return llvm::ArrayRef(clocks).slice(stream * numStreams, numStreams);
  }
  void setClocks(uint32_t stream, llvm::ArrayRef<uint64_t> values) {
    llvm::copy(values,
               clocks.begin() + static_cast<ptrdiff_t>(stream * numStreams));
  }

  /// Returns the clock of an event of the step.
  llvm::ArrayRef<uint64_t> getStepEvent(uint32_t event) const {
    return llvm::ArrayRef(stepEvents).slice(event * numStreams, numStreams);
  }
  void setStepEvent(uint32_t event, llvm::ArrayRef<uint64_t> values) {
    llvm::copy(values,
               stepEvents.begin() + static_cast<ptrdiff_t>(event * numStreams));
  }

private:
  /// Concatenated clocks of `numStreams` numbers each. A step has too many
  /// events for separate vectors.
  using Clocks = std::vector<uint64_t>;

  uint64_t &at(uint32_t stream, uint32_t other) {
    return clocks[stream * numStreams + other];
  }
  /// An event that has not been recorded is at the start of time.
  void join(uint32_t stream, const Clocks &events, uint32_t event) {
    const size_t begin = size_t{event} * numStreams;
    if (begin >= events.size())
      return;
    for (size_t i = 0; i < numStreams; ++i)
      at(stream, i) = std::max(at(stream, i), events[begin + i]);
  }

  // A routine records each event before it waits for it, so calls may share one
  // table.
  Clocks &getEvents(const Scope &scope) {
    return scope.call ? routineEvents : stepEvents;
  }

  size_t numStreams;
  /// Clock s is that of stream s.
  Clocks clocks;
  /// The clock of each event, by its number.
  Clocks stepEvents;
  Clocks routineEvents;
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_STREAMCLOCKS_H
