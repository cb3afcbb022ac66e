//===- AtomicFile.h - Files that appear whole or not at all ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A file is written under a temporary name in the directory it will live in,
// flushed to the disk and renamed, so that a reader of the final name sees
// either the old contents or the whole new ones, also when the writer is killed
// or the machine loses power.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SUPPORT_ATOMICFILE_H
#define MF_SUPPORT_ATOMICFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <string>

namespace mf {

/// A file that is being written. `commit` gives it its final name. Without
/// `commit`, the destructor removes the temporary file. A killed process leaves
/// its temporary file (`.NAME.tmp-PID-COUNT`) on the disk, but never a partial
/// NAME.
class AtomicFile {
public:
  /// Creates the temporary file. Fails if the directory cannot be written or
  /// `path` exists and is not a regular file (a device is not replaced).
  static llvm::Expected<AtomicFile> create(llvm::StringRef path);

  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&other) noexcept;
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;
  ~AtomicFile();

  /// Writes `bytes` at `offset`. Calls for disjoint ranges may come from
  /// several threads at once.
  llvm::Error write(llvm::ArrayRef<uint8_t> bytes, uint64_t offset);

  /// Sets the length; bytes never written read as zero.
  llvm::Error resize(uint64_t size);

  /// Flushes the file, renames it to its final name and flushes the directory.
  /// Nothing may be called afterwards.
  llvm::Error commit();

private:
  AtomicFile(std::string path, std::string temporaryPath, int descriptor);
  void discard();

  std::string path;
  std::string temporaryPath;
  int descriptor = -1;
};

/// Replaces the file at `path` by `contents`.
llvm::Error writeFileAtomically(llvm::StringRef path, llvm::StringRef contents);

/// Replaces the file at `path` by what `print` writes. Only a buffer is held in
/// memory.
llvm::Error
writeFileAtomically(llvm::StringRef path,
                    llvm::function_ref<void(llvm::raw_ostream &)> print);

/// Flushes a directory's entries, so that a rename in it survives a power loss.
/// Succeeds on file systems that cannot do so.
llvm::Error syncDirectory(llvm::StringRef path);

} // namespace mf

#endif // MF_SUPPORT_ATOMICFILE_H
