//===- FileStream.cpp - Text files that are written atomically ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FileStream.h"

using llvm::Error;

namespace mf::timeline {

namespace {

/// Writes into an AtomicFile; keeps the first error.
class FileStream : public llvm::raw_ostream {
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

Error writeFileInOneStep(llvm::StringRef path,
                         llvm::function_ref<void(llvm::raw_ostream &)> print) {
  llvm::Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.takeError();
  FileStream stream(std::move(*file));
  print(stream);
  return stream.commit();
}

} // namespace mf::timeline
