//===- ValueEditor.h - Edits values in a YAML's text ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_VALUEEDITOR_H
#define MF_LIB_FRONTEND_CONFIG_VALUEEDITOR_H

#include "SettingValue.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
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
  /// the offset at which it could be inserted.
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

/// Changes values in a text with as few changed bytes as possible. Values of
/// the same shape are replaced one by one, so that layout and comments are
/// kept.
class ValueEditor {
public:
  /// A text that replaces that between two offsets.
  struct Replacement {
    size_t begin = 0, end = 0;
    std::string text;
  };
  /// A node of the document before, by line, column and kind.
  using NodePlace = std::tuple<unsigned, unsigned, NodeKind>;

  ValueEditor(llvm::StringRef text, DiagnosticList &diagnostics);

  /// Collects the edits that change the document, given by its spans and its
  /// tree, to `wanted`. It is an error to change text inside an alias.
  void editDocument(const SpanNode &span, const Node &node,
                    const SettingValue &wanted);

  /// Returns the text with all edits applied.
  std::string apply() const;

  bool isReplaced(const Node &node) const { return has(replaced, node); }
  /// True if the key is added to the map, which may have had it only through a
  /// merge.
  bool isAdded(const Node &map, llvm::StringRef key) const {
    return added.count({getPlace(map), key.str()}) != 0;
  }

private:
  /// The place of a value.
  struct Place {
    /// The keys to it, for messages.
    std::string path;
    /// The map that contains the value; null for an element of a list.
    const SpanNode *map = nullptr;
    const SpanEntry *entry = nullptr;
    bool isInFlow = false;
  };

  void edit(const SpanNode &span, const Node &node, const SettingValue &wanted,
            const Place &place);
  void editList(const SpanNode &span, const Node &node,
                const SettingValue &wanted, const Place &place);
  void resizeBlockList(const SpanNode &span, const SettingValue &wanted);
  void editMap(const SpanNode &span, const Node &node,
               const SettingValue &wanted, const Place &place);
  bool canKeepMap(const SpanNode &span, const Node &node,
                  const SettingValue &wanted) const;
  void addEntries(const SpanNode &map, const SpanEntry *last,
                  const SettingValue &missing);
  void replace(const SpanNode &span, const Node &node,
               const SettingValue &wanted, const Place &place);
  void replaceInline(const SpanNode &span, const SettingValue &wanted,
                     const Place &place);
  void replaceByLines(const SpanNode &span, const SettingValue &wanted,
                      const Place &place);
  void removeLines(size_t begin, size_t end);
  void addToEnd(const SettingValue &missing, size_t indent);
  void add(size_t begin, size_t end, std::string text) {
    replacements.push_back({begin, end, std::move(text)});
  }

  llvm::StringRef getLineEndAt(size_t offset) const;
  size_t getColumn(size_t offset) const {
    return offset - getLineStart(text, offset);
  }
  bool startsLine(const SpanNode &span) const;
  FlowStyle getFlowStyle(const SpanNode &span) const;
  std::string printInStyle(const SpanNode &span,
                           const SettingValue &wanted) const;
  static NodePlace getPlace(const Node &node);
  static bool has(const std::set<NodePlace> &places, const Node &node) {
    return places.count(getPlace(node)) != 0;
  }

  llvm::StringRef text;
  DiagnosticList &diagnostics;
  /// The indentation of sections in this file.
  size_t step = 2;
  std::vector<Replacement> replacements;
  std::set<NodePlace> replaced;
  std::set<std::pair<NodePlace, std::string>> added;
};

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_VALUEEDITOR_H
