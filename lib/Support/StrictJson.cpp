//===- StrictJson.cpp - Reads untrusted JSON ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/StrictJson.h"
#include "llvm/ADT/StringSet.h"
#include <vector>

using namespace llvm;

namespace mf {

namespace {

/// Walks over the structure of JSON text without understanding the rest.
class Scanner {
public:
  explicit Scanner(StringRef text) : text(text) {}

  unsigned getMaximumDepth() const { return maximumDepth; }
  size_t getNumMembers() const { return numMembers; }

  /// Counts depth and members (colons outside of strings).
  void scan() {
    unsigned depth = 0;
    for (position = 0; position < text.size(); ++position) {
      switch (text[position]) {
      case '"':
        skipString();
        break;
      case '{':
      case '[':
        maximumDepth = std::max(maximumDepth, ++depth);
        break;
      case '}':
      case ']':
        depth -= depth != 0;
        break;
      case ':':
        ++numMembers;
        break;
      default:
        break;
      }
    }
  }

  /// Returns the first key that occurs twice in its object, compared by its
  /// spelling; empty if there is none.
  std::string findDuplicate() {
    std::vector<StringSet<>> keys(1);
    StringRef lastString;
    for (position = 0; position < text.size(); ++position) {
      switch (text[position]) {
      case '"':
        lastString = skipString();
        break;
      case '{':
      case '[':
        keys.emplace_back();
        break;
      case '}':
      case ']':
        keys.pop_back();
        break;
      case ':':
        if (!keys.back().insert(lastString).second)
          return lastString.str();
        break;
      default:
        break;
      }
    }
    return {};
  }

private:
  /// Skips a string including both quotes. Returns the text between them.
  StringRef skipString() {
    const size_t begin = ++position;
    while (position < text.size() && text[position] != '"')
      position += text[position] == '\\' ? 2 : 1;
    return text.slice(begin, position);
  }

  StringRef text;
  size_t position = 0;
  unsigned maximumDepth = 0;
  size_t numMembers = 0;
};

size_t countMembers(const json::Value &value) {
  size_t count = 0;
  if (const json::Object *object = value.getAsObject()) {
    count = object->size();
    for (const auto &member : *object)
      count += countMembers(member.second);
  } else if (const json::Array *array = value.getAsArray()) {
    for (const json::Value &element : *array)
      count += countMembers(element);
  }
  return count;
}

} // namespace

unsigned getNestingDepth(StringRef text) {
  Scanner scanner(text);
  scanner.scan();
  return scanner.getMaximumDepth();
}

Expected<json::Value> parseStrictJson(StringRef text, unsigned maximumDepth) {
  Scanner scanner(text);
  scanner.scan();
  if (scanner.getMaximumDepth() > maximumDepth)
    return createStringError(inconvertibleErrorCode(),
                             "JSON nested %u deep, expected at most %u",
                             scanner.getMaximumDepth(), maximumDepth);
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return createStringError(inconvertibleErrorCode(),
                             "malformed JSON: " + toString(value.takeError()));
  if (countMembers(*value) != scanner.getNumMembers())
    return createStringError(inconvertibleErrorCode(),
                             "name '" + scanner.findDuplicate() +
                                 "' appears twice in one JSON object");
  return value;
}

} // namespace mf
