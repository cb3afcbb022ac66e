//===- YamlCursor.cpp - The place of the cursor in a YAML -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/mf-lsp-server/YamlCursor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using llvm::StringRef;

namespace mf::lsp {

namespace {

/// The indentation of a line. Keys have even values and dashes of lists odd
/// ones, one more than a key in the same column, as items may start in the
/// column of their list's key.
struct Indentation {
  size_t key = 0;
  /// The column of the first dash, or of the key if there is none.
  size_t item = 0;
  /// The offset of the text after the dashes.
  size_t start = 0;
};

/// Keys of flow maps that are open on a line, and where the entry starts.
struct OpenMaps {
  std::vector<std::string> keys;
  /// Where their first entries start.
  std::vector<size_t> begins;
  size_t start = 0;
  bool isComment = false;
};

} // namespace

static bool isWordCharacter(char c) {
  return llvm::isAlnum(c) || StringRef("_.\\*+-").contains(c);
}

static Indentation findIndentation(StringRef line) {
  Indentation indent;
  size_t at = std::min(line.find_first_not_of(' '), line.size());
  bool hasDash = false;
  while (at < line.size() && line[at] == '-' &&
         (at + 1 == line.size() || line[at + 1] == ' ')) {
    if (!hasDash)
      indent.item = 2 * at + 1;
    hasDash = true;
    at = std::min(line.find_first_not_of(' ', at + 1), line.size());
  }
  indent.start = at;
  indent.key = 2 * at;
  if (!hasDash)
    indent.item = indent.key;
  return indent;
}

/// Returns the offset of the colon after a key, or npos.
static size_t findColon(StringRef text) {
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if (c == '\'' || c == '"')
      quote = c;
    else if (c == ':' && (i + 1 == text.size() || text[i + 1] == ' '))
      return i;
  }
  return StringRef::npos;
}

static std::string getKey(StringRef text) {
  return text.take_front(findColon(text)).trim(" '\"").str();
}

static OpenMaps findOpenMaps(StringRef line, size_t start) {
  OpenMaps open;
  open.start = start;
  char quote = 0;
  for (size_t i = start; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      quote = c == quote ? 0 : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '#' && (i == 0 || line[i - 1] == ' ')) {
      open.isComment = true;
      return open;
    } else if (c == '{') {
      open.keys.push_back(getKey(line.slice(open.start, i)));
      open.start = i + 1;
      open.begins.push_back(open.start);
    } else if (c == '}' && !open.keys.empty()) {
      open.keys.pop_back();
      open.begins.pop_back();
      open.start = i + 1;
    } else if (c == ',' && !open.keys.empty() &&
               line.slice(open.start, i).count('[') ==
                   line.slice(open.start, i).count(']')) {
      open.start = i + 1;
    }
  }
  return open;
}

/// Returns the keys of the maps around an item with this indentation, the
/// innermost first.
static std::vector<std::string>
findOuterKeys(llvm::ArrayRef<StringRef> linesAbove, size_t limit) {
  std::vector<std::string> keys;
  for (StringRef line : llvm::reverse(linesAbove)) {
    if (limit == 0)
      break;
    const Indentation indent = findIndentation(line);
    const StringRef text = line.substr(indent.start);
    if (text.empty() || text.starts_with("#"))
      continue;
    if (indent.key < limit) {
      if (findColon(text) != StringRef::npos)
        keys.push_back(getKey(text));
      limit = indent.item;
    } else {
      // The line is another key of the same item.
      limit = std::min(limit, indent.item);
    }
  }
  return keys;
}

/// Adds the keys of a block map on lines above or below that of the cursor, the
/// nearest line first. A dash in front of a key begins the map's item.
template <typename Lines>
static void addBlockKeys(const Lines &lines, const Indentation &own,
                         bool isAbove, std::vector<std::string> &keys) {
  for (StringRef line : lines) {
    const Indentation indent = findIndentation(line);
    const StringRef text = line.substr(indent.start);
    if (text.empty() || text.starts_with("#"))
      continue;
    const bool beginsItem = indent.item < indent.key;
    if (indent.key < own.key ||
        (beginsItem && indent.item < own.key && !isAbove))
      return;
    if (indent.key == own.key && findColon(text) != StringRef::npos)
      keys.push_back(getKey(text));
    if (beginsItem && indent.item < own.key)
      return;
  }
}

/// Adds the keys of a flow map whose entries start at `begin`, without the
/// entry at `own`.
static void addFlowKeys(StringRef line, size_t begin, size_t own,
                        std::vector<std::string> &keys) {
  char quote = 0;
  size_t start = begin;
  int depth = 0;
  auto add = [&](size_t end) {
    const StringRef entry = line.slice(start, end);
    if (start != own && findColon(entry) != StringRef::npos)
      keys.push_back(getKey(entry));
    start = end + 1;
  };
  for (size_t i = begin; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      quote = c == quote ? 0 : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && depth-- == 0) {
      return add(i);
    } else if (c == ',' && depth == 0) {
      add(i);
    }
  }
  add(line.size());
}

std::string YamlCursor::getSection(size_t dropped) const {
  const size_t size = path.size() - std::min(dropped, path.size());
  return llvm::join(path.begin(), path.begin() + size, ".");
}

YamlCursor findCursor(llvm::ArrayRef<StringRef> lines, size_t line,
                      size_t column) {
  YamlCursor cursor;
  if (line >= lines.size())
    return cursor;
  const StringRef text = lines[line];
  cursor.begin = cursor.end = std::min(column, text.size());
  while (cursor.begin > 0 && isWordCharacter(text[cursor.begin - 1]))
    --cursor.begin;
  while (cursor.end < text.size() && isWordCharacter(text[cursor.end]))
    ++cursor.end;
  cursor.isQuoted = cursor.begin > 0 && (text[cursor.begin - 1] == '\'' ||
                                         text[cursor.begin - 1] == '"');
  const Indentation indent = findIndentation(text);
  const OpenMaps open =
      findOpenMaps(text.take_front(cursor.begin), indent.start);
  cursor.isComment = open.isComment;
  cursor.path = findOuterKeys(lines.take_front(line), indent.item);
  std::reverse(cursor.path.begin(), cursor.path.end());
  cursor.path.insert(cursor.path.end(), open.keys.begin(), open.keys.end());
  if (!open.begins.empty()) {
    addFlowKeys(text, open.begins.back(), open.start, cursor.neighbours);
  } else {
    // On a line of the key's item the dash begins the map.
    if (indent.item == indent.key)
      addBlockKeys(llvm::reverse(lines.take_front(line)), indent,
                   /*isAbove=*/true, cursor.neighbours);
    addBlockKeys(lines.drop_front(line + 1), indent, /*isAbove=*/false,
                 cursor.neighbours);
  }
  llvm::erase_if(cursor.path,
                 [](const std::string &key) { return key.empty(); });
  const StringRef entry = text.slice(open.start, cursor.begin);
  if (findColon(entry) != StringRef::npos)
    cursor.key = getKey(entry);
  return cursor;
}

size_t findWordEnd(StringRef line, size_t begin) {
  if (begin >= line.size())
    return line.size();
  if (line[begin] == '\'' || line[begin] == '"') {
    const size_t end = line.find(line[begin], begin + 1);
    return end == StringRef::npos ? line.size() : end + 1;
  }
  size_t end = begin;
  while (end < line.size() && isWordCharacter(line[end]))
    ++end;
  return std::max(end, begin + 1);
}

} // namespace mf::lsp
