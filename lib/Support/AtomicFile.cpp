//===- AtomicFile.cpp - Files that are written whole or not at all --------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/AtomicFile.h"
#include "mf/Support/FileError.h"
#include "mf/Support/FileFaults.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

using namespace llvm;

namespace mf {

namespace {

StringRef getDirectory(StringRef path) {
  StringRef directory = sys::path::parent_path(path);
  return directory.empty() ? "." : directory;
}

} // namespace

AtomicFile::AtomicFile(std::string path, std::string temporaryPath,
                       int descriptor)
    : path(std::move(path)), temporaryPath(std::move(temporaryPath)),
      descriptor(descriptor) {}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path(std::move(other.path)),
      temporaryPath(std::move(other.temporaryPath)),
      descriptor(std::exchange(other.descriptor, -1)) {}

AtomicFile &AtomicFile::operator=(AtomicFile &&other) noexcept {
  if (this != &other) {
    discard();
    path = std::move(other.path);
    temporaryPath = std::move(other.temporaryPath);
    descriptor = std::exchange(other.descriptor, -1);
  }
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  if (mayCleanUpFiles())
    ::unlink(temporaryPath.c_str());
  descriptor = -1;
}

Expected<AtomicFile> AtomicFile::create(StringRef path) {
  sys::fs::file_status status;
  if (!sys::fs::status(path, status) &&
      status.type() != sys::fs::file_type::regular_file)
    return fileError(path, "cannot write: exists and is not a regular file");

  if (!mayUseFile())
    return errnoError(path, "create");
  static std::atomic<unsigned> counter = 0;
  // A name left by a killed process with our process id makes open fail with
  // EEXIST; the next number is free.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    SmallString<128> temporary(getDirectory(path));
    sys::path::append(temporary, "." + sys::path::filename(path) + ".tmp-" +
                                     Twine(sys::Process::getProcessId()) + "-" +
                                     Twine(counter++));
    const int descriptor = ::open(
        temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0)
      return AtomicFile(path.str(), std::string(temporary), descriptor);
    if (errno != EEXIST)
      return errnoError(path, "create");
  }
  return fileError(path, "cannot create: too many temporary files beside it");
}

Error AtomicFile::write(ArrayRef<uint8_t> bytes, uint64_t offset) {
  while (!bytes.empty()) {
    size_t most = bytes.size();
    if (!mayUseFile(&most))
      return errnoError(path, "write");
    const ssize_t count =
        ::pwrite(descriptor, bytes.data(), most, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return errnoError(path, "write");
    bytes = bytes.drop_front(count);
    offset += count;
  }
  return Error::success();
}

Error AtomicFile::resize(uint64_t size) {
  if (!mayUseFile() || ::ftruncate(descriptor, static_cast<off_t>(size)) != 0)
    return errnoError(path, "resize");
  return Error::success();
}

Error AtomicFile::commit() {
  if (!mayUseFile() || ::fsync(descriptor) != 0)
    return errnoError(path, "flush");
  if (!mayUseFile() || ::rename(temporaryPath.c_str(), path.c_str()) != 0)
    return errnoError(path, "rename to its final name");
  // The temporary name does not exist from here on, so nothing has to be
  // unlinked.
  const int closed = ::close(std::exchange(descriptor, -1));
  if (closed != 0 && errno != EINTR)
    return errnoError(path, "close");
  return syncDirectory(getDirectory(path));
}

Error writeFileAtomically(StringRef path, StringRef contents) {
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.takeError();
  if (Error error = file->write(arrayRefFromStringRef(contents), 0))
    return error;
  return file->commit();
}

namespace {

/// Writes into an AtomicFile; keeps the first error.
class FileStream : public raw_ostream {
public:
  explicit FileStream(AtomicFile file) : file(std::move(file)) {
    SetBufferSize(1 << 20);
  }
  ~FileStream() override { flush(); }

  Error commit() {
    flush();
    if (error)
      return std::move(error);
    return file.commit();
  }

private:
  void write_impl(const char *data, size_t size) override {
    if (!error)
      error =
          file.write({reinterpret_cast<const uint8_t *>(data), size}, position);
    position += size;
  }
  uint64_t current_pos() const override { return position; }

  AtomicFile file;
  uint64_t position = 0;
  Error error = Error::success();
};

} // namespace

Error writeFileAtomically(StringRef path,
                          function_ref<void(raw_ostream &)> print) {
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.takeError();
  FileStream stream(std::move(*file));
  print(stream);
  return stream.commit();
}

Error syncDirectory(StringRef path) {
  if (!mayUseFile())
    return errnoError(path, "flush");
  const std::string name = path.str();
  const int descriptor =
      ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return errnoError(path, "open");
  const int result = ::fsync(descriptor);
  const int code = errno;
  ::close(descriptor);
  if (result != 0 && code != EINVAL && code != EROFS && code != ENOTSUP) {
    errno = code;
    return errnoError(path, "flush");
  }
  return Error::success();
}

} // namespace mf
