//===- ProfileTable.h - The files of a profile ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_CALIBRATION_PROFILETABLE_H
#define MF_LIB_PERF_CALIBRATION_PROFILETABLE_H

#include "mf/Perf/Calibration/Profile.h"
#include "mf/Support/CsvReader.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

namespace mf::calibration {

/// The largest number that a profile may have. It is far above any time in
/// microseconds and keeps sums over a file finite.
constexpr double mostOfProfile = 1e18;

/// Returns whether a number is from 0 to `most`. False for NaN.
inline bool isWithin(double number, double most) {
  return number >= 0 && number <= most;
}

/// Rows of a file whose columns are found by name.
class ProfileTable {
public:
  /// `path` and `text` must outlive the table.
  ProfileTable(llvm::StringRef path, llvm::StringRef text)
      : path(path), csv(text, path) {}

  struct Column {
    llvm::StringRef name;
    bool isRequired;
    /// Gets the index of the column, or -1 if an optional column is missing.
    int *index;
  };
  /// Finds the columns in the header, then calls `readRow` for each row.
  llvm::Error read(llvm::ArrayRef<Column> columns,
                   llvm::function_ref<llvm::Error()> readRow) {
    if (llvm::Error error = readHeader())
      return error;
    for (const Column &column : columns)
      if (llvm::Error error = findColumn(column))
        return error;
    while (true) {
      llvm::Expected<bool> hasRow = csv.readRow(cells);
      if (!hasRow)
        return hasRow.takeError();
      if (!*hasRow)
        return llvm::Error::success();
      if (llvm::Error error = csv.checkCount(cells, header.size()))
        return error;
      if (llvm::Error error = readRow())
        return error;
    }
  }

  /// Returns a cell of the row, or an empty text if the column is -1.
  llvm::StringRef getText(int column) const {
    return column < 0 ? llvm::StringRef() : cells[column].text;
  }
  /// Returns the cell as a number, which must be from 0 to mostOfProfile.
  llvm::Expected<double> getNumber(int column) const {
    const llvm::StringRef text = getText(column);
    double number = 0;
    if (text.getAsDouble(number) || !isWithin(number, mostOfProfile))
      return fail(column, header[column] + " is " + quoteCell(text) +
                              ", expected a number from 0 to 1e18");
    return number;
  }
  /// Reads the number of a step. `step` is not changed if the cell is empty.
  llvm::Error readStep(int column, int64_t &step) const {
    const llvm::StringRef text = getText(column);
    if (!text.empty() && text.getAsInteger(10, step))
      return fail(column, "the step is " + quoteCell(text) +
                              ", expected a whole number");
    return llvm::Error::success();
  }
  /// Returns an error at a cell of the row.
  llvm::Error fail(int column, const llvm::Twine &message) const {
    return csv.fail(cells[column].position, message);
  }
  size_t getLine() const { return csv.getLine(); }

private:
  llvm::Error readHeader() {
    llvm::Expected<bool> hasRow = csv.readRow(cells);
    if (!hasRow)
      return hasRow.takeError();
    if (!*hasRow)
      return llvm::createStringError(path +
                                     ":1:1: the file is empty, expected a "
                                     "header with the names of columns");
    for (const CsvCell &cell : cells) {
      if (!cell.text.empty() && llvm::is_contained(header, cell.text))
        return csv.fail(cell.position,
                        "column " + quoteCell(cell.text) + " is there twice");
      header.push_back(cell.text.str());
    }
    // Some tools write a byte order mark at the start of their files.
    header.front() =
        llvm::StringRef(header.front()).ltrim("\xEF\xBB\xBF").str();
    return llvm::Error::success();
  }
  llvm::Error findColumn(const Column &column) const {
    for (const auto &[index, name] : llvm::enumerate(header))
      if (column.name.equals_insensitive(name)) {
        *column.index = static_cast<int>(index);
        return llvm::Error::success();
      }
    *column.index = -1;
    if (!column.isRequired)
      return llvm::Error::success();
    return csv.fail(1, "expected a column '" + column.name + "' in the header");
  }

  llvm::StringRef path;
  CsvReader csv;
  std::vector<std::string> header;
  llvm::SmallVector<CsvCell, 32> cells;
};

/// Adds the rows of kernel_details.csv to a profile. `known` maps the
/// properties that equal rows share to launches of the profile.
llvm::Error readKernelDetails(llvm::StringRef path, llvm::StringRef text,
                              uint32_t folder, llvm::StringMap<size_t> &known,
                              Profile &profile);

/// Adds the collectives and messages of communication.json.
llvm::Error readCommunication(llvm::StringRef path, llvm::StringRef text,
                              uint32_t folder, Profile &profile);

/// Adds the copies of trace_view.json.
llvm::Error readTraceCopies(llvm::StringRef path, llvm::StringRef text,
                            uint32_t folder, Profile &profile);

/// Adds the groups of profiler_metadata.json, and what it says of the step's
/// compilation.
llvm::Error readMetadata(llvm::StringRef path, llvm::StringRef text,
                         uint32_t folder, Profile &profile);

} // namespace mf::calibration

#endif // MF_LIB_PERF_CALIBRATION_PROFILETABLE_H
