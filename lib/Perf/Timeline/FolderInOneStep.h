//===- FolderInOneStep.h - Folders that appear whole or not at all *- C++
//-*-===//

#ifndef MF_LIB_TIMELINE_FOLDERINONESTEP_H
#define MF_LIB_TIMELINE_FOLDERINONESTEP_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mf::timeline {

/// An error if there is something at `path` other than an empty folder.
llvm::Error checkNewFolder(llvm::StringRef path);

/// Calls `write` with a hidden folder beside `path`, and gives it this name if
/// there was no error; else removes it. Fails where checkNewFolder
/// does.
llvm::Error
writeFolderInOneStep(llvm::StringRef path,
                     llvm::function_ref<llvm::Error(llvm::StringRef)> write);

/// Creates a folder and those that it is in, if they are not there.
llvm::Error createFolders(llvm::StringRef path);

} // namespace mf::timeline

#endif // MF_LIB_TIMELINE_FOLDERINONESTEP_H
