//===- FileError.h - Errors about a file ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every message of this library about a file starts with its path.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SUPPORT_FILEERROR_H
#define MF_SUPPORT_FILEERROR_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <system_error>

namespace mf {

/// Makes the error "PATH: MESSAGE".
llvm::Error fileError(llvm::StringRef path, const llvm::Twine &message);

/// Makes the error "PATH: cannot ACTION: the system's reason".
llvm::Error fileError(llvm::StringRef path, llvm::StringRef action,
                      std::error_code code);

/// Makes the error "PATH: cannot ACTION: the system's reason" from errno.
llvm::Error errnoError(llvm::StringRef path, llvm::StringRef action);

/// Maps a regular file for reading. The buffer's name is `path`. Fails for a
/// device, pipe or directory. The file must not be truncated while it is
/// mapped.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mapFile(llvm::StringRef path);

} // namespace mf

#endif // MF_SUPPORT_FILEERROR_H
