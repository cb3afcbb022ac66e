//===- Device.h - One emulated NPU ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The host program's view of an Ascend device, modelled after AscendCL: one HBM
// arena, one arena of pinned host memory, streams and events.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DEVICE_DEVICE_H
#define MF_EXEC_DEVICE_DEVICE_H

#include "mf/Exec/Device/Arena.h"
#include "mf/Exec/Device/Stream.h"
#include "mf/Exec/Device/TurnSchedule.h"
#include "llvm/ADT/Twine.h"
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mf {

class CopyLink;

/// One device of one rank. It owns its streams, which must not be used after
/// its destruction.
class Device {
public:
  struct Options {
    int64_t hbmBytes = 0;
    int64_t hostBytes = 0;
    /// As Arena::Options, for both arenas.
    bool poison = false;
    bool guard = false;
    /// The rates of the link to the host in bytes per second. 0 copies as fast
    /// as the machine can.
    double hostToDeviceRate = 0;
    double deviceToHostRate = 0;
    /// Decides when each task runs. All devices that wait for each other share
    /// it. Null runs threads freely.
    std::shared_ptr<TurnSchedule> turns;
    /// The name of the device in messages of the schedule.
    std::string name;
  };

  static llvm::Expected<std::unique_ptr<Device>> create(const Options &options);

  /// Aborts queued work and waits for the threads of the streams.
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  Arena &getHbm() const { return *hbm; }
  Arena &getHost() const { return *host; }

  /// Creates a stream. The device owns it. `name` is used in messages.
  Stream &createStream(llvm::StringRef name);

  /// Waits for all streams. Returns the device's failure, if any.
  llvm::Error synchronize();

  /// Puts the device into the failed state, as failing work does. Queued work
  /// is dropped, and streams of any device that wait for its events are
  /// released (and fail their own device), so that nothing hangs. Work that is
  /// running is not interrupted. Only the first reason is kept.
  void abort(const llvm::Twine &reason);

  bool hasFailed() const { return failed.load(); }
  /// Returns the reason of the failure; empty if there is none.
  std::string getFailure() const;

  /// Sets a function that is called once, on the thread that failed first,
  /// after the failure is set. It can abort the other ranks. Must be called
  /// before work is issued.
  void setFailureHandler(std::function<void(const std::string &)> handler);

private:
  friend class Stream;
  Device();

  std::unique_ptr<Arena> hbm, host;
  std::unique_ptr<CopyLink> hostToDevice, deviceToHost;
  std::shared_ptr<TurnSchedule> turns;
  std::string name;

  mutable std::mutex mutex;
  std::vector<std::unique_ptr<Stream>> streams;
  std::function<void(const std::string &)> failureHandler;
  std::string failure;
  std::atomic<bool> failed{false};
};

} // namespace mf

#endif // MF_EXEC_DEVICE_DEVICE_H
