//===- YamlSpans.h - Positions of values in a YAML --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_YAMLSPANS_H
#define MF_LIB_FRONTEND_CONFIG_YAMLSPANS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf {

struct SpanEntry;

/// A value's position in a text, in byte offsets. Aliases are not followed.
struct SpanNode {
  enum class Kind : uint8_t { Null, Scalar, List, Map, Alias };

  Kind kind = Kind::Null;
  /// A list or map in brackets.
  bool isFlow = false;
  /// The start of an anchor or a tag, or of the value itself if it has neither.
  size_t begin = 0;
  /// The end of the last anchor or tag; `begin` if there is none.
  size_t propertiesEnd = 0;
  /// The start and the end of the value itself. For an empty value, both are
  /// the place where it could be inserted.
  size_t content = 0, end = 0;
  /// The position by yaml-cpp's mark, as Node has it.
  unsigned line = 0, column = 0;
  /// The text of a scalar, without quotes.
  std::string text;
  std::vector<SpanNode> elements;
  std::vector<SpanEntry> entries;

  bool isCollection() const { return kind == Kind::List || kind == Kind::Map; }
  bool isBlock() const { return isCollection() && !isFlow; }
  bool hasText() const { return end > content; }
  /// Returns the last entry with this key, which overrides the others, or null.
  const SpanEntry *find(llvm::StringRef key) const;
};

struct SpanEntry {
  SpanNode key;
  SpanNode value;
  /// The offset after the colon; none if a flow map omits it.
  std::optional<size_t> colonEnd;
};

/// Returns the first offset, from `offset` on, of something other than a blank,
/// a line end or a comment.
size_t skipBlanksAndComments(llvm::StringRef text, size_t offset);
/// Return the start of the line at `offset`, and its end before the line end.
size_t getLineStart(llvm::StringRef text, size_t offset);
size_t getLineEnd(llvm::StringRef text, size_t offset);
/// Returns the offset after the line end of the line at `offset`.
size_t getNextLine(llvm::StringRef text, size_t offset);

/// Returns the spans of the document in `text`, which parseYaml has read
/// without errors. An empty document is a Null at the end. Returns none if an
/// end cannot be found.
std::optional<SpanNode> findYamlSpans(llvm::StringRef text);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_YAMLSPANS_H
