//===- EventRecord.h - One capture of an event ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_DEVICE_EVENTRECORD_H
#define MF_LIB_EXEC_DEVICE_EVENTRECORD_H

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

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

} // namespace mf

#endif // MF_LIB_EXEC_DEVICE_EVENTRECORD_H
