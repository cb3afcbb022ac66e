//===- CaseTable.h - Cases of a test as lines of text ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_CASETABLE_H
#define MF_TEST_UNIT_CASETABLE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <utility>
#include <vector>

namespace mf {

/// The lines of a table, each as what stands before `separator` and behind it.
/// Empty lines, and comments that begin with `#`, are left out.
inline std::vector<std::pair<llvm::StringRef, llvm::StringRef>>
readTable(llvm::StringRef table, llvm::StringRef separator = " =>") {
  llvm::SmallVector<llvm::StringRef> lines;
  table.split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> rows;
  for (llvm::StringRef line : lines)
    if (!line.starts_with("#")) {
      auto [given, expected] = line.split(separator);
      rows.push_back({given, expected.trim()});
    }
  return rows;
}

} // namespace mf

#endif // MF_TEST_UNIT_CASETABLE_H
