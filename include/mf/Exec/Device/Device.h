//===- Device.h - One emulated NPU ----------------------------*- C++ -*-===//
//
// The host program's view of an Ascend device: one HBM arena, one arena of
// pinned host memory, streams and events, after AscendCL.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DEVICE_DEVICE_H
#define MF_DEVICE_DEVICE_H

#include "mf/Exec/Device/Arena.h"
#include "mf/Exec/Device/Event.h"
#include "mf/Exec/Device/FaultSchedule.h"
#include "mf/Exec/Device/Stream.h"
#include "llvm/ADT/Twine.h"
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mf {

class CopyLink;

/// One device of one rank. Streams live as long as the device; a stream must
/// not be used after it.
class Device {
public:
  struct Options {
    int64_t hbmBytes = 0;
    int64_t hostBytes = 0;
    /// See Arena::Options; they hold for both arenas.
    bool poison = false;
    bool guard = false;
    /// Rates of the link to the host in bytes per second; 0 copies as fast as
    /// the machine does.
    double hostToDeviceRate = 0;
    double deviceToHostRate = 0;
    /// Decides when each task runs, and which fault happens; all devices that
    /// wait for each other share it. Null lets threads run as they come.
    std::shared_ptr<FaultSchedule> faults;
    /// The name of the device in what the schedule says.
    std::string name;
  };

  static llvm::Expected<std::unique_ptr<Device>> create(const Options &options);

  /// Aborts queued work and waits for the streams' threads.
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  Arena &getHbm() const { return *hbm; }
  Arena &getHost() const { return *host; }

  /// A new stream; `name` is for messages. The device owns it.
  Stream &createStream(llvm::StringRef name);

  /// Waits for all streams. Returns the device's failure, if any.
  llvm::Error synchronize();

  /// Puts the device into the state of failure, as failing work does: queued
  /// work is dropped, streams of any device that wait for its events are
  /// released (and fail their own device), nothing hangs. The first reason is
  /// kept. Work that is running is not interrupted.
  void abort(const llvm::Twine &reason);

  bool hasFailed() const { return failed.load(); }
  /// The reason of the failure; empty if there is none.
  std::string getFailure() const;

  /// Called once, on the thread that failed first, after the failure is set:
  /// the place to abort the other ranks. To be set before work is issued.
  void setFailureHandler(std::function<void(const std::string &)> handler);

private:
  friend class Stream;
  Device();

  std::unique_ptr<Arena> hbm, host;
  std::unique_ptr<CopyLink> hostToDevice, deviceToHost;
  std::shared_ptr<FaultSchedule> faults;
  std::string name;

  mutable std::mutex mutex;
  std::vector<std::unique_ptr<Stream>> streams;
  std::function<void(const std::string &)> failureHandler;
  std::string failure;
  std::atomic<bool> failed{false};
};

} // namespace mf

#endif // MF_DEVICE_DEVICE_H
