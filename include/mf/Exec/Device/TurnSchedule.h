//===- TurnSchedule.h - Seeded order of tasks -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the streams of all ranks of a process in turns: only the stream whose
// turn it is runs, until its task ends or must wait. A seed decides which
// stream is next, so that a run can be repeated exactly. Time is virtual: it is
// counted in turns.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DEVICE_TURNSCHEDULE_H
#define MF_EXEC_DEVICE_TURNSCHEDULE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <string>

namespace mf {

/// The order of the tasks of a run. A derived class can disturb the run.
class TurnSchedule {
public:
  explicit TurnSchedule(uint64_t seed) : seed(seed), random(seed) {}
  virtual ~TurnSchedule();

  /// Registers a device. Returns why it does not get its memory; empty if it
  /// does.
  std::string addDevice();
  /// Registers a stream. `fail` is called to make it fail.
  size_t addStream(std::string name,
                   std::function<void(const std::string &)> fail);

  /// Records that a task was issued to a stream.
  void noteIssued(size_t stream);
  /// Records that a device has received all its tasks. The turns begin after
  /// all devices have; before that, the set of streams that can run would
  /// depend on the progress of threads.
  void arrive();

  /// Called on the thread of a stream. Waits for the stream's turn, in which it
  /// may be made to fail.
  void beginTask(size_t stream);
  void endTask();
  /// Called on the thread whose turn it is. Gives turns to others until
  /// `isReady` returns true; it is called during the turns of others.
  void waitUntil(llvm::function_ref<bool()> isReady);

  /// Returns the schedule that the calling thread's stream follows; null if
  /// there is none.
  static TurnSchedule *&getOfThread();

  /// Returns a hash of all turns so far.
  uint64_t getTrace() const { return trace; }
  /// Returns the seed, the number of turns and the trace.
  virtual std::string describe() const;

protected:
  /// The pause of a stream that never continues.
  static constexpr uint64_t forever = ~uint64_t(0);

  // All of these are called with `mutex` held.

  /// Returns why a device does not get its memory; empty if it does.
  virtual std::string getRefusal(size_t device);
  /// Called once, before the first turn, with the number of tasks of a step.
  virtual void begin(uint64_t stepTasks);
  /// Returns for how many turns the stream, which would be next, pauses.
  virtual uint64_t getPause(llvm::StringRef stream);
  /// Returns why the stream fails at the task that it begins; empty if it does
  /// not.
  virtual std::string getFailure(llvm::StringRef stream);

  /// Returns a random number in [0, end).
  uint64_t draw(uint64_t end) { return random() % end; }
  uint64_t getSeed() const { return seed; }
  uint64_t getTurn() const { return numTurns; }

  std::mutex mutex;

private:
  struct Member {
    std::string name;
    std::function<void(const std::string &)> fail;
    size_t pending = 0;
    uint64_t pausedUntil = 0;
    llvm::function_ref<bool()> isReady;
    /// Wakes the thread of this stream only.
    std::condition_variable hasTurn;

    bool isFrozen() const { return pausedUntil == forever; }
  };

  bool canRun(const Member &member) const;
  bool endPauses();
  void chooseNext(std::unique_lock<std::mutex> &lock);
  void reportStall(std::unique_lock<std::mutex> &lock);

  const uint64_t seed;
  std::mt19937_64 random;
  std::deque<Member> members;
  size_t numDevices = 0, numArrived = 0;
  static constexpr size_t nobody = ~size_t(0);
  size_t current = nobody;
  uint64_t numTurns = 0, trace = 0;
  bool hasBegun = false;
};

} // namespace mf

#endif // MF_EXEC_DEVICE_TURNSCHEDULE_H
