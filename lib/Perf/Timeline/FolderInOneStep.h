//===- FolderInOneStep.h - Folders written atomically -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_TIMELINE_FOLDERINONESTEP_H
#define MF_LIB_PERF_TIMELINE_FOLDERINONESTEP_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mf::timeline {

/// Fails if there is anything at `path` other than an empty folder.
llvm::Error checkNewFolder(llvm::StringRef path);

/// Calls `write` with a hidden folder next to `path`. Renames it to `path` if
/// there was no error, and otherwise removes it. Fails if checkNewFolder does.
llvm::Error
writeFolderInOneStep(llvm::StringRef path,
                     llvm::function_ref<llvm::Error(llvm::StringRef)> write);

/// Creates a folder and its parents if they do not exist.
llvm::Error createFolders(llvm::StringRef path);

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_FOLDERINONESTEP_H
