//===- WrittenFiles.h - Reads the files that writers wrote ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_TIMELINE_WRITTENFILES_H
#define MF_TEST_UNIT_TIMELINE_WRITTENFILES_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <map>
#include <string>
#include <vector>

namespace mf::timeline {

/// A folder that lives as long as the test: in memory where there is such a
/// place, since each file is flushed.
class ScratchFolder {
public:
  ScratchFolder() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory(
        llvm::sys::fs::can_write("/dev/shm") ? "/dev/shm/mf-timeline-test"
                                             : "mf-timeline-test",
        name));
  }
  ~ScratchFolder() { (void)llvm::sys::fs::remove_directories(name); }
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;

  std::string path(llvm::StringRef file) const {
    llvm::SmallString<128> whole(name);
    llvm::sys::path::append(whole, file);
    return std::string(whole);
  }

  /// The names of all in it, hidden ones too.
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator entry(name, code), end;
         entry != end && !code; entry.increment(code))
      names.push_back(llvm::sys::path::filename(entry->path()).str());
    std::sort(names.begin(), names.end());
    return names;
  }

private:
  llvm::SmallString<128> name;
};

inline std::string readWritten(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (buffer)
    return (*buffer)->getBuffer().str();
  ADD_FAILURE() << path << ": " << buffer.getError().message();
  return {};
}

inline llvm::json::Value parseWritten(llvm::StringRef text) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (value)
    return *value;
  ADD_FAILURE() << llvm::toString(value.takeError());
  return nullptr;
}

/// The lines of a table behind its first, by the names of columns.
using TableRow = std::map<std::string, std::string>;

inline std::vector<std::string> splitCsvLine(llvm::StringRef line) {
  std::vector<std::string> fields(1);
  bool isQuoted = false;
  for (size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '"' && isQuoted && line.substr(at + 1).starts_with("\"")) {
      fields.back() += '"';
      ++at;
    } else if (line[at] == '"') {
      isQuoted = !isQuoted;
    } else if (line[at] == ',' && !isQuoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[at];
    }
  }
  EXPECT_FALSE(isQuoted) << line.str();
  return fields;
}

inline std::vector<TableRow> readTable(const std::string &path) {
  const std::string text = readWritten(path);
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::vector<TableRow> rows;
  if (lines.empty())
    return rows;
  const std::vector<std::string> columns = splitCsvLine(lines.front());
  for (llvm::StringRef line : llvm::ArrayRef(lines).drop_front()) {
    const std::vector<std::string> fields = splitCsvLine(line);
    EXPECT_EQ(fields.size(), columns.size()) << line.str();
    TableRow &row = rows.emplace_back();
    for (size_t i = 0; i < std::min(fields.size(), columns.size()); ++i)
      row[columns[i]] = fields[i];
  }
  return rows;
}

} // namespace mf::timeline

#endif // MF_TEST_UNIT_TIMELINE_WRITTENFILES_H
