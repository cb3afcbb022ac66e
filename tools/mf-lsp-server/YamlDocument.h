//===- YamlDocument.h - A YAML that is open in an editor --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_LSP_SERVER_YAMLDOCUMENT_H
#define MF_TOOLS_MF_LSP_SERVER_YAMLDOCUMENT_H

#include "mf/Frontend/Config/KeyHelp.h"
#include "mf/Support/Diagnostic.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LSP/Protocol.h"
#include <optional>
#include <string>
#include <vector>

namespace mf::lsp {

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
  std::string getSection(size_t dropped = 0) const;
};

/// Finds the place of byte `column` of `lines[line]`. The word may extend
/// beyond the cursor.
YamlCursor findCursor(llvm::ArrayRef<llvm::StringRef> lines, size_t line,
                      size_t column);

/// Returns the end of the word or quoted text that starts at `begin`.
size_t findWordEnd(llvm::StringRef line, size_t begin);

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

/// Reads `text` as mf-translate and mf-opt do: the sections, the model, and the
/// passes that assign layers to stages and patterns to operators.
YamlReading readYaml(llvm::StringRef text, llvm::StringRef fileName,
                     mlir::MLIRContext &context);

/// Answers an editor's requests about one text. Positions are those of the
/// protocol: lines and UTF-16 units, counted from 0.
class YamlDocument {
public:
  void setText(std::string newText, llvm::StringRef fileName,
               mlir::MLIRContext &context);

  std::vector<llvm::lsp::Diagnostic>
  getDiagnostics(const llvm::lsp::URIForFile &uri) const;
  std::optional<llvm::lsp::Hover>
  getHover(const llvm::lsp::Position &position) const;
  llvm::lsp::CompletionList
  getCompletions(const llvm::lsp::Position &position) const;
  /// Returns the names that messages in `range` propose, as edits.
  std::vector<llvm::lsp::CodeAction>
  getFixes(const llvm::lsp::URIForFile &uri,
           const llvm::lsp::Range &range) const;

private:
  YamlCursor findCursorAt(const llvm::lsp::Position &position) const;
  std::vector<KeyHelp> getKeys(llvm::StringRef section) const;
  std::optional<KeyHelp> findKey(llvm::StringRef section,
                                 llvm::StringRef key) const;
  /// True if the value at the cursor is a pattern of operators.
  bool takesPattern(const YamlCursor &cursor) const;
  /// Returns names of Cells in the form that the key at the cursor expects.
  std::vector<std::string> getPatterns(const YamlCursor &cursor) const;
  llvm::StringRef getLine(size_t line) const;
  llvm::lsp::Position getPosition(size_t line, size_t byte) const;
  llvm::lsp::Range getRange(size_t line, size_t begin, size_t end) const;
  /// Returns the range of the word to which a message refers.
  llvm::lsp::Range getRange(const Location &location) const;

  std::string text;
  std::vector<llvm::StringRef> lines;
  YamlReading reading;
};

} // namespace mf::lsp

#endif // MF_TOOLS_MF_LSP_SERVER_YAMLDOCUMENT_H
