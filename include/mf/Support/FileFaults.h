//===- FileFaults.h - Faults of files that are written ---------*- C++ -*-===//
//
// A test may decide how the operations on files that are written end: as on a
// full disk, with fewer bytes than asked for, or with the end of the process.
// Whoever writes a file asks before each operation.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SUPPORT_FILEFAULTS_H
#define MF_SUPPORT_FILEFAULTS_H

#include <cstddef>
#include <limits>

namespace mf {

/// How one operation on a file ends.
struct FileFault {
  /// The operation fails with this errno unless it is 0.
  int code = 0;
  /// A write moves no more bytes than this.
  size_t maximum = std::numeric_limits<size_t>::max();
};

class FileFaults {
public:
  virtual ~FileFaults();

  /// Decides about the next operation.
  virtual FileFault getNext() = 0;
  /// Whether the process is to be as if it had ended: it does nothing to files
  /// any more and cleans nothing up.
  virtual bool hasEnded() const = 0;

  /// Whom all writers of this process ask, from one thread at a time; null for
  /// nobody.
  static FileFaults *getCurrent() { return current; }

  /// Lets all writers ask `faults` as long as it lives.
  class Scope {
  public:
    explicit Scope(FileFaults *faults) : before(current) { current = faults; }
    ~Scope() { current = before; }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    FileFaults *before;
  };

private:
  static FileFaults *current;
};

/// Asks about the next operation. False if it fails; errno then says how.
/// `maximum`, if given, gets how many bytes a write may move at most.
bool mayUseFile(size_t *maximum = nullptr);

/// Whether what is left of an operation that failed may be removed.
bool mayCleanUpFiles();

} // namespace mf

#endif // MF_SUPPORT_FILEFAULTS_H
