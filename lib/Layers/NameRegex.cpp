//===- NameRegex.cpp - A regular expression over one name ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Layers/NameRegex.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <regex>

namespace mf {

struct NameRegex::Compiled {
  std::regex regex;
};

/// Why `text` would be too costly to compile or match: the library unrolls
/// counted repeats, one inside the other.
static std::string findCost(llvm::StringRef text) {
  if (text.size() > 256)
    return "longer than 256 characters";
  // The library reads such a number into an int, which would overflow.
  size_t digits = 0;
  for (char c : text) {
    digits = llvm::isDigit(c) ? digits + 1 : 0;
    if (digits > 9)
      return "a number with more than 9 digits";
  }
  uint64_t product = 1;
  for (size_t at = text.find('{'); at != llvm::StringRef::npos;
       at = text.find('{', at + 1)) {
    llvm::StringRef body =
        text.substr(at + 1).take_until([](char c) { return c == '}'; });
    uint64_t largest = 1;
    llvm::SmallVector<llvm::StringRef> bounds;
    body.split(bounds, ',');
    for (llvm::StringRef bound : bounds) {
      if (bound.size() > 6)
        return "it repeats too often";
      uint64_t count = 0;
      if (!bound.getAsInteger(10, count))
        largest = std::max(largest, count);
    }
    product *= largest;
    if (product > 256)
      return "it repeats too often";
  }
  return {};
}

/// Returns the quantifier before which nothing stands that it could repeat, as
/// in `*wq*`, or 0. The library speaks of parentheses then.
static char findLoneQuantifier(llvm::StringRef text) {
  char before = '|';
  bool isInClass = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (isInClass) {
      i += c == '\\';
      isInClass = c != ']';
      continue;
    }
    if (llvm::StringRef("*+?").contains(c) &&
        (before == '|' || (before == '(' && c != '?')))
      return c;
    isInClass = c == '[';
    i += c == '\\';
    before = c;
  }
  return 0;
}

NameRegex::NameRegex(llvm::StringRef text) {
  if (text.find_first_of("\\^$.|?*+()[]{}") == llvm::StringRef::npos) {
    literal = text.str();
    return;
  }
  message = findCost(text);
  if (!message.empty())
    return;
  // The breadth-first matcher needs polynomial time for every pattern.
  auto flags = std::regex::ECMAScript | std::regex::optimize;
#ifdef __GLIBCXX__
  flags |= std::regex_constants::__polynomial;
#endif
  try {
    compiled = std::make_shared<Compiled>();
    compiled->regex.assign(text.begin(), text.end(), flags);
  } catch (const std::exception &error) {
    compiled.reset();
    message = error.what();
    if (!message.empty())
      message[0] = llvm::toLower(message[0]);
    if (const char lone = findLoneQuantifier(text))
      message = std::string("there is nothing that '") + lone +
                "' could repeat; any text is '.*'";
  }
}

template <typename Call> bool NameRegex::matches(Call call) const {
  if (!compiled)
    return false;
  // The library also throws where a match would be too complex.
  try {
    return call(compiled->regex);
  } catch (const std::exception &) {
    return false;
  }
}

bool NameRegex::fullMatch(llvm::StringRef name) const {
  if (literal)
    return name == *literal;
  return matches([&](const std::regex &regex) {
    return std::regex_match(name.begin(), name.end(), regex);
  });
}

bool NameRegex::matchStart(llvm::StringRef name) const {
  if (literal)
    return name.starts_with(*literal);
  return matches([&](const std::regex &regex) {
    return std::regex_search(name.begin(), name.end(), regex,
                             std::regex_constants::match_continuous);
  });
}

bool NameRegex::search(llvm::StringRef name) const {
  if (literal)
    return name.contains(*literal);
  return matches([&](const std::regex &regex) {
    return std::regex_search(name.begin(), name.end(), regex);
  });
}

} // namespace mf
