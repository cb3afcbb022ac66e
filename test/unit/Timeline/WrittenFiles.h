//===- WrittenFiles.h - Reads the files that writers wrote ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_TIMELINE_WRITTENFILES_H
#define MF_TEST_UNIT_TIMELINE_WRITTENFILES_H

#include "test/unit/TemporaryDirectory.h"
#include "llvm/Support/JSON.h"
#include <map>

namespace mf::timeline {

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
  const std::string text = readFile(path);
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
