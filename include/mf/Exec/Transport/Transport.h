//===- Transport.h - Messages between processes -----------------*- C++ -*-===//
//
// The few functions of MPI that a run over several processes needs: messages of
// known sizes, and one end for all. The implementation over MPI is a library of
// its own that is loaded when a process is one of several, so that nothing else
// needs MPI.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TRANSPORT_TRANSPORT_H
#define MF_TRANSPORT_TRANSPORT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace mf {

/// A message to another process, or one from there.
struct Message {
  static Message makeSend(int64_t process, int64_t tag, const std::byte *from,
                          int64_t bytes) {
    return {true, process, tag, const_cast<std::byte *>(from), bytes, bytes};
  }
  static Message makeReceive(int64_t process, int64_t tag, std::byte *to,
                             int64_t bytes) {
    return {false, process, tag, to, bytes, 0};
  }

  bool isSend = false;
  int64_t process = 0;
  int64_t tag = 0;
  /// The bytes to send or the place for received ones; sent bytes are only
  /// read.
  std::byte *data = nullptr;
  int64_t bytes = 0;
  /// Set for a received message: the bytes that the sender sent. If they are
  /// not `bytes`, `data` is not written.
  int64_t arrivedBytes = 0;
};

/// The way in which a process was lost.
enum class Loss : uint8_t {
  Ended,
  /// None of its threads runs: it was stopped or frozen.
  Stopped
};

class Transport {
public:
  /// Ends in good order: waits for all processes to come here.
  virtual ~Transport();

  /// The number of this process, from 0.
  virtual int64_t getProcess() const = 0;
  virtual int64_t getNumProcesses() const = 0;
  /// The number of processes that share this machine.
  virtual int64_t getNumProcessesHere() const = 0;
  /// Tags are from 0 to this.
  virtual int64_t getMaximumTag() const = 0;

  /// Moves all messages and blocks until they are done: sent bytes have met
  /// their receiver, received bytes have arrived. Messages of one tag between
  /// two processes arrive in the order of the calls. May be called by several
  /// threads; for one tag, process and direction, by one at a time. False if
  /// the transport was interrupted; then no memory is used any more.
  virtual bool exchange(llvm::MutableArrayRef<Message> messages) = 0;

  /// Ends all calls of `exchange` in this process, now and later.
  virtual void interrupt() = 0;

  /// Calls `lost`, from another thread, if a process of this machine ends, or
  /// does not run any more, without having come to the destructor; this process
  /// ends behind the call.
  virtual void watch(std::function<void(int64_t process, Loss loss)> lost) = 0;

  /// True for the first process of this machine that asks: it says why all end,
  /// and then calls finishReport.
  virtual bool claimReport() = 0;
  virtual void finishReport() = 0;

  /// Ends all processes, this one included, once what was claimed is finished.
  [[noreturn]] virtual void abort() = 0;
};

/// Whether Open MPI's mpirun started this process.
bool isStartedByMpirun();

/// How many processes mpirun started together with this one; 1 if it did not
/// start this one.
int64_t countStartedProcesses();

/// Loads the implementation over MPI from the library at `path` and joins the
/// processes that were started together.
llvm::Expected<std::unique_ptr<Transport>> loadTransport(llvm::StringRef path);

} // namespace mf

#endif // MF_TRANSPORT_TRANSPORT_H
