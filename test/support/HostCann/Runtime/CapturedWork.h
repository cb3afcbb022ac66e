//===- CapturedWork.h - Work of streams that runs again ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_SUPPORT_HOSTCANN_RUNTIME_CAPTUREDWORK_H
#define MF_TEST_SUPPORT_HOSTCANN_RUNTIME_CAPTUREDWORK_H

#include "HostCann/Runtime/AccessOrder.h"
#include "llvm/ADT/FunctionExtras.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace mf::hostcann {

/// The range of an operand's memory that a call accesses.
struct LaunchAccess {
  const void *address = nullptr;
  size_t bytes = 0;
  bool isWrite = false;
  /// True if the memory must have been written before it is read.
  bool needsValue = false;
  /// True if pinned host memory is allowed.
  bool allowsHost = false;
  std::string name;
  /// As CallSite::type.
  int type = -1;
};

/// An item that was issued to a stream.
struct CapturedItem {
  enum class Kind : uint8_t { Work, Record, Wait };
  Kind kind = Kind::Work;
  /// The index of the stream in the capture. 0 is the stream on which it began.
  size_t stream = 0;
  /// The index of the record in the capture. A wait has the index of the record
  /// that it waits for.
  size_t record = 0;
  const char *name = "";
  std::vector<LaunchAccess> accesses;
  std::shared_ptr<llvm::unique_function<llvm::Error()>> work;
};

/// The object that an aclmdlRI points to.
class CapturedWork {
public:
  explicit CapturedWork(bool isRelaxed) : isRelaxed(isRelaxed), clocks(1) {}

  /// Adds a stream and returns its index.
  size_t addStream();
  void addWork(size_t stream, const char *name,
               llvm::ArrayRef<LaunchAccess> accesses,
               llvm::unique_function<llvm::Error()> work);
  /// Adds a record and returns its index.
  size_t addRecord(size_t stream);
  void addWait(size_t stream, size_t record);

  /// Returns a stream with work that the first stream did not wait for; 0 if
  /// there is none.
  size_t findUnjoined() const;

  size_t getNumStreams() const { return clocks.size(); }
  size_t getNumRecords() const { return records.size(); }
  const std::vector<CapturedItem> &getItems() const { return items; }

  /// True if calls that would wait are allowed during the capture.
  const bool isRelaxed;
  /// True if a call that cannot be captured has invalidated the capture.
  bool isInvalid = false;

private:
  void add(CapturedItem item);

  std::vector<CapturedItem> items;
  /// The items that a stream's next item, or a record, depends on.
  std::vector<VectorClock> clocks, records;
};

} // namespace mf::hostcann

#endif // MF_TEST_SUPPORT_HOSTCANN_RUNTIME_CAPTUREDWORK_H
