//===- CsvReader.cpp - Lines of comma-separated cells ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/CsvReader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

namespace mf {

std::string quoteCell(StringRef text) {
  constexpr size_t shown = 40;
  std::string quoted = "'";
  llvm::raw_string_ostream os(quoted);
  llvm::printEscapedString(text.take_front(shown), os);
  os << (text.size() > shown ? "...'" : "'");
  return quoted;
}

Error CsvReader::fail(size_t position, const Twine &message) const {
  return llvm::createStringError(fileName + ":" + Twine(line) + ":" +
                                 Twine(position) + ": " + message);
}

Error CsvReader::checkCount(llvm::ArrayRef<CsvCell> cells,
                            size_t expected) const {
  if (cells.size() == expected)
    return Error::success();
  return fail(cells.size() > expected ? cells[expected].position
                                      : cells.back().position,
              "expected " + Twine(expected) +
                  " cells as in the header, found " + Twine(cells.size()));
}

/// Returns the text of a cell in double quotes, of which the first is at `at`.
/// Sets `at` to the position of the last.
llvm::Expected<StringRef> CsvReader::unquote(StringRef text, size_t &at) {
  const size_t begin = ++at;
  bool hasQuotes = false;
  for (;; ++at) {
    if (at >= text.size())
      return fail(begin, "this double quote is not closed");
    if (text[at] != '"')
      continue;
    if (!text.substr(at + 1).starts_with("\""))
      break;
    hasQuotes = true;
    ++at;
  }
  const StringRef inside = text.slice(begin, at);
  if (!hasQuotes)
    return inside;
  std::string unquoted;
  for (size_t i = 0; i < inside.size(); ++i) {
    unquoted += inside[i];
    // Inside, double quotes are in pairs.
    i += inside[i] == '"';
  }
  return saver.save(unquoted);
}

Error CsvReader::splitLine(StringRef text,
                           llvm::SmallVectorImpl<CsvCell> &cells) {
  size_t at = 0;
  while (true) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t'))
      ++at;
    CsvCell cell;
    cell.position = at + 1;
    if (at < text.size() && text[at] == '"') {
      llvm::Expected<StringRef> unquoted = unquote(text, at);
      if (!unquoted)
        return unquoted.takeError();
      cell.text = *unquoted;
      const size_t comma = std::min(text.find(',', at), text.size());
      if (!text.slice(at + 1, comma).trim().empty())
        return fail(at + 2, "expected a comma after the closing double quote");
      at = comma;
    } else {
      const size_t comma = std::min(text.find(',', at), text.size());
      cell.text = text.slice(at, comma).rtrim();
      at = comma;
    }
    cells.push_back(cell);
    if (at >= text.size())
      return Error::success();
    ++at;
  }
}

llvm::Expected<bool> CsvReader::readRow(llvm::SmallVectorImpl<CsvCell> &cells) {
  while (!rest.empty()) {
    StringRef text;
    std::tie(text, rest) = rest.split('\n');
    text.consume_back("\r");
    ++line;
    if (text.trim().empty())
      continue;
    cells.clear();
    if (Error error = splitLine(text, cells))
      return std::move(error);
    return true;
  }
  return false;
}

} // namespace mf
