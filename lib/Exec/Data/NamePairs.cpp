//===- NamePairs.cpp - Names of tensors in two files ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/NamePairs.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace mf {

/// Finds the texts in `name` that match the stars of `pattern`, each as short
/// as possible. Two stars are never adjacent.
static bool matchStars(StringRef pattern, StringRef name,
                       SmallVectorImpl<StringRef> &stars) {
  const size_t star = pattern.find('*');
  if (star == StringRef::npos)
    return pattern == name;
  if (!name.consume_front(pattern.take_front(star)))
    return false;
  const StringRef rest = pattern.drop_front(star + 1);
  const size_t numBefore = stars.size();
  for (size_t length = 0; length <= name.size(); ++length) {
    stars.push_back(name.take_front(length));
    if (matchStars(rest, name.drop_front(length), stars))
      return true;
    stars.truncate(numBefore);
  }
  return false;
}

/// Returns the line without its comment. A comment may begin only where a word
/// may begin: `name#2` is a name.
static StringRef dropComment(StringRef line) {
  for (size_t at = line.find('#'); at != StringRef::npos;
       at = line.find('#', at + 1))
    if (at == 0 || isSpace(line[at - 1]))
      return line.take_front(at);
  return line;
}

Expected<NamePairs> NamePairs::parse(StringRef text, StringRef path) {
  // A pattern with more stars would take too long to match, because each star
  // may stand for a text of any length.
  constexpr size_t maxStars = 4;
  NamePairs pairs;
  SmallVector<StringRef> texts;
  text.split(texts, '\n');
  for (size_t i = 0; i < texts.size(); ++i) {
    const StringRef line = dropComment(texts[i]).trim();
    if (line.empty())
      continue;
    auto fail = [&](const Twine &message) {
      return createStringError(path + ":" + Twine(i + 1) + ": " + message);
    };
    const auto [left, right] = line.split('=');
    const StringRef ours = left.trim(), theirs = right.trim();
    if (ours.empty() || theirs.empty() || theirs.contains('='))
      return fail("expected a name of the first file, '=' and one of the "
                  "second");
    if (ours.count('*') != theirs.count('*'))
      return fail("expected as many stars on both sides of '='");
    if (ours.count('*') > maxStars || ours.contains("**"))
      return fail("expected at most " + Twine(maxStars) +
                  " stars, and none beside another");
    pairs.lines.push_back(
        {static_cast<unsigned>(i + 1), ours.str(), theirs.str()});
  }
  if (pairs.lines.empty())
    return createStringError(path + ": expected lines such as 'name = other "
                                    "name'");
  return pairs;
}

std::optional<NamePairs::Pair> NamePairs::find(StringRef ours) const {
  for (size_t i = 0; i < lines.size(); ++i) {
    SmallVector<StringRef> stars;
    if (!matchStars(lines[i].ours, ours, stars))
      continue;
    Pair pair;
    pair.line = i;
    size_t star = 0;
    for (const char character : lines[i].theirs)
      if (character == '*')
        pair.theirs += stars[star++];
      else
        pair.theirs += character;
    return pair;
  }
  return std::nullopt;
}

} // namespace mf
