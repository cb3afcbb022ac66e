//===- TextTable.cpp - Aligned columns of text ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/TextTable.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

namespace mf {

void TextTable::print(llvm::raw_ostream &os) const {
  if (empty())
    return;
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const std::vector<std::string> &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const std::vector<std::string> &row : rows) {
    os << llvm::left_justify(row.front(), widths.front());
    for (size_t i = 1; i < row.size(); ++i)
      os << "  " << llvm::right_justify(row[i], widths[i]);
    os << "\n";
  }
}

} // namespace mf
