//===- FaultSchedule.h - Seeded order of tasks, with faults -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the streams of all ranks of a process in turns: only the stream whose
// turn it is runs, until its task ends or must wait. A seed decides which
// stream is next and which faults happen when, so that a run can be repeated
// exactly. Time is virtual. It is counted in turns and, for files, which are
// written between steps, in file operations.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DEVICE_FAULTSCHEDULE_H
#define MF_EXEC_DEVICE_FAULTSCHEDULE_H

#include "mf/Support/FileFaults.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace mf {

/// The faults that a schedule can inject.
enum class FaultKind {
  /// A stream fails at one of its tasks, as if its rank died.
  Death,
  /// A stream stops forever at one of its tasks.
  Freeze,
  /// A stream pauses for as many turns as all tasks of a step take.
  Late,
  /// A device fails to allocate memory.
  MemoryRefused,
  /// From some file operation on, all file operations fail as on a full disk.
  DiskFull,
  /// From some file operation on, writes transfer only few of their bytes.
  ShortWrites,
  /// The run ends at a file operation and leaves all files as they are then.
  FileCut,
};

llvm::StringRef getName(FaultKind kind);
/// Returns all kinds in their order.
llvm::ArrayRef<FaultKind> getFaultKinds();

/// A fault that was drawn.
struct Fault {
  FaultKind kind = FaultKind::Death;
  /// The first turn or file operation at which it happens. MemoryRefused
  /// happens when a device asks for memory.
  uint64_t instant = 0;
  bool injected = false;
  /// The device, stream or file operation that was hit.
  std::string victim;
};

/// The order of the tasks of a run, and the faults that happen in it.
class FaultSchedule : public FileFaults {
public:
  /// Draws an order of turns, and up to three faults of any kind.
  explicit FaultSchedule(uint64_t seed);
  /// Draws an order of turns. The run has one fault of each given kind.
  FaultSchedule(uint64_t seed, llvm::ArrayRef<FaultKind> kinds);

  /// Registers a device. Returns false if its allocation of memory must fail.
  bool addDevice();
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

  FileFault getNext() override;
  bool hasEnded() const override { return isCut; }

  /// Returns the schedule that the calling thread's stream follows; null if
  /// there is none.
  static FaultSchedule *&getOfThread();

  llvm::ArrayRef<Fault> getFaults() const { return faults; }
  /// Returns a hash of all turns so far.
  uint64_t getTrace() const { return trace; }
  /// Returns one line with the seed, the turns, the trace and the faults that
  /// happened.
  std::string describe() const;

private:
  struct Member {
    std::string name;
    std::function<void(const std::string &)> fail;
    size_t pending = 0;
    uint64_t lateUntil = 0;
    bool frozen = false;
    llvm::function_ref<bool()> isReady;
    /// Wakes the thread of this stream only.
    std::condition_variable hasTurn;
  };

  uint64_t draw(uint64_t end) { return random() % end; }
  void addFaults(llvm::ArrayRef<FaultKind> kinds);
  /// Returns a fault of a kind that is due at `now` and has not happened, or
  /// null.
  Fault *findDue(FaultKind kind, uint64_t now);
  bool canRun(const Member &member) const;
  bool isDelayed() const;
  void chooseNext(std::unique_lock<std::mutex> &lock);
  void reportStall(std::unique_lock<std::mutex> &lock);
  void drawInstant();

  const uint64_t seed;
  std::mt19937_64 random;
  std::vector<Fault> faults;

  std::mutex mutex;
  std::deque<Member> members;
  size_t numDevices = 0, numArrived = 0;
  static constexpr size_t nobody = ~size_t(0);
  size_t current = nobody;
  uint64_t numTurns = 0, stepTasks = 0, trace = 0;
  uint64_t numFileOperations = 0;
  bool isDiskFull = false, hasShortWrites = false, isCut = false;
};

} // namespace mf

#endif // MF_EXEC_DEVICE_FAULTSCHEDULE_H
