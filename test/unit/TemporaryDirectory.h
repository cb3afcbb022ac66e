//===- TemporaryDirectory.h - Files that tests write -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_TEMPORARYDIRECTORY_H
#define MF_TEST_UNIT_TEMPORARYDIRECTORY_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace mf {

/// A directory that lives as long as the test.
class TemporaryDirectory {
public:
  /// In memory where there is such a place: the tests flush thousands of files.
  TemporaryDirectory() {
    llvm::SmallString<128> name;
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory(
        llvm::sys::fs::can_write("/dev/shm") ? "/dev/shm/mf-test" : "mf-test",
        name));
    directory = std::string(name);
  }
  ~TemporaryDirectory() { (void)llvm::sys::fs::remove_directories(directory); }
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;

  const std::string &str() const { return directory; }
  std::string path(const std::string &name) const {
    return directory + "/" + name;
  }

  /// Writes a file, and the folders that it is in, and returns its path.
  std::string write(const std::string &name, llvm::StringRef contents) const {
    (void)llvm::sys::fs::create_directories(
        llvm::sys::path::parent_path(path(name)));
    std::ofstream(path(name), std::ios::binary)
        .write(contents.data(), static_cast<std::streamsize>(contents.size()));
    return path(name);
  }

  /// The names in it, sorted.
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator entry(directory, code), end;
         entry != end && !code; entry.increment(code))
      names.push_back(llvm::sys::path::filename(entry->path()).str());
    std::sort(names.begin(), names.end());
    return names;
  }

private:
  std::string directory;
};

inline std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(bool(buffer)) << path;
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

} // namespace mf

#endif // MF_TEST_UNIT_TEMPORARYDIRECTORY_H
