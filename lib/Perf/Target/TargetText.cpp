//===- TargetText.cpp - Prepares a target's file for parsing --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TargetText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace mf::target {

std::string makeComment(StringRef text) {
  if (text.empty())
    return "";
  SmallVector<StringRef> lines;
  text.rtrim('\n').split(lines, '\n');
  std::string comment;
  for (StringRef line : lines)
    comment += ((line.empty() ? "//" : "// ") + line + "\n").str();
  return comment;
}

/// Returns the offset after the string that begins at `offset`. Strings end at
/// the end of their line at the latest.
static size_t skipString(StringRef text, size_t offset) {
  for (++offset; offset < text.size() && text[offset] != '\n'; ++offset) {
    if (text[offset] == '"')
      return offset + 1;
    if (text[offset] == '\\' && offset + 1 < text.size() &&
        text[offset + 1] != '\n')
      ++offset;
  }
  return offset;
}

std::string blankComments(StringRef text) {
  std::string result = text.str();
  for (size_t offset = 0; offset < text.size();) {
    if (text[offset] == '"') {
      offset = skipString(text, offset);
    } else if (text.substr(offset).starts_with("//")) {
      const size_t end = std::min(text.find('\n', offset), text.size());
      for (; offset < end; ++offset)
        result[offset] = ' ';
    } else {
      ++offset;
    }
  }
  return result;
}

std::optional<WrongBracket> findWrongBracket(StringRef text) {
  constexpr StringLiteral opening = "<{([", closing = ">})]";
  constexpr size_t deepest = 100;
  SmallVector<size_t> open;
  auto makeError = [&](size_t offset, const Twine &what) {
    return WrongBracket{offset,
                        ("'" + Twine(text[offset]) + "' " + what).str()};
  };
  for (size_t offset = 0; offset < text.size(); ++offset) {
    const char c = text[offset];
    if (c == '"') {
      offset = skipString(text, offset) - 1;
    } else if (text.substr(offset).starts_with("->")) {
      ++offset;
    } else if (opening.contains(c)) {
      open.push_back(offset);
      if (open.size() > deepest + 1)
        return makeError(offset, "is inside of more than " + Twine(deepest) +
                                     " others");
    } else if (const size_t kind = closing.find(c); kind != StringRef::npos) {
      if (open.empty())
        return makeError(offset, "closes nothing");
      if (text[open.back()] != opening[kind])
        return makeError(open.back(),
                         "is not closed before '" + Twine(c) + "'");
      open.pop_back();
    }
  }
  if (!open.empty())
    return makeError(open.back(), "is not closed");
  return std::nullopt;
}

} // namespace mf::target
