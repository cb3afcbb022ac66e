//===- StreamState.h - The thread of a stream -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_DEVICE_STREAMSTATE_H
#define MF_LIB_EXEC_DEVICE_STREAMSTATE_H

#include "mf/Exec/Device/Device.h"
#include "mf/Exec/Device/Stream.h"
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace mf {

/// The state of a capture. The stream that captured it completes it once; any
/// thread may wait for it.
struct EventRecord {
  using Clock = std::chrono::steady_clock;

  mutable std::mutex mutex;
  mutable std::condition_variable completed;
  bool complete = false;
  /// Why the captured work was dropped; empty if it was done.
  std::string failure;
  Clock::time_point time;

  void finish(std::string reason) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      complete = true;
      failure = std::move(reason);
      time = Clock::now();
    }
    completed.notify_all();
  }

  /// Makes waiting threads re-evaluate their other conditions.
  void wakeWaiters() const {
    {
      std::lock_guard<std::mutex> lock(mutex);
    }
    completed.notify_all();
  }
};

/// A link that executes one copy after another at a fixed rate. Times are
/// nominal: a copy that is queued starts when the link becomes free, not when a
/// thread wakes up, so that small delays do not accumulate.
class CopyLink {
public:
  using Clock = std::chrono::steady_clock;

  /// `rate` is in bytes per second; 0 means no limit.
  explicit CopyLink(double rate) : rate(rate) {}

  bool isPaced() const { return rate > 0; }

  /// Books a copy that may start at `ready`; returns when it will run.
  WorkTimes reserve(Clock::time_point ready, int64_t bytes) {
    auto duration = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(static_cast<double>(bytes) / rate));
    std::lock_guard<std::mutex> lock(mutex);
    const Clock::time_point start = std::max(free, ready);
    free = start + duration;
    return {start, free};
  }

private:
  double rate;
  std::mutex mutex;
  Clock::time_point free;
};

struct Stream::State {
  using Clock = std::chrono::steady_clock;

  struct Launch {
    llvm::unique_function<llvm::Error()> work;
  };
  struct Copy {
    void *to;
    const void *from;
    int64_t bytes;
    CopyLink *link;
    WorkTimes *times;
  };
  struct Record {
    std::shared_ptr<EventRecord> record;
  };
  struct Wait {
    std::shared_ptr<EventRecord> record;
    double *stallSeconds;
  };
  struct Task {
    std::variant<Launch, Copy, Record, Wait> what;
    Clock::time_point issued;
  };

  State(Device &device, llvm::StringRef name)
      : device(device), name(name.str()), turns(device.turns.get()) {}

  void start();
  /// Ends the thread once the queue is empty.
  void stop();
  void push(decltype(Task::what) what);
  /// Interrupts the current wait after a failure of the device.
  void wakeUp();
  void waitUntilIdle();

  Device &device;
  std::string name;
  /// Null if threads run without a schedule.
  TurnSchedule *const turns;
  /// The index of this stream in that schedule.
  size_t place = 0;
  std::thread thread;

  std::mutex mutex;
  std::condition_variable workOrFailure;
  std::condition_variable becameIdle;
  std::vector<Task> queue;
  bool threadSleeps = false;
  bool stopping = false;
  uint64_t issued = 0, finished = 0;
  std::shared_ptr<EventRecord> awaited;
  StreamStatistics statistics;

private:
  void loop();
  bool takeBatch(std::vector<Task> &batch);
  void run(Task &task);
  void runInTurn(Task &task);
  void run(Launch &launch);
  void run(Copy &copy);
  void run(Record &record);
  void run(Wait &wait);
  void sleepUntil(Clock::time_point time);
  void fail(const llvm::Twine &reason);
  void addStatistics(int64_t launches, int64_t copies, int64_t bytes,
                     Clock::duration busy, Clock::duration stall);

  /// The end of the work before the current task, in which copies have their
  /// nominal end.
  Clock::time_point readyTime;
};

} // namespace mf

#endif // MF_LIB_EXEC_DEVICE_STREAMSTATE_H
