//===- CopyLink.h - One direction of the link to the host -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_DEVICE_COPYLINK_H
#define MF_LIB_EXEC_DEVICE_COPYLINK_H

#include "mf/Exec/Device/Stream.h"
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace mf {

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

} // namespace mf

#endif // MF_LIB_EXEC_DEVICE_COPYLINK_H
