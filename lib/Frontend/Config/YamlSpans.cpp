//===- YamlSpans.cpp - Positions of values in a YAML ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The events of yaml-cpp contain the start of each value. This file finds the
// ends: that of a scalar by its text or quotes, and that of a collection after
// its last value.
//
//===----------------------------------------------------------------------===//

#include "ValueEditor.h"
#include <sstream>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

using namespace llvm;

namespace mf {

static constexpr StringLiteral blanks = " \t\r\n";

size_t skipBlanksAndComments(StringRef text, size_t offset) {
  while (offset < text.size()) {
    if (blanks.contains(text[offset])) {
      ++offset;
      continue;
    }
    const bool isComment = text[offset] == '#' &&
                           (offset == 0 || blanks.contains(text[offset - 1]));
    if (!isComment)
      break;
    offset = std::min(text.find('\n', offset), text.size());
  }
  return offset;
}

size_t getLineStart(StringRef text, size_t offset) {
  const size_t before = text.substr(0, offset).rfind('\n');
  return before == StringRef::npos ? 0 : before + 1;
}

size_t getLineEnd(StringRef text, size_t offset) {
  const size_t end = std::min(text.find('\n', offset), text.size());
  return end < text.size() && end > offset && text[end - 1] == '\r' ? end - 1
                                                                    : end;
}

size_t getNextLine(StringRef text, size_t offset) {
  return std::min(text.find('\n', offset), text.size() - 1) + 1;
}

const SpanEntry *SpanNode::find(StringRef key) const {
  const SpanEntry *found = nullptr;
  for (const SpanEntry &entry : entries)
    if (entry.key.text == key)
      found = &entry;
  return found;
}

/// Matches the value of a plain scalar, in which line ends have become blanks,
/// with its text. Returns the end in the text, or none.
static std::optional<size_t> findPlainEnd(StringRef text, size_t offset,
                                          StringRef value) {
  for (size_t at = 0; at < value.size();) {
    if (blanks.contains(value[at])) {
      const size_t next =
          std::min(text.find_first_not_of(blanks, offset), text.size());
      if (next == offset)
        return std::nullopt;
      offset = next;
      at = std::min(value.find_first_not_of(blanks, at), value.size());
      continue;
    }
    if (offset >= text.size() || text[offset] != value[at])
      return std::nullopt;
    ++offset;
    ++at;
  }
  return offset;
}

static std::optional<size_t> findQuotedEnd(StringRef text, size_t offset) {
  const char quote = text[offset];
  for (size_t at = offset + 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
      continue;
    }
    if (text[at] != quote)
      continue;
    if (quote == '\'' && text.substr(at + 1).starts_with("'")) {
      ++at;
      continue;
    }
    return at + 1;
  }
  return std::nullopt;
}

/// Returns the end of a block scalar. Its lines are blank, or are indented
/// further than `indent`, the column of the enclosing collection; -1 for the
/// document itself.
static size_t findBlockScalarEnd(StringRef text, size_t offset, int indent) {
  size_t end = getLineEnd(text, offset);
  for (size_t line = getNextLine(text, offset); line < text.size();
       line = getNextLine(text, line)) {
    const size_t lineEnd = getLineEnd(text, line);
    const StringRef content = text.slice(line, lineEnd);
    const size_t first = content.find_first_not_of(' ');
    if (first == StringRef::npos)
      continue;
    if (static_cast<int>(first) <= indent)
      break;
    end = lineEnd;
  }
  return end;
}

/// Returns the length of an explicit null at the start of the text that is not
/// a key.
static size_t getNullSize(StringRef text) {
  const size_t size = std::min(text.find_first_of(" \t\r\n,]}"), text.size());
  const StringRef word = text.take_front(size);
  const bool isNull =
      word == "~" || word == "null" || word == "Null" || word == "NULL";
  const bool isKey = text.substr(size).ltrim(blanks).starts_with(":");
  return isNull && !isKey ? size : 0;
}

namespace {

class SpanBuilder : public YAML::EventHandler {
public:
  explicit SpanBuilder(StringRef text)
      : text(text), shift(text.starts_with("\xef\xbb\xbf") ? 3 : 0) {}

  std::optional<SpanNode> take() {
    if (hasFailed)
      return std::nullopt;
    return std::move(root);
  }

  void OnDocumentStart(const YAML::Mark &) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark &mark, YAML::anchor_t) override {
    add(start(SpanNode::Kind::Null, mark));
  }
  void OnAlias(const YAML::Mark &mark, YAML::anchor_t) override {
    SpanNode alias = start(SpanNode::Kind::Alias, mark);
    alias.end =
        std::min(text.find_first_of(" \t\r\n,]}", alias.begin), text.size());
    add(std::move(alias));
  }
  void OnScalar(const YAML::Mark &mark, const std::string &, YAML::anchor_t,
                const std::string &value) override {
    SpanNode scalar = start(SpanNode::Kind::Scalar, mark);
    scalar.text = value;
    skipProperties(scalar);
    setScalarEnd(scalar);
    add(std::move(scalar));
  }
  void OnSequenceStart(const YAML::Mark &mark, const std::string &,
                       YAML::anchor_t, YAML::EmitterStyle::value) override {
    open(SpanNode::Kind::List, '[', mark);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark &mark, const std::string &, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(SpanNode::Kind::Map, '{', mark);
  }
  void OnMapEnd() override { close(); }

private:
  SpanNode start(SpanNode::Kind kind, const YAML::Mark &mark) {
    SpanNode node;
    node.kind = kind;
    node.line = static_cast<unsigned>(mark.line + 1);
    node.column = static_cast<unsigned>(mark.column + 1);
    node.begin = std::min(static_cast<size_t>(std::max(mark.pos, 0)) + shift,
                          text.size());
    node.propertiesEnd = node.content = node.end = node.begin;
    return node;
  }

  void open(SpanNode::Kind kind, char bracket, const YAML::Mark &mark) {
    SpanNode node = start(kind, mark);
    skipProperties(node);
    node.isFlow = node.content < text.size() && text[node.content] == bracket;
    // `[key: value]` contains a map without brackets.
    node.isFlow |= !stack.empty() && stack.back().isFlow;
    node.end = node.content;
    stack.push_back(std::move(node));
  }

  void skipProperties(SpanNode &node) {
    while (node.content < text.size() &&
           StringRef("&!").contains(text[node.content])) {
      node.propertiesEnd =
          std::min(text.find_first_of(" \t\r\n,]}", node.content), text.size());
      node.content = skipBlanksAndComments(text, node.propertiesEnd);
    }
  }

  void setScalarEnd(SpanNode &scalar) {
    const char first =
        scalar.content < text.size() ? text[scalar.content] : '\0';
    std::optional<size_t> end;
    if (first == '\'' || first == '"')
      end = findQuotedEnd(text, scalar.content);
    else if ((first == '|' || first == '>') && !isInFlow())
      end = findBlockScalarEnd(text, scalar.content, getIndent());
    else
      end = findPlainEnd(text, scalar.content, scalar.text);
    if (scalar.text.empty() && first != '\'' && first != '"' && first != '|' &&
        first != '>')
      scalar.content = scalar.end = scalar.propertiesEnd;
    else if (end)
      scalar.end = *end;
    else
      hasFailed = true;
  }

  bool isInFlow() const { return !stack.empty() && stack.back().isFlow; }

  /// Returns the column of the innermost open collection.
  int getIndent() const {
    if (stack.empty())
      return -1;
    const SpanNode &parent = stack.back();
    const size_t first =
        parent.kind == SpanNode::Kind::Map && !parent.entries.empty()
            ? parent.entries.front().key.begin
            : parent.content;
    return static_cast<int>(first - getLineStart(text, first));
  }

  void close() {
    SpanNode node = std::move(stack.back());
    stack.pop_back();
    if (!node.elements.empty())
      node.end = node.elements.back().end;
    if (!node.entries.empty())
      node.end = node.entries.back().value.end;
    const char bracket = node.isFlow ? text[node.content] : '\0';
    if (bracket == '[' || bracket == '{') {
      size_t at =
          skipBlanksAndComments(text, std::max(node.end, node.content + 1));
      while (at < text.size() && text[at] == ',')
        at = skipBlanksAndComments(text, at + 1);
      hasFailed |=
          at >= text.size() || text[at] != (bracket == '[' ? ']' : '}');
      node.end = at + 1;
    }
    add(std::move(node));
  }

  void add(SpanNode node) {
    if (stack.empty()) {
      if (node.kind == SpanNode::Kind::Null)
        placeNull(node, node.begin);
      root = std::move(node);
      return;
    }
    SpanNode &parent = stack.back();
    if (parent.kind == SpanNode::Kind::List)
      addElement(parent, std::move(node));
    else
      addToMap(parent, std::move(node));
  }

  void addElement(SpanNode &list, SpanNode node) {
    if (node.kind == SpanNode::Kind::Null) {
      size_t at =
          list.elements.empty() ? list.content : list.elements.back().end;
      at = skipBlanksAndComments(text, at);
      placeNull(node, std::min(at + 1, text.size()));
    }
    list.elements.push_back(std::move(node));
  }

  /// Keys and values arrive alternately.
  void addToMap(SpanNode &map, SpanNode node) {
    if (map.entries.empty() || map.entries.back().value.line != 0) {
      if (node.kind == SpanNode::Kind::Null)
        placeNull(node, node.begin);
      map.entries.emplace_back();
      map.entries.back().key = std::move(node);
      return;
    }
    SpanEntry &entry = map.entries.back();
    const size_t colon = skipBlanksAndComments(text, entry.key.end);
    if (colon < text.size() && text[colon] == ':')
      entry.colonEnd = colon + 1;
    if (node.kind == SpanNode::Kind::Null)
      placeNull(node, entry.colonEnd.value_or(entry.key.end));
    entry.value = std::move(node);
  }

  /// yaml-cpp gives an empty value the position of a neighbour. A null that is
  /// written (`~`, `null`) or has an anchor starts at `earliest` or later.
  void placeNull(SpanNode &node, size_t earliest) {
    SpanNode empty = node;
    if (node.begin >= earliest) {
      skipProperties(empty);
      if (const size_t size = getNullSize(text.substr(empty.content))) {
        empty.end = empty.content + size;
        node = empty;
        return;
      }
      if (empty.propertiesEnd > node.begin &&
          getLineStart(text, node.begin) == getLineStart(text, earliest)) {
        empty.content = empty.end = empty.propertiesEnd;
        node = empty;
        return;
      }
    }
    node.begin = node.propertiesEnd = node.content = node.end = earliest;
  }

  StringRef text;
  /// The size of the byte order mark, which yaml-cpp does not count.
  size_t shift;
  bool hasFailed = false;
  std::vector<SpanNode> stack;
  SpanNode root;
};

} // namespace

std::optional<SpanNode> findYamlSpans(StringRef text) {
  SpanBuilder builder(text);
  try {
    std::istringstream stream(text.str());
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder))
      return builder.take();
    SpanNode empty;
    empty.begin = empty.propertiesEnd = empty.content = empty.end = text.size();
    return empty;
  } catch (const std::exception &) {
    return std::nullopt;
  }
}

} // namespace mf
