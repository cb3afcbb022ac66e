//===- FaultSchedule.h - One seed decides what runs next ------*- C++ -*-===//
//
// The streams of all ranks of a process in turns: only the stream whose turn it
// is runs, until its task is over or must wait. A seed decides who is next and
// which fault happens when, so that a run can be repeated exactly. The clock is
// virtual: it counts turns.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DEVICE_FAULTSCHEDULE_H
#define MF_DEVICE_FAULTSCHEDULE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <string>

namespace mf {

enum class FaultKind {
  None,
  /// A stream fails at one of its tasks, as where its rank dies.
  Death,
  /// A stream does not go on from one of its tasks.
  Freeze,
  /// A stream does not go on for as many turns as all tasks of a step.
  Late,
  /// A device gets no memory.
  MemoryRefused,
};

llvm::StringRef getName(FaultKind kind);

class FaultSchedule {
public:
  /// Draws an order of turns, and one fault of any kind or none. `kind`, if it
  /// is given, says which instead.
  explicit FaultSchedule(uint64_t seed);
  FaultSchedule(uint64_t seed, FaultKind kind) : FaultSchedule(seed) {
    this->kind = kind;
  }

  /// A device with its streams joins. False if memory is to be refused to it.
  bool addDevice();
  /// A stream joins; `fail` is called if it is to fail.
  size_t addStream(std::string name,
                   std::function<void(const std::string &)> fail);

  /// A task is given to a stream.
  void noteIssued(size_t stream);
  /// A device has all its tasks. Once all have, the turns begin: before, what
  /// could run next would depend on how far threads are.
  void arrive();

  /// Called on the thread of a stream: waits for its turn, in which the stream
  /// may fail.
  void beginTask(size_t stream);
  void endTask();
  /// Called by the one whose turn it is: gives others turns until `isReady`,
  /// which is called in turns of others.
  void waitUntil(llvm::function_ref<bool()> isReady);

  /// The schedule that the stream of the calling thread obeys; null if none.
  static FaultSchedule *&getOfThread();

  FaultKind getKind() const { return kind; }
  /// Whether the fault that was drawn has happened.
  bool hasInjected() const { return injected; }
  uint64_t getNumTurns() const { return numTurns; }
  /// A hash of all turns so far.
  uint64_t getTrace() const { return trace; }
  /// Seed, turns, trace and fault in a line.
  std::string describe() const;

private:
  struct Member {
    std::string name;
    std::function<void(const std::string &)> fail;
    size_t pending = 0;
    uint64_t lateUntil = 0;
    bool frozen = false;
    llvm::function_ref<bool()> isReady;
    /// Wakes its thread alone.
    std::condition_variable hasTurn;
  };

  uint64_t draw(uint64_t end) { return random() % end; }
  bool canRun(const Member &member) const;
  bool isDelayed() const;
  void chooseNext(std::unique_lock<std::mutex> &lock);
  void reportStall(std::unique_lock<std::mutex> &lock);
  void drawInstant();

  const uint64_t seed;
  std::mt19937_64 random;
  FaultKind kind;
  bool injected = false;
  /// When the fault happens: at which turn, or to which device.
  uint64_t instant = 0;
  std::string victim;

  std::mutex mutex;
  std::deque<Member> members;
  size_t numDevices = 0, numArrived = 0;
  static constexpr size_t nobody = ~size_t(0);
  size_t current = nobody;
  uint64_t numTurns = 0, stepTasks = 0, trace = 0;
};

} // namespace mf

#endif // MF_DEVICE_FAULTSCHEDULE_H
