//===- ProfileTable.cpp - Rows with columns by name -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProfileTable.h"
#include "llvm/ADT/STLExtras.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace mf::calibration {

Error ProfileTable::readHeader() {
  Expected<bool> hasRow = csv.readRow(cells);
  if (!hasRow)
    return hasRow.takeError();
  if (!*hasRow)
    return llvm::createStringError(
        path + ":1:1: the file is empty, expected a header with the names of "
               "columns");
  for (const CsvCell &cell : cells) {
    if (!cell.text.empty() && llvm::is_contained(header, cell.text))
      return csv.fail(cell.position,
                      "column " + quoteCell(cell.text) + " is there twice");
    header.push_back(cell.text.str());
  }
  // Some tools write a byte order mark at the start of their files.
  header.front() = StringRef(header.front()).ltrim("\xEF\xBB\xBF").str();
  return Error::success();
}

Error ProfileTable::findColumn(const Column &column) const {
  for (const auto &[index, name] : llvm::enumerate(header))
    if (column.name.equals_insensitive(name)) {
      *column.index = static_cast<int>(index);
      return Error::success();
    }
  *column.index = -1;
  if (!column.isRequired)
    return Error::success();
  return csv.fail(1, "expected a column '" + column.name + "' in the header");
}

Error ProfileTable::read(llvm::ArrayRef<Column> columns,
                         llvm::function_ref<Error()> readRow) {
  if (Error error = readHeader())
    return error;
  for (const Column &column : columns)
    if (Error error = findColumn(column))
      return error;
  while (true) {
    Expected<bool> hasRow = csv.readRow(cells);
    if (!hasRow)
      return hasRow.takeError();
    if (!*hasRow)
      return Error::success();
    if (Error error = csv.checkCount(cells, header.size()))
      return error;
    if (Error error = readRow())
      return error;
  }
}

StringRef ProfileTable::getText(int column) const {
  return column < 0 ? StringRef() : cells[column].text;
}

Error ProfileTable::fail(int column, const Twine &message) const {
  return csv.fail(cells[column].position, message);
}

Expected<double> ProfileTable::getNumber(int column) const {
  const StringRef text = getText(column);
  double number = 0;
  if (text.getAsDouble(number) || !isWithin(number, mostOfProfile))
    return fail(column, header[column] + " is " + quoteCell(text) +
                            ", expected a number from 0 to 1e18");
  return number;
}

Error ProfileTable::readStep(int column, int64_t &step) const {
  const StringRef text = getText(column);
  if (!text.empty() && text.getAsInteger(10, step))
    return fail(column,
                "the step is " + quoteCell(text) + ", expected a whole number");
  return Error::success();
}

} // namespace mf::calibration
