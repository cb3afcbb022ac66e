//===- YamlServer.cpp - Language server for training YAMLs ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/KeyHelp.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "mf/Frontend/Import/CellNames.h"
#include "mf/Frontend/Import/ModelBuilder.h"
#include "mf/Frontend/Import/ModelReader.h"
#include "mf/Layers/CellTree.h"
#include "mf/Support/Diagnostic.h"
#include "mf/Support/NearestName.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "passes/pipeline/Pipeline.h"
#include "tools/mf-lsp-server/Servers.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LSP/Protocol.h"
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace llvm;
// The alias distinguishes llvm::lsp from mf::lsp.
namespace protocol = llvm::lsp;

namespace mf::lsp {

namespace {

struct YamlCursor {
  /// The keys of the maps that contain the cursor, the outermost first.
  std::vector<std::string> path;
  /// The other keys of the innermost of these maps.
  std::vector<std::string> neighbours;
  /// The key whose value contains the cursor; empty if the cursor is where a
  /// key is expected.
  std::string key;
  /// The byte range in the line of the word at the cursor, without quotes.
  size_t begin = 0, end = 0;
  /// True if there is a quote before the word.
  bool isQuoted = false;
  bool isComment = false;

  /// Returns the path, with a dot between two keys, without the last `dropped`
  /// keys.
  std::string getSection(size_t dropped = 0) const {
    const size_t size = path.size() - std::min(dropped, path.size());
    return llvm::join(path.begin(), path.begin() + size, ".");
  }
};

/// The messages about a text and the facts that its reading found.
struct YamlReading {
  /// Errors and warnings without duplicates.
  std::vector<Diagnostic> messages;
  /// True if the YAML has the format of the dynamic graph; none if the text is
  /// not valid YAML.
  std::optional<bool> isDynamic;
  /// Names of the operators and Cells of the model's layers as the Cell tree
  /// has them; empty if the text describes no model.
  std::vector<std::string> cells;
  /// The keys that the model's class reads; empty if the text names no class.
  std::vector<KeyHelp> modelKeys;
};

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

/// Finds the place of byte `column` of `lines[line]`. The word may extend
/// beyond the cursor.
static YamlCursor findCursor(llvm::ArrayRef<StringRef> lines, size_t line,
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

/// Returns the end of the word or quoted text that starts at `begin`.
static size_t findWordEnd(StringRef line, size_t begin) {
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

namespace {

/// Keeps each message once, as the readers of different tools repeat some.
class MessageCollector {
public:
  explicit MessageCollector(std::vector<Diagnostic> &messages)
      : messages(messages) {}

  void add(const Diagnostic &message) {
    const Location &at = message.location;
    if (seen.insert({at.line, at.column, message.message}).second)
      messages.push_back(message);
  }
  void add(llvm::ArrayRef<Diagnostic> list) {
    for (const Diagnostic &message : list)
      add(message);
  }

private:
  std::vector<Diagnostic> &messages;
  std::set<std::tuple<unsigned, unsigned, std::string>> seen;
};

} // namespace

/// Returns the place in the YAML to which a pass refers; unknown if it refers
/// to the program.
static Location findPlace(mlir::Location location) {
  auto place = location->findInstanceOf<mlir::FileLineColLoc>();
  if (!place)
    return {};
  return {place.getFilename().str(), place.getLine(), place.getColumn()};
}

static void addMessage(mlir::Diagnostic &message,
                       std::vector<Diagnostic> &list) {
  if (message.getSeverity() == mlir::DiagnosticSeverity::Remark)
    return;
  Diagnostic result;
  result.severity = message.getSeverity() == mlir::DiagnosticSeverity::Error
                        ? Severity::Error
                        : Severity::Warning;
  result.message = message.str();
  result.location = findPlace(message.getLocation());
  for (mlir::Diagnostic &note : message.getNotes())
    result.attachNote(note.str(), findPlace(note.getLocation()));
  list.push_back(std::move(result));
}

static std::vector<std::string> getCells(const ModelSpec &spec) {
  std::vector<std::string> cells;
  std::set<std::string> seen;
  for (bool hasExperts : {false, true}) {
    bool isUsed = false;
    for (int64_t layer = 0; layer < spec.numLayers; ++layer)
      isUsed |= spec.hasExperts(layer) == hasExperts;
    if (!isUsed)
      continue;
    const CellTree tree =
        CellTree::fromOperators(getCellNames(spec, hasExperts));
    for (const CellTree::Entry &entry : tree.getEntries().drop_front())
      if (seen.insert(entry.path).second)
        cells.push_back(entry.path);
  }
  return cells;
}

/// Runs the passes that read the YAML, the last of which marks operators.
static void runReadingPasses(mlir::ModuleOp module, llvm::StringRef text,
                             llvm::StringRef fileName) {
  passes::TrainingStepOptions options;
  options.config = fileName.str();
  options.configText = text.str();
  mlir::PassManager manager(module.getContext());
  passes::buildMarkingPipeline(manager, options);
  // A failing pass has reported its errors.
  (void)manager.run(module);
}

/// True if the YAML describes the model. mf-opt also accepts a YAML with only
/// the settings to change.
static bool namesModel(const TrainingConfig &config) {
  const Node &model = config.model.node;
  return !config.model.arch.empty() ||
         keys::architectures.find(config.model.config) ||
         keys::architectures.find(model) || keys::modelType.find(model);
}

/// Reads `text` as mf-translate and mf-opt do: the sections, the model, and the
/// passes that assign layers to stages and patterns to operators.
static YamlReading readYaml(llvm::StringRef text, llvm::StringRef fileName,
                            mlir::MLIRContext &context) {
  // Building larger models takes too long to do it at every key press.
  constexpr int64_t mostLayers = 256;
  YamlReading reading;
  MessageCollector collector(reading.messages);
  DiagnosticList diagnostics;
  const Node root = parseYaml(text, fileName, diagnostics);
  const TrainingConfig config = readTrainingConfig(root, diagnostics);
  collector.add(diagnostics.getAll());
  if (!root)
    return reading;
  reading.isDynamic = hasDynamicSections(root);
  if (!namesModel(config))
    return reading;
  DiagnosticList modelMessages;
  const std::optional<ModelSpec> spec =
      readModelSpec(config, {}, modelMessages, &reading.modelKeys);
  collector.add(
      findIndependent(modelMessages.getAll(), diagnostics, root).getAll());
  if (spec)
    reading.cells = getCells(*spec);
  const bool hasModel =
      spec && !diagnostics.hasErrors() && spec->numLayers <= mostLayers;
  std::vector<Diagnostic> ofPasses;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &message) {
        // Warnings about what a model lacks are about a model.
        if (hasModel ||
            message.getSeverity() == mlir::DiagnosticSeverity::Error)
          addMessage(message, ofPasses);
      });
  // Without a model the first pass still finds errors in other sections.
  const mlir::OwningOpRef<mlir::ModuleOp> module =
      hasModel ? buildModel(&context, *spec)
               : mlir::OwningOpRef<mlir::ModuleOp>(
                     mlir::ModuleOp::create(mlir::UnknownLoc::get(&context)));
  if (module)
    runReadingPasses(*module, text, fileName);
  collector.add(findIndependent(ofPasses, modelMessages, root).getAll());
  return reading;
}

/// Returns the number of UTF-16 units of the UTF-8 sequence that starts with
/// this byte; 0 for a byte inside a sequence.
static unsigned countUnits(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte >= 0xf0)
    return 2;
  return (byte & 0xc0) == 0x80 ? 0 : 1;
}

static protocol::DiagnosticSeverity toProtocol(Severity severity) {
  return severity == Severity::Error ? protocol::DiagnosticSeverity::Error
                                     : protocol::DiagnosticSeverity::Warning;
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

/// Answers an editor's requests about one text. Positions are those of the
/// protocol: lines and UTF-16 units, counted from 0.
class YamlDocument {
public:
  void setText(std::string newText, StringRef fileName,
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

  std::vector<llvm::lsp::Diagnostic>
  getDiagnostics(const protocol::URIForFile &uri) const {
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

  std::optional<llvm::lsp::Hover>
  getHover(const protocol::Position &position) const {
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

  llvm::lsp::CompletionList
  getCompletions(const protocol::Position &position) const {
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

  /// Returns the names that messages in `range` propose, as edits.
  std::vector<llvm::lsp::CodeAction>
  getFixes(const protocol::URIForFile &uri,
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

private:
  YamlCursor findCursorAt(const protocol::Position &position) const {
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

  std::vector<KeyHelp> getKeys(StringRef section) const {
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

  std::optional<KeyHelp> findKey(StringRef section, StringRef key) const {
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

  /// True if the value at the cursor is a pattern of operators.
  bool takesPattern(const YamlCursor &cursor) const {
    if (cursor.key == "op_name")
      return !cursor.path.empty() && cursor.path.back() == "op_swap";
    std::optional<KeyHelp> key;
    if (!cursor.key.empty())
      key = findKey(cursor.getSection(), cursor.key);
    else if (!cursor.path.empty())
      key = findKey(cursor.getSection(1), cursor.path.back());
    return key && key->takesPatterns;
  }

  /// Returns names of Cells in the form that the key at the cursor expects.
  std::vector<std::string> getPatterns(const YamlCursor &cursor) const {
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

  llvm::StringRef getLine(size_t line) const {
    return line < lines.size() ? lines[line] : StringRef();
  }
  llvm::lsp::Position getPosition(size_t line, size_t byte) const {
    unsigned units = 0;
    for (char c : getLine(line).take_front(byte))
      units += countUnits(c);
    return {static_cast<int>(line), static_cast<int>(units)};
  }
  llvm::lsp::Range getRange(size_t line, size_t begin, size_t end) const {
    return {getPosition(line, begin), getPosition(line, end)};
  }
  /// Returns the range of the word to which a message refers.
  llvm::lsp::Range getRange(const Location &location) const {
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

  std::string text;
  std::vector<llvm::StringRef> lines;
  YamlReading reading;
};

namespace {

class YamlServer {
public:
  YamlServer(protocol::JSONTransport &transport, mlir::MLIRContext &context)
      : transport(transport), context(context), handler(transport),
        publish(
            handler.outgoingNotification<protocol::PublishDiagnosticsParams>(
                "textDocument/publishDiagnostics")) {}

  bool run() {
    handler.method("initialize", this, &YamlServer::initialize);
    handler.method("shutdown", this, &YamlServer::shutDown);
    handler.notification("textDocument/didOpen", this, &YamlServer::open);
    handler.notification("textDocument/didChange", this, &YamlServer::change);
    handler.notification("textDocument/didClose", this, &YamlServer::close);
    handler.method("textDocument/hover", this, &YamlServer::hover);
    handler.method("textDocument/completion", this, &YamlServer::complete);
    handler.method("textDocument/codeAction", this, &YamlServer::proposeFixes);
    if (llvm::Error error = transport.run(handler)) {
      protocol::Logger::error("{0}", llvm::toString(std::move(error)));
      return false;
    }
    return wasShutDown;
  }

private:
  template <typename Result> using Reply = protocol::Callback<Result>;

  void initialize(const protocol::InitializeParams &,
                  Reply<llvm::json::Value> reply) {
    const auto wholeTexts =
        static_cast<int>(protocol::TextDocumentSyncKind::Full);
    reply(llvm::json::Object{
        {"capabilities",
         llvm::json::Object{
             {"textDocumentSync",
              llvm::json::Object{{"openClose", true}, {"change", wholeTexts}}},
             {"hoverProvider", true},
             {"completionProvider",
              llvm::json::Object{{"triggerCharacters", {" ", "'", "\\", "."}}}},
             {"codeActionProvider",
              llvm::json::Object{
                  {"codeActionKinds",
                   llvm::json::Array{protocol::CodeAction::kQuickFix}}}},
         }},
        {"serverInfo", llvm::json::Object{{"name", "mf-lsp-server"}}}});
  }

  void shutDown(const protocol::NoParams &, Reply<std::nullptr_t> reply) {
    wasShutDown = true;
    reply(nullptr);
  }
  void open(const protocol::DidOpenTextDocumentParams &params) {
    update(params.textDocument.uri, params.textDocument.text,
           params.textDocument.version);
  }
  void change(const protocol::DidChangeTextDocumentParams &params) {
    // Each change contains the whole text, as the server requests.
    if (!params.contentChanges.empty() && !params.contentChanges.back().range)
      update(params.textDocument.uri, params.contentChanges.back().text,
             params.textDocument.version);
  }
  void close(const protocol::DidCloseTextDocumentParams &params) {
    documents.erase(params.textDocument.uri.uri().str());
    publish(protocol::PublishDiagnosticsParams(params.textDocument.uri, 0));
  }
  void hover(const protocol::TextDocumentPositionParams &params,
             Reply<std::optional<protocol::Hover>> reply) {
    const YamlDocument *document = find(params.textDocument);
    reply(document ? document->getHover(params.position) : std::nullopt);
  }
  void complete(const protocol::CompletionParams &params,
                Reply<protocol::CompletionList> reply) {
    const YamlDocument *document = find(params.textDocument);
    reply(document ? document->getCompletions(params.position)
                   : protocol::CompletionList());
  }

  void proposeFixes(const protocol::CodeActionParams &params,
                    Reply<llvm::json::Value> reply) {
    llvm::json::Array fixes;
    if (const YamlDocument *document = find(params.textDocument))
      for (const protocol::CodeAction &fix :
           document->getFixes(params.textDocument.uri, params.range))
        fixes.push_back(fix);
    reply(std::move(fixes));
  }

  void update(const protocol::URIForFile &uri, std::string text,
              int64_t version) {
    YamlDocument &document = documents[uri.uri().str()];
    document.setText(std::move(text), uri.file(), context);
    protocol::PublishDiagnosticsParams params(uri, version);
    params.diagnostics = document.getDiagnostics(uri);
    publish(params);
  }

  /// Returns null if the document is not open.
  const YamlDocument *find(const protocol::TextDocumentIdentifier &id) const {
    auto found = documents.find(id.uri.uri().str());
    return found == documents.end() ? nullptr : &found->second;
  }

  protocol::JSONTransport &transport;
  mlir::MLIRContext &context;
  protocol::MessageHandler handler;
  protocol::OutgoingNotification<protocol::PublishDiagnosticsParams> publish;
  std::map<std::string, YamlDocument> documents;
  bool wasShutDown = false;
};

} // namespace

bool runYamlServer(protocol::JSONTransport &transport,
                   mlir::MLIRContext &context) {
  return YamlServer(transport, context).run();
}

} // namespace mf::lsp
