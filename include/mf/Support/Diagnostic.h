//===- Diagnostic.h - Errors and warnings with their place ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A message of the readers of user input: its text, its place, and notes at
// other places. It is printed as by compilers, `file:line:column: error: text`.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SUPPORT_DIAGNOSTIC_H
#define MF_SUPPORT_DIAGNOSTIC_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace mf {

/// A place in a text. `line` and `column` count from 1; 0 means unknown.
struct Location {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;

  bool isKnown() const { return line != 0; }
  /// Returns `file:line:column`, `file` if the line is unknown, or an empty
  /// string.
  std::string str() const;
  bool operator==(const Location &other) const {
    return file == other.file && line == other.line && column == other.column;
  }
};

enum class Severity : uint8_t { Error, Warning, Note };

/// A message. It is lower case without a full stop, and states what is wrong,
/// what was expected and how to mend it.
struct Diagnostic {
  struct Note {
    std::string message;
    Location location;
  };

  Severity severity = Severity::Error;
  std::string message;
  Location location;
  std::vector<Note> notes;

  /// Adds a note about another place, or about none.
  Diagnostic &attachNote(const llvm::Twine &text, Location at = {});
  void print(llvm::raw_ostream &stream) const;
  std::string str() const;
};

/// The messages of one run in the order in which they were found.
class DiagnosticList {
public:
  Diagnostic &error(Location at, const llvm::Twine &text);
  Diagnostic &warning(Location at, const llvm::Twine &text);
  void append(const DiagnosticList &other);

  bool hasErrors() const { return errorCount != 0; }
  size_t getErrorCount() const { return errorCount; }
  llvm::ArrayRef<Diagnostic> getAll() const { return list; }
  bool empty() const { return list.empty(); }

  /// Prints every message on its own line, with its notes below it.
  void print(llvm::raw_ostream &stream) const;
  std::string str() const;

private:
  Diagnostic &add(Severity severity, Location at, const llvm::Twine &text);

  std::vector<Diagnostic> list;
  size_t errorCount = 0;
};

/// Returns `text` with control characters escaped, so that it stays on its
/// line.
std::string escapeControls(llvm::StringRef text);

/// Returns `text` in single quotes for a message. Control characters are
/// escaped, and long text is cut at 80 bytes.
std::string quote(llvm::StringRef text);

/// The errors of a list, for functions that return an llvm::Error. Its message
/// has each error with its place on a line of its own, without notes.
class DiagnosticError : public llvm::ErrorInfo<DiagnosticError> {
public:
  static char ID; // NOLINT(readability-identifier-naming): LLVM wants it

  explicit DiagnosticError(DiagnosticList list) : list(std::move(list)) {}

  const DiagnosticList &getList() const { return list; }
  void log(llvm::raw_ostream &stream) const override;
  std::error_code convertToErrorCode() const override;

private:
  DiagnosticList list;
};

/// Returns the errors of `list`, which has at least one.
llvm::Error toError(DiagnosticList list);

/// Prints an error for users: as compilers do, `file:line:column: error: text`,
/// if it has places, and after `error: ` otherwise.
void printError(llvm::Error error, llvm::raw_ostream &stream);

} // namespace mf

#endif // MF_SUPPORT_DIAGNOSTIC_H
