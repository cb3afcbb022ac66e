//===- CapturedWork.h - Work of streams that runs again ---------*- C++ -*-===//

#ifndef MF_HOSTCANN_RUNTIME_CAPTUREDWORK_H
#define MF_HOSTCANN_RUNTIME_CAPTUREDWORK_H

#include "mf/HostCann/Runtime/AccessOrder.h"
#include "llvm/ADT/FunctionExtras.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace mf::hostcann {

/// The part of an operand's memory that a call accesses.
struct LaunchAccess {
  const void *address = nullptr;
  size_t bytes = 0;
  bool isWrite = false;
  /// Reading it makes sense only where something was written.
  bool needsValue = false;
  /// Whether pinned memory of the host will do.
  bool allowsHost = false;
  std::string name;
  /// As CallSite has it.
  int type = -1;
};

/// Something that a stream was given.
struct CapturedItem {
  enum class Kind : uint8_t { Work, Record, Wait };
  Kind kind = Kind::Work;
  /// The stream's number in the capture; 0 is the one that it began on.
  size_t stream = 0;
  /// The number of the record in the capture, also of what is waited for.
  size_t record = 0;
  const char *name = "";
  std::vector<LaunchAccess> accesses;
  std::shared_ptr<llvm::unique_function<llvm::Error()>> work;
};

/// An aclmdlRI points to it.
class CapturedWork {
public:
  explicit CapturedWork(bool isRelaxed) : isRelaxed(isRelaxed), clocks(1) {}

  /// The number of a stream that joins.
  size_t addStream();
  void addWork(size_t stream, const char *name,
               llvm::ArrayRef<LaunchAccess> accesses,
               llvm::unique_function<llvm::Error()> work);
  /// The number of the record.
  size_t addRecord(size_t stream);
  void addWait(size_t stream, size_t record);

  /// A stream that has work that the first one did not wait for; 0 if there is
  /// none.
  size_t findUnjoined() const;

  size_t getNumStreams() const { return clocks.size(); }
  size_t getNumRecords() const { return records.size(); }
  const std::vector<CapturedItem> &getItems() const { return items; }

  /// Whether calls that would wait are taken while work is captured.
  const bool isRelaxed;
  /// A call that cannot be captured has spoilt it.
  bool isInvalid = false;

private:
  void add(CapturedItem item);

  std::vector<CapturedItem> items;
  /// The items that a stream's next one, or a record, comes behind.
  std::vector<VectorClock> clocks, records;
};

} // namespace mf::hostcann

#endif // MF_HOSTCANN_RUNTIME_CAPTUREDWORK_H
