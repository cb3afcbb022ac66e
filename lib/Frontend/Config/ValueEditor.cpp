//===- ValueEditor.cpp - Edits values in a YAML's text --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ValueEditor.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace llvm;

namespace mf {

ValueEditor::ValueEditor(StringRef text, DiagnosticList &diagnostics)
    : text(text), diagnostics(diagnostics) {}

ValueEditor::NodePlace ValueEditor::getPlace(const Node &node) {
  const Location location = node.getLocation();
  return {location.line, location.column, node.getKind()};
}

/// Returns the line end of the line at `offset`. If it is the last line and has
/// none, returns that of the first line.
StringRef ValueEditor::getLineEndAt(size_t offset) const {
  const size_t end = getLineEnd(text, offset);
  if (end == text.size())
    return offset == 0 || !text.contains('\n') ? "\n" : getLineEndAt(0);
  return text.slice(end, getNextLine(text, end));
}

bool ValueEditor::startsLine(const SpanNode &span) const {
  const size_t start = getLineStart(text, span.content);
  return text.slice(start, span.content).trim().empty();
}

FlowStyle ValueEditor::getFlowStyle(const SpanNode &span) const {
  FlowStyle style;
  if (span.kind != SpanNode::Kind::List || !span.isFlow)
    return style;
  if (text.substr(span.content + 1).starts_with(" "))
    style.padding = " ";
  if (span.elements.size() > 1) {
    const StringRef between =
        text.slice(span.elements[0].end, span.elements[1].begin);
    if (between.ends_with(","))
      style.separator = ",";
  } else if (!span.elements.empty()) {
    style.separator = getFlowStyle(span.elements.front()).separator;
  }
  return style;
}

/// Prints on one line, spaced and quoted as the old value.
std::string ValueEditor::printInStyle(const SpanNode &span,
                                      const SettingValue &wanted) const {
  SettingValue value = wanted;
  if (span.kind == SpanNode::Kind::Scalar && value.isString) {
    const char quote = text[span.content];
    const bool isPlainText =
        value.text.find_first_of("\\\"'") == std::string::npos;
    if (quote == '"' && isPlainText)
      return '"' + value.text + '"';
    value.isQuoted |= quote == '\'' || quote == '"';
  }
  return printFlow(value, getFlowStyle(span));
}

void ValueEditor::editDocument(const SpanNode &span, const Node &node,
                               const SettingValue &wanted) {
  if (span.kind == SpanNode::Kind::Map)
    for (const SpanEntry &entry : span.entries)
      if (entry.value.kind == SpanNode::Kind::Map && entry.value.isBlock() &&
          startsLine(entry.value)) {
        const size_t outer = getColumn(entry.key.begin);
        const size_t inner = getColumn(entry.value.content);
        step = inner > outer ? inner - outer : step;
        break;
      }
  if (span.kind == SpanNode::Kind::Null && !span.hasText()) {
    replaced.insert(getPlace(node));
    if (!wanted.entries.empty())
      addToEnd(wanted, 0);
    return;
  }
  edit(span, node, wanted, {});
}

void ValueEditor::edit(const SpanNode &span, const Node &node,
                       const SettingValue &wanted, const Place &place) {
  if (says(node, wanted))
    return;
  if (span.kind == SpanNode::Kind::Alias) {
    Location location = node.getLocation();
    const unsigned anchorLine = location.line;
    location.line = span.line;
    location.column = span.column;
    diagnostics
        .error(location, quote(place.path) + " is the alias " +
                             quote(text.slice(span.begin, span.end)) +
                             ", which cannot be changed in place; expected the "
                             "value itself, write it here instead of the alias")
        .attachNote("the value that it stands for",
                    {location.file, anchorLine, node.getLocation().column});
    return;
  }
  if (span.kind == SpanNode::Kind::List && node.isList() &&
      wanted.kind == SettingValue::Kind::List && !span.elements.empty() &&
      !wanted.elements.empty())
    return editList(span, node, wanted, place);
  if (span.kind == SpanNode::Kind::Map && node.isMap() &&
      wanted.isMapOrSection() && canKeepMap(span, node, wanted))
    return editMap(span, node, wanted, place);
  replace(span, node, wanted, place);
}

void ValueEditor::editList(const SpanNode &span, const Node &node,
                           const SettingValue &wanted, const Place &place) {
  const size_t size = span.elements.size();
  const bool isSameSize = size == wanted.elements.size();
  if (span.isFlow && !isSameSize)
    return replace(span, node, wanted, place);
  if (!isSameSize)
    replaced.insert(getPlace(node));
  const Place inside = {place.path, nullptr, nullptr, span.isFlow};
  for (size_t at = 0; at < std::min(size, wanted.elements.size()); ++at)
    edit(span.elements[at], node.getElements()[at], wanted.elements[at],
         inside);
  if (!isSameSize)
    resizeBlockList(span, wanted);
}

/// Adds or takes away lines at the end.
void ValueEditor::resizeBlockList(const SpanNode &span,
                                  const SettingValue &wanted) {
  const size_t size = span.elements.size();
  if (wanted.elements.size() < size) {
    const SpanNode &last = span.elements[wanted.elements.size() - 1];
    removeLines(skipBlanksAndComments(text, last.end), span.end);
    return;
  }
  const StringRef lineEnd = getLineEndAt(span.content);
  const size_t indent = getColumn(span.content);
  std::string lines;
  for (const SettingValue &element : drop_begin(wanted.elements, size))
    lines += lineEnd.str() + std::string(indent, ' ') +
             printBlockElement(element, indent, step, lineEnd);
  const size_t at = getLineEnd(text, span.end);
  add(at, at, lines);
}

/// True if the entries can be changed one by one. Unwanted entries can be
/// removed if each has its own lines.
bool ValueEditor::canKeepMap(const SpanNode &span, const Node &node,
                             const SettingValue &wanted) const {
  if (span.entries.empty() && !span.isFlow)
    return false;
  if (wanted.kind == SettingValue::Kind::Section)
    return true;
  size_t kept = 0;
  for (const Node::Entry &entry : node.getEntries())
    kept += wanted.find(entry.key.getText()) != nullptr;
  // Merged entries cannot be removed here, and of duplicate keys one would
  // remain.
  if (node.getEntries().size() != span.entries.size() || span.find("<<"))
    return false;
  return kept == span.entries.size() ||
         (kept > 0 && span.isBlock() && startsLine(span));
}

void ValueEditor::editMap(const SpanNode &span, const Node &node,
                          const SettingValue &wanted, const Place &place) {
  const SpanEntry *last = nullptr;
  for (const SpanEntry &entry : span.entries) {
    if (wanted.kind == SettingValue::Kind::Section ||
        wanted.find(entry.key.text)) {
      last = &entry;
      continue;
    }
    replaced.insert(getPlace(node));
    removeLines(entry.key.begin, entry.value.end);
  }
  SettingValue missing;
  for (const SettingValue::Entry &entry : wanted.entries) {
    const SpanEntry *found = span.find(entry.first);
    if (!found) {
      if (!says(node[entry.first], entry.second))
        missing.entries.push_back(entry);
      continue;
    }
    std::string path = place.path.empty() ? "" : place.path + ".";
    edit(found->value, node[entry.first], entry.second,
         {path + entry.first, &span, found, span.isFlow});
  }
  if (missing.entries.empty())
    return;
  for (const SettingValue::Entry &entry : missing.entries)
    added.insert({getPlace(node), entry.first});
  if (place.path.empty() && !span.isFlow)
    addToEnd(missing, getColumn(span.entries.front().key.begin));
  else
    addEntries(span, last, missing);
}

/// Adds entries after the last one.
void ValueEditor::addEntries(const SpanNode &map, const SpanEntry *last,
                             const SettingValue &missing) {
  if (!map.isFlow) {
    const StringRef lineEnd = getLineEndAt(map.content);
    const size_t indent = getColumn(map.entries.front().key.begin);
    const size_t at = getLineEnd(text, last->value.end);
    return add(at, at,
               lineEnd.str() + printBlock(missing, indent, step, lineEnd));
  }
  const std::string entries = printFlow(missing);
  const StringRef inside = StringRef(entries).drop_front().drop_back();
  const size_t at = last ? last->value.end : map.content + 1;
  add(at, at, ((last ? ", " : "") + inside).str());
}

/// Adds sections at the end of the document.
void ValueEditor::addToEnd(const SettingValue &missing, size_t indent) {
  size_t end = text.size();
  // The mark that ends a document starts a line.
  for (size_t line = 0; line < text.size(); line = getNextLine(text, line))
    if (text.substr(line).starts_with("...") &&
        StringRef(" \t\r\n").contains(line + 3 < text.size() ? text[line + 3]
                                                             : '\n')) {
      end = line;
      break;
    }
  const StringRef lineEnd = getLineEndAt(0);
  const std::string lines = printBlock(missing, indent, step, lineEnd);
  const bool endsLine = end == 0 || text[end - 1] == '\n';
  add(end, end, endsLine ? lines + lineEnd.str() : lineEnd.str() + lines);
}

void ValueEditor::replace(const SpanNode &span, const Node &node,
                          const SettingValue &wanted, const Place &place) {
  replaced.insert(getPlace(node));
  const bool hasLines = wanted.isMapOrSection() && !wanted.entries.empty();
  const bool hasListOfMaps = wanted.kind == SettingValue::Kind::List &&
                             !wanted.elements.empty() &&
                             wanted.elements.front().isMapOrSection();
  if ((hasLines || hasListOfMaps) && place.map && !place.isInFlow)
    replaceByLines(span, wanted, place);
  else
    replaceInline(span, wanted, place);
}

/// Returns the earliest start of the value of a key: after the colon or after
/// an anchor.
static size_t getValueStart(const SpanNode &span, const SpanEntry *entry) {
  if (span.propertiesEnd > span.begin || !entry)
    return span.propertiesEnd;
  return entry->colonEnd.value_or(entry->key.end);
}

void ValueEditor::replaceInline(const SpanNode &span,
                                const SettingValue &wanted,
                                const Place &place) {
  const std::string value = printInStyle(span, wanted);
  if (span.isBlock() && startsLine(span) && place.map && !place.isInFlow) {
    const size_t start = getValueStart(span, place.entry);
    add(start, start, " " + value);
    return removeLines(span.content, span.end);
  }
  const bool hasColon = !place.entry || place.entry->colonEnd;
  const bool isApart = span.content > 0 &&
                       StringRef(" \t\r\n[{").contains(text[span.content - 1]);
  add(span.content, span.end,
      (hasColon ? isApart || span.hasText() ? "" : " " : ": ") + value);
}

void ValueEditor::replaceByLines(const SpanNode &span,
                                 const SettingValue &wanted,
                                 const Place &place) {
  const size_t indent = getColumn(place.map->entries.front().key.begin) + step;
  const StringRef lineEnd = getLineEndAt(place.entry->key.begin);
  const std::string lines = printBlock(wanted, indent, step, lineEnd);
  if (span.isBlock() && startsLine(span))
    return add(getLineStart(text, span.content), getLineEnd(text, span.end),
               lines);
  const size_t start = getValueStart(span, place.entry);
  if (span.end > start)
    add(start, span.end, "");
  const size_t at = getLineEnd(text, span.end);
  add(at, at, lineEnd.str() + lines);
}

/// Removes the whole lines from one offset to another.
void ValueEditor::removeLines(size_t begin, size_t end) {
  size_t start = getLineStart(text, begin);
  const size_t stop = getNextLine(text, end);
  // A file without a line end at its end keeps none.
  if (stop == text.size() && !text.ends_with("\n") && start > 0)
    start = getLineEnd(text, start - 1);
  add(start, stop, "");
}

std::string ValueEditor::apply() const {
  // Replacements at the same offset keep the order in which they were added.
  std::multimap<size_t, const Replacement *> sorted;
  for (const Replacement &replacement : replacements)
    sorted.emplace(replacement.begin, &replacement);
  std::string edited;
  size_t at = 0;
  for (const auto &[begin, replacement] : sorted) {
    edited += text.slice(at, std::max(at, begin));
    edited += replacement->text;
    at = std::max(at, replacement->end);
  }
  return edited + text.substr(at).str();
}

} // namespace mf
