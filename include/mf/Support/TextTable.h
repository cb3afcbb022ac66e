//===- TextTable.h - Aligned columns of text ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_SUPPORT_TEXTTABLE_H
#define MF_SUPPORT_TEXTTABLE_H

#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace mf {

/// Rows of cells in aligned columns. The first column is aligned left, all
/// others right.
class TextTable {
public:
  TextTable() = default;
  explicit TextTable(std::vector<std::string> header)
      : rows({std::move(header)}) {}

  /// Appends a row. It must have as many cells as the header or, without one,
  /// as the first row.
  void addRow(std::vector<std::string> cells) {
    rows.push_back(std::move(cells));
  }

  bool empty() const { return rows.empty(); }
  void print(llvm::raw_ostream &os) const;

private:
  std::vector<std::vector<std::string>> rows;
};

} // namespace mf

#endif // MF_SUPPORT_TEXTTABLE_H
