//===- YamlDocument.cpp - A YAML that is open in an editor ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/mf-lsp-server/YamlDocument.h"
#include "mf/Frontend/Import/ModelSpec.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
// The alias distinguishes llvm::lsp from mf::lsp.
namespace protocol = llvm::lsp;

namespace mf::lsp {

void YamlDocument::setText(std::string newText, StringRef fileName,
                           mlir::MLIRContext &context) {
  text = std::move(newText);
  lines.clear();
  for (StringRef line : split(StringRef(text), '\n'))
    lines.push_back(line.rtrim('\r'));
  YamlReading latest = readYaml(text, fileName, context);
  // While a text is not valid YAML, the results of the last valid state are
  // kept.
  if (!latest.isDynamic)
    latest.isDynamic = reading.isDynamic;
  if (latest.cells.empty())
    latest.cells = std::move(reading.cells);
  if (latest.modelKeys.empty())
    latest.modelKeys = std::move(reading.modelKeys);
  reading = std::move(latest);
}

StringRef YamlDocument::getLine(size_t line) const {
  return line < lines.size() ? lines[line] : StringRef();
}

/// Returns the number of UTF-16 units of the UTF-8 sequence that starts with
/// this byte; 0 for a byte inside a sequence.
static unsigned countUnits(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte >= 0xf0)
    return 2;
  return (byte & 0xc0) == 0x80 ? 0 : 1;
}

protocol::Position YamlDocument::getPosition(size_t line, size_t byte) const {
  unsigned units = 0;
  for (char c : getLine(line).take_front(byte))
    units += countUnits(c);
  return {static_cast<int>(line), static_cast<int>(units)};
}

protocol::Range YamlDocument::getRange(size_t line, size_t begin,
                                       size_t end) const {
  return {getPosition(line, begin), getPosition(line, end)};
}

protocol::Range YamlDocument::getRange(const Location &location) const {
  if (!location.isKnown() || location.line > lines.size())
    return getRange(0, 0, 0);
  const size_t line = location.line - 1;
  const StringRef content = getLine(line);
  size_t begin = std::max(location.column, 1U) - 1;
  // An error at the end of a line would have no character to underline.
  if (begin >= content.size())
    begin = content.size() - content.ltrim().size();
  return getRange(line, begin, findWordEnd(content, begin));
}

YamlCursor
YamlDocument::findCursorAt(const protocol::Position &position) const {
  if (position.line < 0 || position.character < 0)
    return {};
  const auto line = static_cast<size_t>(position.line);
  const StringRef content = getLine(line);
  size_t byte = 0;
  for (int units = 0; byte < content.size(); ++byte) {
    units += static_cast<int>(countUnits(content[byte]));
    if (units > position.character)
      break;
  }
  return findCursor(lines, line, byte);
}

std::vector<KeyHelp> YamlDocument::getKeys(StringRef section) const {
  const bool isDynamic = reading.isDynamic.value_or(false);
  std::vector<KeyHelp> keys =
      isDynamic ? describeDynamicKeys(section) : describeStaticKeys(section);
  if (section != (isDynamic ? "model" : "model.model_config"))
    return keys;
  const size_t size = keys.size();
  std::vector<KeyHelp> ofModel = reading.modelKeys;
  if (ofModel.empty())
    ofModel = describeModelKeys();
  for (KeyHelp &key : ofModel)
    if (none_of(ArrayRef(keys).take_front(size),
                [&](const KeyHelp &known) { return known.name == key.name; }))
      keys.push_back(std::move(key));
  return keys;
}

std::optional<KeyHelp> YamlDocument::findKey(StringRef section,
                                             StringRef key) const {
  for (KeyHelp &help : getKeys(section)) {
    if (help.name == key)
      return std::move(help);
    // The name in the text comes first.
    const auto other = llvm::find(help.otherNames, key);
    if (other == help.otherNames.end())
      continue;
    std::swap(help.name, *other);
    return std::move(help);
  }
  return std::nullopt;
}

static protocol::DiagnosticSeverity toProtocol(Severity severity) {
  return severity == Severity::Error ? protocol::DiagnosticSeverity::Error
                                     : protocol::DiagnosticSeverity::Warning;
}

std::vector<protocol::Diagnostic>
YamlDocument::getDiagnostics(const protocol::URIForFile &uri) const {
  std::vector<protocol::Diagnostic> diagnostics;
  for (const Diagnostic &message : reading.messages) {
    protocol::Diagnostic &diagnostic = diagnostics.emplace_back();
    diagnostic.range = getRange(message.location);
    diagnostic.severity = toProtocol(message.severity);
    diagnostic.source = "mf";
    // Messages quote parts of the text, which may be cut inside a character.
    diagnostic.message = json::fixUTF8(message.message);
    for (const Diagnostic::Note &note : message.notes) {
      if (!diagnostic.relatedInformation)
        diagnostic.relatedInformation.emplace();
      diagnostic.relatedInformation->emplace_back(
          protocol::Location(uri, getRange(note.location)),
          json::fixUTF8(note.message));
    }
  }
  return diagnostics;
}

static std::string describe(const KeyHelp &key, StringRef section) {
  std::string words = "**" + key.name + "**";
  if (!section.empty())
    words += " in `" + section.str() + "`";
  if (key.isSection)
    words += "\n\nA section.";
  if (!key.meaning.empty())
    words += "\n\n" + key.meaning;
  if (!key.otherNames.empty())
    words += "\n\nOther names: " + join(key.otherNames, ", ");
  if (!key.takes.empty())
    words += "\n\nTakes: " + key.takes;
  if (!key.missing.empty())
    words += "\n\nDefault: " + key.missing;
  if (!key.effect.empty())
    words += "\n\nEffect: " + key.effect;
  return words;
}

std::optional<protocol::Hover>
YamlDocument::getHover(const protocol::Position &position) const {
  const YamlCursor cursor = findCursorAt(position);
  const StringRef line = getLine(position.line);
  const StringRef word = line.slice(cursor.begin, cursor.end);
  if (cursor.isComment || word.empty())
    return std::nullopt;
  const std::string section = cursor.getSection();
  const std::optional<KeyHelp> key =
      findKey(section, cursor.key.empty() ? word : StringRef(cursor.key));
  if (!key)
    return std::nullopt;
  protocol::Hover hover(getRange(position.line, cursor.begin, cursor.end));
  hover.contents.value = json::fixUTF8(describe(*key, section));
  return hover;
}

bool YamlDocument::takesPattern(const YamlCursor &cursor) const {
  if (cursor.key == "op_name")
    return !cursor.path.empty() && cursor.path.back() == "op_swap";
  std::optional<KeyHelp> key;
  if (!cursor.key.empty())
    key = findKey(cursor.getSection(), cursor.key);
  else if (!cursor.path.empty())
    key = findKey(cursor.getSection(1), cursor.path.back());
  return key && key->takesPatterns;
}

std::vector<std::string>
YamlDocument::getPatterns(const YamlCursor &cursor) const {
  std::vector<std::string> patterns;
  const bool isDynamic = reading.isDynamic.value_or(false);
  for (const std::string &path : reading.cells) {
    if (isDynamic)
      patterns.push_back((cursor.key == "op_name" ? "" : "layers.*.") + path);
    else
      patterns.push_back(join(split(StringRef(path), '.'), "\\."));
  }
  return patterns;
}

protocol::CompletionList
YamlDocument::getCompletions(const protocol::Position &position) const {
  protocol::CompletionList list;
  const YamlCursor cursor = findCursorAt(position);
  if (cursor.isComment)
    return list;
  const protocol::Range range =
      getRange(position.line, cursor.begin, cursor.end);
  auto offer = [&](const std::string &name, StringRef inserted,
                   protocol::CompletionItemKind kind) -> auto & {
    protocol::CompletionItem &item = list.items.emplace_back(name, kind);
    item.filterText = name;
    item.textEdit = protocol::TextEdit{range, inserted.str()};
    return item;
  };
  if (takesPattern(cursor))
    for (const std::string &pattern : getPatterns(cursor))
      offer(pattern, cursor.isQuoted ? pattern : "'" + pattern + "'",
            protocol::CompletionItemKind::Operator);
  const std::string section = cursor.getSection();
  if (!cursor.key.empty()) {
    if (const auto key = findKey(section, cursor.key))
      for (const std::string &value : key->values)
        offer(value, value, protocol::CompletionItemKind::Value);
    return list;
  }
  const bool hasColon =
      getLine(position.line).substr(cursor.end).starts_with(":");
  for (const KeyHelp &key : getKeys(section)) {
    std::vector<std::string> names = {key.name};
    append_range(names, key.otherNames);
    // A key is written once, by whichever name.
    if (any_of(names, [&](const std::string &name) {
          return is_contained(cursor.neighbours, name);
        }))
      continue;
    for (const std::string &name : names) {
      protocol::CompletionItem &item =
          offer(name, hasColon ? name : name + ": ",
                key.isSection ? protocol::CompletionItemKind::Module
                              : protocol::CompletionItemKind::Property);
      item.detail = key.takes;
      item.documentation = protocol::MarkupContent{
          protocol::MarkupKind::Markdown, describe(key, section)};
    }
  }
  return list;
}

/// Returns the names that a message proposes instead of `wrong`, which it
/// quotes.
static std::vector<std::string> findProposals(StringRef message,
                                              StringRef wrong) {
  std::vector<std::string> proposals;
  if (wrong.empty() || !message.contains(("'" + wrong + "'").str()))
    return proposals;
  const StringRef meant = "did you mean '";
  for (size_t at = message.find(meant); at != StringRef::npos;
       at = message.find(meant, at + 1)) {
    const StringRef name =
        message.substr(at + meant.size()).take_until([](char c) {
          return c == '\'';
        });
    // A message about several names proposes one for each.
    if (!findNearestName(wrong, {name}).empty())
      proposals.push_back(name.str());
  }
  if (auto [head, names] = message.split("; nearest: "); !names.empty())
    for (StringRef name : split(names, ", "))
      if (name.size() > 2 && name.consume_front("'") && name.contains('\''))
        proposals.push_back(name.take_front(name.find('\'')).str());
  return proposals;
}

std::vector<protocol::CodeAction>
YamlDocument::getFixes(const protocol::URIForFile &uri,
                       const protocol::Range &range) const {
  std::vector<protocol::CodeAction> fixes;
  for (const Diagnostic &message : reading.messages) {
    const protocol::Range whole = getRange(message.location);
    if (!message.location.isKnown() || range.end < whole.start ||
        whole.end < range.start)
      continue;
    const size_t line = message.location.line - 1;
    const StringRef content = getLine(line);
    size_t begin = std::max(message.location.column, 1U) - 1;
    size_t end = findWordEnd(content, begin);
    if (begin < content.size() && end - begin >= 2 &&
        (content[begin] == '\'' || content[begin] == '"')) {
      ++begin;
      --end;
    }
    const std::vector<std::string> names =
        findProposals(message.message, content.slice(begin, end));
    for (const std::string &name : names) {
      protocol::CodeAction &fix = fixes.emplace_back();
      fix.title = "change to '" + name + "'";
      fix.kind = protocol::CodeAction::kQuickFix.str();
      fix.isPreferred = names.size() == 1;
      fix.edit.emplace();
      fix.edit->changes[uri.uri().str()].push_back(
          {getRange(line, begin, end), name});
    }
  }
  return fixes;
}

} // namespace mf::lsp
