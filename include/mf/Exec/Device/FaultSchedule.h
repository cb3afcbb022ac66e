//===- FaultSchedule.h - One seed decides what runs next ------*- C++ -*-===//
//
// The streams of all ranks of a process in turns: only the stream whose turn it
// is runs, until its task is over or must wait. A seed decides who is next and
// which faults happen when, so that a run can be repeated exactly. The clock is
// virtual: it counts turns, and operations on files, which are written between
// the steps.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DEVICE_FAULTSCHEDULE_H
#define MF_DEVICE_FAULTSCHEDULE_H

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

enum class FaultKind {
  /// A stream fails at one of its tasks, as where its rank dies.
  Death,
  /// A stream does not go on from one of its tasks.
  Freeze,
  /// A stream does not go on for as many turns as all tasks of a step.
  Late,
  /// A device gets no memory.
  MemoryRefused,
  /// From one operation on a file on, all fail as on a full disk.
  DiskFull,
  /// From one operation on a file on, writes move few of their bytes.
  ShortWrites,
  /// The run ends at an operation on a file and leaves all as it is then.
  FileCut,
};

llvm::StringRef getName(FaultKind kind);
/// All kinds, in their order.
llvm::ArrayRef<FaultKind> getFaultKinds();

/// A fault that was drawn.
struct Fault {
  FaultKind kind = FaultKind::Death;
  /// From which turn, or operation on a file, on it happens. A device is
  /// refused memory when it asks for it.
  uint64_t instant = 0;
  bool injected = false;
  /// The device, stream or file operation that it befell.
  std::string victim;
};

class FaultSchedule : public FileFaults {
public:
  /// Draws an order of turns, and up to three faults of any kinds.
  explicit FaultSchedule(uint64_t seed);
  /// Draws an order of turns and has faults of these kinds.
  FaultSchedule(uint64_t seed, llvm::ArrayRef<FaultKind> kinds);

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

  FileFault getNext() override;
  bool hasEnded() const override { return isCut; }

  /// The schedule that the stream of the calling thread obeys; null if none.
  static FaultSchedule *&getOfThread();

  llvm::ArrayRef<Fault> getFaults() const { return faults; }
  uint64_t getNumTurns() const { return numTurns; }
  /// A hash of all turns so far.
  uint64_t getTrace() const { return trace; }
  /// Seed, turns, trace and the faults that happened in a line.
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
  void addFaults(llvm::ArrayRef<FaultKind> kinds);
  /// A fault of a kind that is due at `now` and has not happened; null if there
  /// is none.
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

#endif // MF_DEVICE_FAULTSCHEDULE_H
