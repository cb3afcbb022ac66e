//===- Transport.h - Messages between processes -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The few functions of MPI that a run over several processes needs: messages of
// known sizes, and a common end. The implementation over MPI is a separate
// library that is loaded only if there are several processes, so that nothing
// else depends on MPI.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_TRANSPORT_TRANSPORT_H
#define MF_EXEC_TRANSPORT_TRANSPORT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace mf {

/// A message to or from another process.
struct Message {
  static Message makeSend(int64_t process, int64_t tag, const std::byte *from,
                          int64_t bytes) {
    return {true, process, tag, from, nullptr, bytes, bytes};
  }
  static Message makeReceive(int64_t process, int64_t tag, std::byte *to,
                             int64_t bytes) {
    return {false, process, tag, nullptr, to, bytes, 0};
  }

  bool isSend = false;
  int64_t process = 0;
  int64_t tag = 0;
  /// The bytes to send.
  const std::byte *from = nullptr;
  /// The destination of received bytes.
  std::byte *to = nullptr;
  int64_t bytes = 0;
  /// For a received message, the bytes that the sender sent. If they differ
  /// from `bytes`, `to` is not written.
  int64_t arrivedBytes = 0;
};

/// How a process was lost.
enum class Loss : uint8_t {
  Ended,
  /// None of the process's threads runs, because it was stopped or frozen.
  Stopped
};

/// Connects the processes of a run. All of them call its functions.
class Transport {
public:
  /// Waits until all processes have arrived in their destructors.
  virtual ~Transport();

  /// Returns the index of this process, from 0.
  virtual int64_t getProcess() const = 0;
  virtual int64_t getNumProcesses() const = 0;
  /// Returns the number of processes on this machine.
  virtual int64_t getNumProcessesHere() const = 0;
  /// Returns the largest tag. Tags start at 0.
  virtual int64_t getMaximumTag() const = 0;

  /// Transfers all messages and blocks until they are done: sent bytes have
  /// been received, and received bytes have arrived. Messages with the same tag
  /// between two processes arrive in the order of the calls. Thread-safe, but
  /// only one thread at a time may use a tag, process and direction. Returns
  /// false if the transport was interrupted; then no memory is in use any more.
  virtual bool exchange(llvm::MutableArrayRef<Message> messages) = 0;

  /// Ends all current and future calls of `exchange` in this process.
  virtual void interrupt() = 0;

  /// Calls `lost` from another thread if a process of this machine ends or no
  /// longer runs without having reached the destructor. This process ends after
  /// the call.
  virtual void watch(std::function<void(int64_t process, Loss loss)> lost) = 0;

  /// Returns true for the first process of this machine that asks. It reports
  /// why all processes end and then calls finishReport.
  virtual bool claimReport() = 0;
  virtual void finishReport() = 0;

  /// Ends all processes, including this one, after a claimed report is
  /// finished.
  [[noreturn]] virtual void abort() = 0;
};

/// Returns whether Open MPI's mpirun started this process.
bool isStartedByMpirun();

/// Returns the number of processes that mpirun started together with this one;
/// 1 if it did not start this one.
int64_t countStartedProcesses();

/// Loads the implementation over MPI from the library at `path` and joins the
/// processes that were started together.
llvm::Expected<std::unique_ptr<Transport>> loadTransport(llvm::StringRef path);

} // namespace mf

#endif // MF_EXEC_TRANSPORT_TRANSPORT_H
