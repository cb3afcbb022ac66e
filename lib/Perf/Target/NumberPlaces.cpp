//===- NumberPlaces.cpp - Places of numbers in a target's file ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "NumberPlaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace mf::target {

namespace {

/// Walks over entries of a text that has been parsed: brackets are in pairs.
class PlaceFinder {
public:
  explicit PlaceFinder(StringRef text) : text(text) {}

  NumberPlaces find() {
    constexpr StringLiteral start = "#ascend.device<";
    offset = text.find(start);
    if (offset == StringRef::npos)
      return {};
    offset += start.size();
    // The word is the name of the entry.
    const size_t quote = text.find('"', offset);
    if (quote == StringRef::npos)
      return {};
    offset = std::min(text.find('"', quote + 1), text.size() - 1) + 1;
    end = offset;
    findEntries("");
    return std::move(places);
  }

private:
  /// Finds the places of entries up to a closing bracket.
  void findEntries(const std::string &path);
  void findValue(const std::string &path);
  void skipBlanks() { offset = text.find_first_not_of(" \t\r\n", offset); }
  bool isAt(StringRef characters) const {
    return offset < text.size() && characters.contains(text[offset]);
  }

  StringRef text;
  size_t offset = 0;
  /// The offset behind the last value.
  size_t end = 0;
  NumberPlaces places;
};

} // namespace

void PlaceFinder::findValue(const std::string &path) {
  skipBlanks();
  const size_t begin = offset;
  if (isAt("<{")) {
    ++offset;
    end = offset;
    findEntries(path);
    end = offset;
  } else {
    offset = std::min(text.find_first_of(",>}", offset), text.size());
    end = begin + text.substr(begin, offset - begin).rtrim().size();
  }
  places.values[path] = {begin, end};
}

void PlaceFinder::findEntries(const std::string &path) {
  while (offset < text.size()) {
    skipBlanks();
    if (isAt(",")) {
      ++offset;
      continue;
    }
    if (isAt(">}") || offset >= text.size())
      break;
    const size_t equal = std::min(text.find('=', offset), text.size());
    const StringRef key = text.slice(offset, equal).trim();
    offset = std::min(equal + 1, text.size());
    findValue(path.empty() ? key.str() : (path + "." + key).str());
  }
  places.ends[path] = end;
  offset = std::min(offset + 1, text.size());
}

NumberPlaces findNumberPlaces(StringRef text) {
  return PlaceFinder(text).find();
}

} // namespace mf::target
