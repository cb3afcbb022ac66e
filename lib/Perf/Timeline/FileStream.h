//===- FileStream.h - Text files that are written atomically ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_TIMELINE_FILESTREAM_H
#define MF_LIB_PERF_TIMELINE_FILESTREAM_H

#include "mf/Support/AtomicFile.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::timeline {

/// Calls `print` with a stream whose bytes become the file at `path`
/// atomically. Only a buffer is held in memory.
llvm::Error
writeFileInOneStep(llvm::StringRef path,
                   llvm::function_ref<void(llvm::raw_ostream &)> print);

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_FILESTREAM_H
