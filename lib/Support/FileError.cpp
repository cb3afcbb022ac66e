//===- FileError.cpp - Errors about a file --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/FileError.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <cerrno>

using namespace llvm;

namespace mf {

Error fileError(StringRef path, const Twine &message) {
  return createStringError(inconvertibleErrorCode(), path + ": " + message);
}

Error fileError(StringRef path, StringRef action, std::error_code code) {
  std::string reason = code.message();
  if (!reason.empty())
    reason[0] = toLower(reason[0]);
  return fileError(path, "cannot " + action + ": " + reason);
}

Error errnoError(StringRef path, StringRef action) {
  return fileError(path, action,
                   std::error_code(errno, std::generic_category()));
}

Expected<std::unique_ptr<MemoryBuffer>> mapFile(StringRef path) {
  sys::fs::file_status status;
  if (std::error_code code = sys::fs::status(path, status))
    return fileError(path, "open", code);
  if (status.type() != sys::fs::file_type::regular_file)
    return fileError(path, "expected a regular file");
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, /*IsText=*/false,
                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fileError(path, "read", buffer.getError());
  return std::move(*buffer);
}

} // namespace mf
