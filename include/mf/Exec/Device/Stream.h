//===- Stream.h - Queues of work beside the host ----------------*- C++ -*-===//

#ifndef MF_DEVICE_STREAM_H
#define MF_DEVICE_STREAM_H

#include "mf/Exec/Device/Event.h"
#include "llvm/ADT/FunctionExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <chrono>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace mf {

class Device;

enum class CopyKind { HostToDevice, DeviceToHost, DeviceToDevice };

/// Counts of the work that a stream did so far, with times in seconds of wall
/// time.
struct StreamStatistics {
  /// Launches and copies that ran.
  int64_t launches = 0, copies = 0;
  int64_t copiedBytes = 0;
  /// Running launches and copies, the pacing of copies included.
  double busySeconds = 0;
  /// Blocked in waits for events.
  double stallSeconds = 0;
};

/// When a stream ran something.
struct WorkTimes {
  std::chrono::steady_clock::time_point start, end;
};

/// A queue of work with a thread of its own that runs it in order. Issuing work
/// never blocks. Any host thread may issue work.
///
/// Failure: work that fails puts the whole device into a state of failure (see
/// Device). From then on work is dropped, waits are released, and `synchronize`
/// says what went wrong first.
class Stream {
public:
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  llvm::StringRef getName() const;

  /// Runs `work()` when all before it is done. It returns nothing or an
  /// llvm::Error; an error and an exception fail the device.
  template <typename Work> void launch(Work work) {
    if constexpr (std::is_void_v<decltype(work())>)
      launchFallible([work = std::move(work)]() mutable {
        work();
        return llvm::Error::success();
      });
    else
      launchFallible(std::move(work));
  }

  /// Copies `bytes` bytes when all before it is done. Device memory must lie in
  /// the device's HBM, host memory in its pinned host memory; otherwise the
  /// device fails. If the link of that direction has a rate, the copy takes at
  /// least the time the link needs for it, after the copies already on it.
  /// When it ran, or when the link carried it, is written to `*times` by the
  /// stream's thread; read it after synchronising.
  void memcpyAsync(void *to, const void *from, int64_t bytes, CopyKind kind,
                   WorkTimes *times = nullptr);

  /// Captures the work issued so far in `event`.
  void record(Event &event);

  /// Lets the work issued after this wait for what `event` has captured now.
  /// A wait for an event that captured nothing fails the device: the program
  /// has lost a record. The seconds spent blocked are added to
  /// `*stallSeconds` by the stream's thread; read it after synchronising.
  void wait(const Event &event, double *stallSeconds = nullptr);

  /// Blocks the host until all work issued so far is done or dropped. Returns
  /// the device's failure, if any.
  llvm::Error synchronize();

  /// To be read when the stream is synchronised.
  StreamStatistics getStatistics() const;

private:
  friend class Device;
  struct State;
  Stream(Device &device, llvm::StringRef name);
  void launchFallible(llvm::unique_function<llvm::Error()> work);

  std::unique_ptr<State> state;
};

} // namespace mf

#endif // MF_DEVICE_STREAM_H
