//===- FileFaults.h - Injects faults of written files -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Tests may inject faults into operations on files that are written: a full
// disk, a short write, or the end of the process. All code that writes files
// asks for the next fault before each operation.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SUPPORT_FILEFAULTS_H
#define MF_SUPPORT_FILEFAULTS_H

#include <cstddef>
#include <limits>

namespace mf {

/// The outcome of one operation on a file.
struct FileFault {
  /// The operation fails with this errno unless it is 0.
  int code = 0;
  /// A write moves no more bytes than this.
  size_t maximum = std::numeric_limits<size_t>::max();
};

/// Decides the outcome of each operation on a file.
class FileFaults {
public:
  virtual ~FileFaults();

  /// Returns the outcome of the next operation.
  virtual FileFault getNext() = 0;
  /// Returns whether writers must act as if the process had ended: they neither
  /// change files nor remove temporary ones.
  virtual bool hasEnded() const = 0;

  /// Returns the object that all writers of this process ask, from one thread
  /// at a time. Null if no faults are injected.
  static FileFaults *getCurrent() { return current; }

  /// Makes `faults` the current object for the lifetime of the scope.
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

/// Asks for the outcome of the next operation. Returns false if it fails, and
/// then sets errno. `maximum`, if given, is set to the largest number of bytes
/// that a write may transfer.
bool mayUseFile(size_t *maximum = nullptr);

/// Returns whether a failed operation may remove its temporary files.
bool mayCleanUpFiles();

} // namespace mf

#endif // MF_SUPPORT_FILEFAULTS_H
