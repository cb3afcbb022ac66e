//===- StreamClock.h - What each stream knows to be done -------*- C++ -*-===//

#ifndef MF_PASSES_PLAN_MEMORY_STREAMCLOCK_H
#define MF_PASSES_PLAN_MEMORY_STREAMCLOCK_H

#include "dialects/ascend/AscendDialect.h"
#include "llvm/ADT/StringMap.h"

namespace mf::passes {

/// Vector clocks over the streams of a step, in the order in which the host
/// issues: for each stream, how much of every stream is over once its next
/// operation starts.
class StreamClock {
public:
  /// Number of a stream; new names get new numbers.
  unsigned getStream(llvm::StringRef name) {
    auto [entry, isNew] = numbers.try_emplace(name, clocks.size());
    if (isNew)
      clocks.emplace_back();
    return entry->second;
  }

  /// Issues one operation on a stream; returns its number there, from 1.
  int64_t issue(unsigned stream) { return ++at(clocks[stream], stream); }

  /// Makes `number` the stream's latest operation.
  void advance(unsigned stream, int64_t number) {
    at(clocks[stream], stream) = number;
  }

  void record(unsigned stream, mlir::Value event) {
    events[event] = clocks[stream];
  }

  void wait(unsigned stream, mlir::Value event) {
    const Clock &known = events[event];
    for (unsigned other = 0; other < known.size(); ++other)
      at(clocks[stream], other) =
          std::max(at(clocks[stream], other), known[other]);
  }

  /// Operations of `other` that are over when the next one of `stream` starts.
  int64_t getKnown(unsigned stream, unsigned other) const {
    return other < clocks[stream].size() ? clocks[stream][other] : 0;
  }

private:
  using Clock = llvm::SmallVector<int64_t, 8>;
  static int64_t &at(Clock &clock, unsigned index) {
    if (clock.size() <= index)
      clock.resize(index + 1, 0);
    return clock[index];
  }

  llvm::StringMap<unsigned> numbers;
  std::vector<Clock> clocks;
  llvm::DenseMap<mlir::Value, Clock> events;
};

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_STREAMCLOCK_H
