//===- AllocationCsv.cpp - Text form of an allocation problem -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Memory/AllocationCsv.h"
#include "mf/Support/CsvReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include <array>

using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

namespace mf::memory {

namespace {

enum Column { Id, Lower, Upper, Size, Alignment, Hint, Offset, NumColumns };

class ProblemReader {
public:
  ProblemReader(StringRef text, StringRef fileName)
      : csv(text, fileName), fileName(fileName) {
    columns.fill(-1);
  }

  llvm::Expected<AllocationProblem> read() {
    llvm::SmallVector<CsvCell, 8> cells;
    bool hasHeader = false;
    while (true) {
      llvm::Expected<bool> hasRow = csv.readRow(cells);
      if (!hasRow)
        return hasRow.takeError();
      if (!*hasRow)
        break;
      if (Error error = hasHeader ? readBuffer(cells) : readHeader(cells))
        return std::move(error);
      hasHeader = true;
    }
    if (!hasHeader)
      return llvm::createStringError(fileName +
                                     ":1:1: expected a header line that names "
                                     "the columns id, lower, upper and size");
    return std::move(problem);
  }

private:
  Error readHeader(llvm::ArrayRef<CsvCell> cells) {
    for (const auto &[index, cell] : llvm::enumerate(cells)) {
      int column = llvm::StringSwitch<int>(cell.text)
                       .Cases({"id", "buffer", "buffer_id"}, Id)
                       .Cases({"lower", "start"}, Lower)
                       .Cases({"upper", "end"}, Upper)
                       .Case("size", Size)
                       .Case("alignment", Alignment)
                       .Case("hint", Hint)
                       .Case("offset", Offset)
                       .Default(-1);
      if (column < 0)
        return csv.fail(
            cell.position,
            "unknown column " + quoteCell(cell.text) +
                ", expected id, lower, upper, size, alignment, hint or offset");
      if (columns[column] >= 0)
        return csv.fail(cell.position,
                        "column " + quoteCell(cell.text) +
                            " has the meaning of an earlier one");
      columns[column] = static_cast<int>(index);
      endIsInclusive |= cell.text == "end";
    }
    numCells = cells.size();
    static constexpr const char *names[] = {"id", "lower", "upper", "size"};
    for (auto [column, name] : llvm::enumerate(names))
      if (columns[column] < 0)
        return csv.fail(1, Twine("the header has no column '") + name + "'");
    return Error::success();
  }

  Error readBuffer(llvm::ArrayRef<CsvCell> cells) {
    if (Error error = csv.checkCount(cells, numCells))
      return error;
    AllocationBuffer buffer;
    const CsvCell &id = cells[columns[Id]];
    buffer.id = id.text.str();
    if (buffer.id.empty())
      return csv.fail(id.position, "the buffer has no id");
    auto [known, isNew] = lineOfId.try_emplace(buffer.id, csv.getLine());
    if (!isNew)
      return csv.fail(id.position, "buffer " + quoteCell(buffer.id) +
                                       " is already defined in line " +
                                       Twine(known->second));
    if (Error error = readNumber(cells[columns[Lower]],
                                 "the lower end of the lifetime", buffer.lower))
      return error;
    const CsvCell &upper = cells[columns[Upper]];
    if (Error error =
            readNumber(upper, "the upper end of the lifetime", buffer.upper))
      return error;
    if (endIsInclusive) {
      if (buffer.upper == std::numeric_limits<int64_t>::max())
        return csv.fail(upper.position, "the lifetime ends beyond 2^63 - 1");
      ++buffer.upper;
    }
    if (Error error = readNumber(cells[columns[Size]], "the size", buffer.size))
      return error;
    std::optional<int64_t> alignment;
    if (Error error =
            readOptional(cells, Alignment, "the alignment", alignment))
      return error;
    buffer.alignment = alignment.value_or(1);
    if (Error error = readOptional(cells, Hint, "the hint", buffer.hint))
      return error;
    if (Error error =
            readOptional(cells, Offset, "the offset", buffer.fixedOffset))
      return error;
    problem.buffers.push_back(std::move(buffer));
    return Error::success();
  }

  Error readNumber(const CsvCell &cell, StringRef what, int64_t &number) const {
    if (cell.text.getAsInteger(10, number))
      return csv.fail(cell.position,
                      what + " is " + quoteCell(cell.text) +
                          ", expected a whole number of 64 bits");
    return Error::success();
  }

  Error readOptional(llvm::ArrayRef<CsvCell> cells, Column column,
                     StringRef what, std::optional<int64_t> &number) const {
    if (columns[column] < 0 || cells[columns[column]].text.empty())
      return Error::success();
    int64_t value = 0;
    if (Error error = readNumber(cells[columns[column]], what, value))
      return error;
    number = value;
    return Error::success();
  }

  CsvReader csv;
  StringRef fileName;
  /// For each column's meaning, the index of its cell in a row, or -1.
  std::array<int, NumColumns> columns;
  size_t numCells = 0;
  bool endIsInclusive = false;
  llvm::StringMap<size_t> lineOfId;
  AllocationProblem problem;
};

void printCell(StringRef text, llvm::raw_ostream &os) {
  if (text.find_first_of(",\"") == StringRef::npos && text == text.trim()) {
    os << text;
    return;
  }
  os << '"';
  for (char c : text)
    os << (c == '"' ? "\"\"" : StringRef(&c, 1));
  os << '"';
}

} // namespace

llvm::Expected<AllocationProblem> parseAllocationCsv(StringRef text,
                                                     StringRef fileName) {
  return ProblemReader(text, fileName).read();
}

void printAllocationCsv(const AllocationProblem &problem, llvm::raw_ostream &os,
                        llvm::ArrayRef<int64_t> offsets) {
  auto hasAny = [&](auto has) { return llvm::any_of(problem.buffers, has); };
  bool hasAlignment =
      hasAny([](const AllocationBuffer &b) { return b.alignment != 1; });
  bool hasHint =
      hasAny([](const AllocationBuffer &b) { return b.hint.has_value(); });
  bool hasOffset = !offsets.empty() || hasAny([](const AllocationBuffer &b) {
    return b.fixedOffset.has_value();
  });
  os << "id,lower,upper,size" << (hasAlignment ? ",alignment" : "")
     << (hasHint ? ",hint" : "") << (hasOffset ? ",offset" : "") << "\n";
  auto printOptional = [&](std::optional<int64_t> value) {
    os << ',';
    if (value)
      os << *value;
  };
  for (const auto &[index, buffer] : llvm::enumerate(problem.buffers)) {
    printCell(buffer.id, os);
    os << ',' << buffer.lower << ',' << buffer.upper << ',' << buffer.size;
    if (hasAlignment)
      os << ',' << buffer.alignment;
    if (hasHint)
      printOptional(buffer.hint);
    if (hasOffset)
      printOptional(offsets.empty() ? buffer.fixedOffset : offsets[index]);
    os << "\n";
  }
}

} // namespace mf::memory
