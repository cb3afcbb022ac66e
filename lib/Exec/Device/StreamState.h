//===- StreamState.h - The thread of a stream -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_DEVICE_STREAMSTATE_H
#define MF_LIB_EXEC_DEVICE_STREAMSTATE_H

#include "CopyLink.h"
#include "EventRecord.h"
#include "mf/Exec/Device/Device.h"
#include "mf/Exec/Device/Stream.h"
#include <condition_variable>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

namespace mf {

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
