//===- Event.h - Events that streams record and await -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_DEVICE_EVENT_H
#define MF_EXEC_DEVICE_EVENT_H

#include "llvm/Support/Error.h"
#include <memory>
#include <mutex>

namespace mf {

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

} // namespace mf

#endif // MF_EXEC_DEVICE_EVENT_H
