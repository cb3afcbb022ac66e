//===- StreamClocks.h - Order among streams as vector clocks ---*- C++ -*-===//
//
// Lamport's happened-before for a rank's streams: instructions of one stream
// are in order, and what follows a wait comes after what its event captured.
// Position n on stream s happened before the next instruction of stream t if
// t's clock for s has reached n (Mattern, Virtual Time and Global States of
// Distributed Systems, 1989).
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_STREAMCLOCKS_H
#define MF_LIB_PROGRAM_STREAMCLOCKS_H

#include "StepWalker.h"
#include <algorithm>

namespace mf::program {

class StreamClocks {
public:
  explicit StreamClocks(const Rank &rank)
      : numStreams(rank.streams.size()), clocks(numStreams * numStreams, 0),
        stepEvents(rank.step.numEvents) {}

  /// Puts the next instruction on `stream`; its position there counts from 1.
  uint64_t advance(uint32_t stream) {
    return ++clocks[stream * numStreams + stream];
  }

  /// Whether the instruction at `position` of `from` is over when the latest
  /// instruction of `stream` starts.
  bool isOrdered(uint32_t from, uint64_t position, uint32_t stream) const {
    return getClock(stream, from) >= position;
  }

  /// How much of `from` is over when the latest of `stream` starts.
  uint64_t getClock(uint32_t stream, uint32_t from) const {
    return clocks[stream * numStreams + from];
  }

  void record(const Scope &scope, const Record &record) {
    std::vector<Clock> &events = getEvents(scope);
    if (events.size() <= record.event)
      events.resize(record.event + 1);
    const uint64_t *begin = &clocks[record.stream * numStreams];
    events[record.event].assign(begin, begin + numStreams);
  }

  void wait(const Scope &scope, const Wait &wait) {
    const Clock &event = wait.isArgument
                             ? stepEvents[scope.call->events[wait.event]]
                             : getEvents(scope)[wait.event];
    uint64_t *clock = &clocks[wait.stream * numStreams];
    for (uint32_t i = 0; i < numStreams; ++i)
      clock[i] = std::max(clock[i], event[i]);
  }

private:
  using Clock = std::vector<uint64_t>;

  // A routine records each event before it waits for it, so calls may share
  // one table.
  std::vector<Clock> &getEvents(const Scope &scope) {
    return scope.call ? routineEvents : stepEvents;
  }

  uint32_t numStreams;
  /// Row s is the clock of stream s.
  std::vector<uint64_t> clocks;
  std::vector<Clock> stepEvents;
  std::vector<Clock> routineEvents;
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_STREAMCLOCKS_H
