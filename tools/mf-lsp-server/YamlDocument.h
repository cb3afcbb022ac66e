//===- YamlDocument.h - A YAML that is open in an editor --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_LSP_SERVER_YAMLDOCUMENT_H
#define MF_TOOLS_MF_LSP_SERVER_YAMLDOCUMENT_H

#include "mf/Frontend/Config/KeyHelp.h"
#include "tools/mf-lsp-server/YamlCursor.h"
#include "tools/mf-lsp-server/YamlReading.h"
#include "llvm/Support/LSP/Protocol.h"

namespace mf::lsp {

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
