//===- FolderInOneStep.cpp - Folders that are written atomically ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "FolderInOneStep.h"
#include "mf/Support/AtomicFile.h"
#include "mf/Support/FileError.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <sys/stat.h>
#include <unistd.h>

using llvm::Error;
using llvm::SmallString;
using llvm::StringRef;
using llvm::Twine;

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace mf::timeline {

namespace {

/// Removes the folder unless it was renamed.
class TemporaryFolder {
public:
  explicit TemporaryFolder(StringRef name) : name(name) {}
  ~TemporaryFolder() {
    // A folder that cannot be removed stays; the error that led here is
    // reported.
    const std::error_code ignored = fs::remove_directories(name);
    (void)ignored;
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

private:
  SmallString<128> name;
};

} // namespace

Error createFolders(StringRef name) {
  if (std::error_code code = fs::create_directories(name, true, fs::all_all))
    return fileError(name, "create", code);
  return Error::success();
}

Error checkNewFolder(StringRef name) {
  fs::file_status status;
  if (fs::status(name, status))
    return Error::success();
  if (status.type() != fs::file_type::directory_file)
    return fileError(name, "cannot write: exists and is not a folder");
  std::error_code code;
  if (fs::directory_iterator(name, code) != fs::directory_iterator())
    return fileError(name,
                     "cannot write: there are files in it; expected a new or "
                     "an empty folder");
  return Error::success();
}

Error writeFolderInOneStep(StringRef name,
                           llvm::function_ref<Error(StringRef)> write) {
  if (Error error = checkNewFolder(name))
    return error;
  SmallString<128> folder(name);
  while (folder.size() > 1 && path::is_separator(folder.back()))
    folder.pop_back();
  StringRef parent = path::parent_path(folder);
  SmallString<128> temporary(parent);
  path::append(temporary, "." + path::filename(folder) + ".tmp-" +
                              Twine(llvm::sys::Process::getProcessId()));
  if (::mkdir(temporary.c_str(), 0777) != 0)
    return errnoError(name, "create");
  const TemporaryFolder guard(temporary);
  if (Error error = write(temporary))
    return error;
  if (::rename(temporary.c_str(), folder.c_str()) != 0)
    return errnoError(name, "rename to its final name");
  return syncDirectory(parent.empty() ? "." : parent);
}

} // namespace mf::timeline
