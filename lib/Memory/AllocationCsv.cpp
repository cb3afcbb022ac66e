//===- AllocationCsv.cpp - Text form of an allocation problem -------------===//

#include "mf/Memory/AllocationCsv.h"
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

/// A cell, and the column of text (from 1) at which it starts.
struct Cell {
  std::string text;
  size_t position = 1;
};

class CsvReader {
public:
  CsvReader(StringRef text, StringRef fileName)
      : rest(text), fileName(fileName) {
    columns.fill(-1);
  }

  llvm::Expected<AllocationProblem> read();

private:
  Error fail(size_t position, const Twine &message) const {
    return llvm::createStringError(fileName + ":" + Twine(line) + ":" +
                                   Twine(position) + ": " + message);
  }
  bool nextLine(StringRef &text);
  Error splitLine(StringRef text, llvm::SmallVectorImpl<Cell> &cells) const;
  Error readHeader(llvm::ArrayRef<Cell> cells);
  Error readBuffer(llvm::ArrayRef<Cell> cells);
  Error readNumber(const Cell &cell, StringRef what, int64_t &number) const;
  Error readOptional(llvm::ArrayRef<Cell> cells, Column column, StringRef what,
                     std::optional<int64_t> &number) const;

  StringRef rest;
  StringRef fileName;
  size_t line = 0;
  /// By meaning: which cell of a row holds it, or -1.
  std::array<int, NumColumns> columns;
  size_t numCells = 0;
  bool endIsInclusive = false;
  llvm::StringMap<size_t> lineOfId;
  AllocationProblem problem;
};

/// What a message shows of a cell, which may be long or binary.
std::string quoteCell(StringRef text) {
  constexpr size_t shown = 40;
  std::string quoted = "'";
  llvm::raw_string_ostream os(quoted);
  llvm::printEscapedString(text.take_front(shown), os);
  os << (text.size() > shown ? "...'" : "'");
  return quoted;
}

bool CsvReader::nextLine(StringRef &text) {
  if (rest.empty())
    return false;
  std::tie(text, rest) = rest.split('\n');
  text.consume_back("\r");
  ++line;
  return true;
}

/// Splits at commas; a cell in double quotes may hold commas, and a double
/// quote as two.
Error CsvReader::splitLine(StringRef text,
                           llvm::SmallVectorImpl<Cell> &cells) const {
  size_t at = 0;
  while (true) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t'))
      ++at;
    Cell cell;
    cell.position = at + 1;
    if (at < text.size() && text[at] == '"') {
      for (++at;; ++at) {
        if (at >= text.size())
          return fail(cell.position, "this double quote is not closed");
        if (text[at] == '"' && !text.substr(at + 1).starts_with("\""))
          break;
        at += text[at] == '"';
        cell.text += text[at];
      }
      size_t comma = std::min(text.find(',', at), text.size());
      if (!text.slice(at + 1, comma).trim().empty())
        return fail(at + 2, "expected a comma after the closing double quote");
      at = comma;
    } else {
      size_t comma = std::min(text.find(',', at), text.size());
      cell.text = text.slice(at, comma).rtrim().str();
      at = comma;
    }
    cells.push_back(std::move(cell));
    if (at >= text.size())
      return Error::success();
    ++at;
  }
}

Error CsvReader::readHeader(llvm::ArrayRef<Cell> cells) {
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
      return fail(cell.position,
                  "unknown column " + quoteCell(cell.text) +
                      ", expected id, lower, upper, size, alignment, hint or "
                      "offset");
    if (columns[column] >= 0)
      return fail(cell.position, "column " + quoteCell(cell.text) +
                                     " has the meaning of an earlier one");
    columns[column] = static_cast<int>(index);
    endIsInclusive |= cell.text == "end";
  }
  numCells = cells.size();
  static constexpr const char *names[] = {"id", "lower", "upper", "size"};
  for (auto [column, name] : llvm::enumerate(names))
    if (columns[column] < 0)
      return fail(1, Twine("the header has no column '") + name + "'");
  return Error::success();
}

Error CsvReader::readNumber(const Cell &cell, StringRef what,
                            int64_t &number) const {
  if (StringRef(cell.text).getAsInteger(10, number))
    return fail(cell.position, what + " is " + quoteCell(cell.text) +
                                   ", expected a whole number of 64 bits");
  return Error::success();
}

Error CsvReader::readOptional(llvm::ArrayRef<Cell> cells, Column column,
                              StringRef what,
                              std::optional<int64_t> &number) const {
  if (columns[column] < 0 || cells[columns[column]].text.empty())
    return Error::success();
  int64_t value = 0;
  if (Error error = readNumber(cells[columns[column]], what, value))
    return error;
  number = value;
  return Error::success();
}

Error CsvReader::readBuffer(llvm::ArrayRef<Cell> cells) {
  if (cells.size() != numCells)
    return fail(cells.size() > numCells ? cells[numCells].position
                                        : cells.back().position,
                "expected " + Twine(numCells) +
                    " cells as in the header, found " + Twine(cells.size()));
  AllocationBuffer buffer;
  const Cell &id = cells[columns[Id]];
  buffer.id = id.text;
  if (buffer.id.empty())
    return fail(id.position, "the buffer has no id");
  auto [known, isNew] = lineOfId.try_emplace(buffer.id, line);
  if (!isNew)
    return fail(id.position, "buffer " + quoteCell(buffer.id) +
                                 " is already defined in line " +
                                 Twine(known->second));
  if (Error error = readNumber(cells[columns[Lower]],
                               "the lower end of the "
                               "lifetime",
                               buffer.lower))
    return error;
  const Cell &upper = cells[columns[Upper]];
  if (Error error =
          readNumber(upper, "the upper end of the lifetime", buffer.upper))
    return error;
  if (endIsInclusive) {
    if (buffer.upper == std::numeric_limits<int64_t>::max())
      return fail(upper.position, "the lifetime ends beyond 2^63 - 1");
    ++buffer.upper;
  }
  if (Error error = readNumber(cells[columns[Size]], "the size", buffer.size))
    return error;
  std::optional<int64_t> alignment;
  if (Error error = readOptional(cells, Alignment, "the alignment", alignment))
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

llvm::Expected<AllocationProblem> CsvReader::read() {
  StringRef text;
  bool hasHeader = false;
  while (nextLine(text)) {
    if (text.trim().empty())
      continue;
    llvm::SmallVector<Cell, 8> cells;
    if (Error error = splitLine(text, cells))
      return std::move(error);
    if (Error error = hasHeader ? readBuffer(cells) : readHeader(cells))
      return std::move(error);
    hasHeader = true;
  }
  if (!hasHeader) {
    line = 1;
    return fail(1, "expected a header line that names the columns id, lower, "
                   "upper and size");
  }
  return std::move(problem);
}

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
  return CsvReader(text, fileName).read();
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
