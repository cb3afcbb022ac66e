//===- CsvReader.h - Lines of comma-separated cells -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A strict reader of comma-separated text with a line for each row. A cell in
// double quotes may contain commas, and a double quote written as two. Space
// around other cells is not part of them. Lines without text are skipped.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SUPPORT_CSVREADER_H
#define MF_SUPPORT_CSVREADER_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/StringSaver.h"

namespace mf {

/// A cell, and the column of the line (from 1) at which it starts.
struct CsvCell {
  llvm::StringRef text;
  size_t position = 1;
};

/// Reads one text, row by row.
class CsvReader {
public:
  /// Both arguments must outlive the reader and the cells. Errors start with
  /// `fileName:line:column: `.
  CsvReader(llvm::StringRef text, llvm::StringRef fileName)
      : rest(text), fileName(fileName) {}

  /// Reads the next row. Returns false at the end of the text. Fails if quotes
  /// are not closed or are followed by text.
  llvm::Expected<bool> readRow(llvm::SmallVectorImpl<CsvCell> &cells);

  /// Returns the line (from 1) of the last row that was read; 0 before the
  /// first row.
  size_t getLine() const { return line; }

  /// Makes an error at a column of the last row that was read.
  llvm::Error fail(size_t position, const llvm::Twine &message) const;

  /// Fails unless the row has as many cells as the header.
  llvm::Error checkCount(llvm::ArrayRef<CsvCell> cells, size_t expected) const;

private:
  llvm::Error splitLine(llvm::StringRef text,
                        llvm::SmallVectorImpl<CsvCell> &cells);
  llvm::Expected<llvm::StringRef> unquote(llvm::StringRef text, size_t &at);

  llvm::StringRef rest;
  llvm::StringRef fileName;
  size_t line = 0;
  /// Holds the text of cells that differs from the text of the file.
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver{allocator};
};

/// Puts a cell into quotes for a message, shortened and escaped because it may
/// be long or binary.
std::string quoteCell(llvm::StringRef text);

} // namespace mf

#endif // MF_SUPPORT_CSVREADER_H
