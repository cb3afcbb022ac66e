//===- ChangedText.cpp - Places in a text before it was edited ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/ChangedText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using llvm::ArrayRef;
using llvm::StringRef;

namespace mf {

/// Returns for each line of `after` the line of `before` that is the same, from
/// 1, so that as many lines as possible are; 0 for others.
static std::vector<unsigned> findSame(ArrayRef<StringRef> before,
                                      ArrayRef<StringRef> after) {
  std::vector<unsigned> same(after.size(), 0);
  size_t begin = 0;
  while (begin < before.size() && begin < after.size() &&
         before[begin] == after[begin]) {
    same[begin] = static_cast<unsigned>(begin + 1);
    ++begin;
  }
  size_t end = 0;
  while (begin + end < std::min(before.size(), after.size()) &&
         before[before.size() - 1 - end] == after[after.size() - 1 - end]) {
    same[after.size() - 1 - end] = static_cast<unsigned>(before.size() - end);
    ++end;
  }
  const size_t rows = before.size() - begin - end,
               columns = after.size() - begin - end;
  // Edits of settings are near each other. The rest of a large text that is
  // another one altogether has no places.
  constexpr size_t mostCells = 1 << 24;
  if (rows == 0 || columns == 0 || rows > mostCells / columns)
    return same;
  // The length of the longest common subsequence from a row and a column on.
  std::vector<uint32_t> longest((rows + 1) * (columns + 1), 0);
  auto at = [&](size_t row, size_t column) -> uint32_t & {
    return longest[row * (columns + 1) + column];
  };
  auto isSame = [&](size_t row, size_t column) {
    return before[begin + row] == after[begin + column];
  };
  for (size_t row = rows; row-- > 0;)
    for (size_t column = columns; column-- > 0;)
      at(row, column) = isSame(row, column) ? at(row + 1, column + 1) + 1
                                            : std::max(at(row + 1, column),
                                                       at(row, column + 1));
  for (size_t row = 0, column = 0; row < rows && column < columns;) {
    if (isSame(row, column)) {
      same[begin + column] = static_cast<unsigned>(begin + row + 1);
      ++row;
      ++column;
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      ++row;
    } else {
      ++column;
    }
  }
  return same;
}

ChangedText::ChangedText(StringRef before, StringRef after) {
  llvm::SmallVector<StringRef> old, edited;
  before.split(old, '\n');
  after.split(edited, '\n');
  lines = findSame(old, edited);
  // Between lines that are the same, lines replace each other in their order.
  unsigned last = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i] == 0) {
      const auto *next =
          std::find_if(lines.data() + i, lines.data() + lines.size(),
                       [](unsigned line) { return line > 0; });
      const size_t limit =
          next == lines.data() + lines.size() ? old.size() + 1 : *next;
      if (last + 1 < limit)
        lines[i] = last + 1;
    }
    if (lines[i] > 0)
      last = lines[i];
  }
}

void ChangedText::moveBack(Diagnostic &diagnostic, StringRef file) const {
  auto move = [&](Location &location) {
    if (location.file != file || !location.isKnown())
      return;
    location.line = findLine(location.line);
    if (!location.isKnown())
      location.column = 0;
  };
  move(diagnostic.location);
  for (Diagnostic::Note &note : diagnostic.notes)
    move(note.location);
}

} // namespace mf
