//===- TargetEdit.cpp - Replaces numbers in a target's file ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TargetText.h"
#include "mf/Perf/Target/TargetFields.h"
#include "mf/Perf/Target/TargetFile.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <map>
#include <string>
#include <tuple>

using namespace llvm;

namespace mf::target {

namespace {

/// The offsets of numbers in the text of a target's file, by path.
struct NumberPlaces {
  struct Span {
    size_t begin = 0, end = 0;
  };
  /// For each key, the text after `key =` up to its end.
  llvm::StringMap<Span> values;
  /// For each entry, the offset behind its last value, where another one can
  /// follow. The device itself is "".
  llvm::StringMap<size_t> ends;
};

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

/// Finds the places in `#ascend.device<...>`, whose comments must be blanked.
/// Parts that are attributes defined elsewhere have a value, but no places
/// inside of it.
static NumberPlaces findNumberPlaces(StringRef text) {
  return PlaceFinder(text).find();
}

/// A text that replaces the text between two offsets.
struct Replacement {
  size_t begin = 0, end = 0;
  std::string text;
};

static std::map<std::string, double> getNumbers(Target target) {
  std::map<std::string, double> numbers;
  forEachField(target, [&](StringRef path, const Field &field) {
    numbers[path.str()] = field.getNumber();
  });
  return numbers;
}

/// Returns the edits that change the numbers of `from` to those of `to`, or
/// none if the text has no place for one of them.
static std::optional<std::vector<Replacement>>
findReplacements(StringRef text, const Target &from, const Target &to) {
  const NumberPlaces places = findNumberPlaces(blankComments(text));
  const std::map<std::string, double> before = getNumbers(from);
  std::vector<Replacement> replacements;
  for (const auto &[path, number] : getNumbers(to)) {
    const auto known = before.find(path);
    if (known == before.end())
      return std::nullopt;
    if (known->second == number)
      continue;
    if (auto place = places.values.find(path); place != places.values.end()) {
      replacements.push_back(
          {place->second.begin, place->second.end, formatTargetNumber(number)});
      continue;
    }
    // The number had its default, so that the text lacks it.
    const auto [entry, key] = StringRef(path).rsplit('.');
    const bool isInside = !key.empty();
    const auto end = places.ends.find(isInside ? entry : "");
    if (end == places.ends.end())
      return std::nullopt;
    const bool isFirst = StringRef("<{").contains(text[end->second - 1]);
    replacements.push_back({end->second, end->second,
                            ((isFirst ? "" : ", ") + (isInside ? key : entry) +
                             " = " + formatTargetNumber(number))
                                .str()});
  }
  return replacements;
}

std::string editTarget(StringRef text, const Target &from, const Target &to,
                       mlir::MLIRContext &context, StringRef comment) {
  if (auto replacements = findReplacements(text, from, to)) {
    std::string edited = text.str();
    // Edits are applied from the end, so that earlier offsets stay valid.
    sort(*replacements, [](const Replacement &a, const Replacement &b) {
      return std::tie(b.begin, b.text) < std::tie(a.begin, a.text);
    });
    for (const Replacement &replacement : *replacements)
      edited.replace(replacement.begin, replacement.end - replacement.begin,
                     replacement.text);
    // Errors are dropped, because the target is then printed anew.
    mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) {});
    SourceMgr sources;
    sources.AddNewSourceBuffer(MemoryBuffer::getMemBufferCopy(edited), SMLoc());
    mlir::FailureOr<Target> read = parseTarget(sources, context);
    if (succeeded(read) && getNumbers(*read) == getNumbers(to))
      return makeComment(comment) + edited;
  }
  std::string printed;
  raw_string_ostream os(printed);
  printTarget(to, context, comment, os);
  return printed;
}

} // namespace mf::target
