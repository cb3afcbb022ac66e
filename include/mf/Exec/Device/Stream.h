//===- Stream.h - Queues of asynchronous work, and events -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_DEVICE_STREAM_H
#define MF_EXEC_DEVICE_STREAM_H

#include "llvm/ADT/FunctionExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>

namespace mf {

class Device;
class Stream;
struct EventRecord;

/// An event of AscendCL made with ACL_EVENT_SYNC. `Stream::record` captures the
/// stream's work so far. Recording again replaces the capture, and a wait
/// refers to the capture that was the latest when the wait was issued. Several
/// host threads may use an event, and it may be destroyed before the captured
/// work or a waiting stream is done, because captures are shared.
class Event {
public:
  Event();
  ~Event();
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;

  /// Returns whether the work that was captured last is done (or its stream has
  /// failed). False if nothing was captured.
  bool isComplete() const;

  /// Blocks the host until the work that was captured last is done. Fails if
  /// nothing was captured or if the stream failed before.
  llvm::Error synchronize() const;

private:
  friend class Stream;
  std::shared_ptr<EventRecord> getRecord() const;
  void setRecord(std::shared_ptr<EventRecord> newRecord);

  mutable std::mutex mutex;
  std::shared_ptr<EventRecord> record;
};

enum class CopyKind { HostToDevice, DeviceToHost, DeviceToDevice };

/// Statistics of the work that a stream has done so far. Times are in seconds
/// of wall time.
struct StreamStatistics {
  /// The launches and copies that ran.
  int64_t launches = 0, copies = 0;
  int64_t copiedBytes = 0;
  /// The time in which launches and copies ran, including the pacing of copies.
  double busySeconds = 0;
  /// The time blocked in waits for events.
  double stallSeconds = 0;
};

/// The start and end of work on a stream.
struct WorkTimes {
  std::chrono::steady_clock::time_point start, end;
};

/// A queue of work with its own thread, which runs the work in order. Issuing
/// work never blocks. Any host thread may issue work.
///
/// Work that fails puts the whole device into the failed state (see Device).
/// From then on work is dropped, waits are released, and `synchronize` returns
/// the first failure.
class Stream {
public:
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  llvm::StringRef getName() const;

  /// Runs `work()` after all earlier work of the stream. It returns void or an
  /// llvm::Error. An error or an exception fails the device.
  template <typename Work> void launch(Work work) {
    if constexpr (std::is_void_v<decltype(work())>)
      launchFallible([work = std::move(work)]() mutable {
        work();
        return llvm::Error::success();
      });
    else
      launchFallible(std::move(work));
  }

  /// Copies `bytes` bytes after all earlier work of the stream. Device memory
  /// must be in the device's HBM, and host memory in its pinned host memory;
  /// otherwise the device fails. If the link of that direction has a rate, the
  /// copy takes at least the time that the link needs for it, after the copies
  /// that the link already has. The stream's thread stores in `*times` when the
  /// copy ran, or when the link transferred it; read it after synchronising.
  void memcpyAsync(void *to, const void *from, int64_t bytes, CopyKind kind,
                   WorkTimes *times = nullptr);

  /// Captures the work issued so far in `event`.
  void record(Event &event);

  /// Lets the work that is issued afterwards wait for the work that `event` has
  /// captured now. A wait for an event that captured nothing fails the device,
  /// because the program lacks a record. The stream's thread adds the seconds
  /// spent blocked to `*stallSeconds`; read it after synchronising.
  void wait(const Event &event, double *stallSeconds = nullptr);

  /// Blocks the host until all work issued so far is done or dropped. Returns
  /// the device's failure, if any.
  llvm::Error synchronize();

  /// Must be called only when the stream is synchronised.
  StreamStatistics getStatistics() const;

private:
  friend class Device;
  struct State;
  Stream(Device &device, llvm::StringRef name);
  void launchFallible(llvm::unique_function<llvm::Error()> work);

  std::unique_ptr<State> state;
};

} // namespace mf

#endif // MF_EXEC_DEVICE_STREAM_H
