//===- Diagnostic.cpp - Errors and warnings with their place --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/Diagnostic.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <utility>

namespace mf {

std::string Location::str() const {
  if (!isKnown())
    return file;
  return (llvm::Twine(file) + ":" + llvm::Twine(line) + ":" +
          llvm::Twine(column))
      .str();
}

static llvm::StringRef getName(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Note:
    return "note";
  }
  llvm_unreachable("unknown severity");
}

static void printLine(llvm::raw_ostream &stream, const Location &location,
                      Severity severity, llvm::StringRef message) {
  std::string place = location.str();
  if (!place.empty())
    stream << place << ": ";
  stream << getName(severity) << ": " << message << '\n';
}

Diagnostic &Diagnostic::attachNote(const llvm::Twine &text, Location at) {
  notes.push_back({text.str(), std::move(at)});
  return *this;
}

void Diagnostic::print(llvm::raw_ostream &stream) const {
  printLine(stream, location, severity, message);
  for (const Note &note : notes)
    printLine(stream, note.location, Severity::Note, note.message);
}

std::string Diagnostic::str() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  print(stream);
  return text;
}

Diagnostic &DiagnosticList::add(Severity severity, Location at,
                                const llvm::Twine &text) {
  list.push_back({severity, text.str(), std::move(at), {}});
  return list.back();
}

Diagnostic &DiagnosticList::error(Location at, const llvm::Twine &text) {
  ++errorCount;
  return add(Severity::Error, std::move(at), text);
}

Diagnostic &DiagnosticList::warning(Location at, const llvm::Twine &text) {
  return add(Severity::Warning, std::move(at), text);
}

void DiagnosticList::append(const DiagnosticList &other) {
  list.insert(list.end(), other.list.begin(), other.list.end());
  errorCount += other.errorCount;
}

void DiagnosticList::print(llvm::raw_ostream &stream) const {
  for (const Diagnostic &diagnostic : list)
    diagnostic.print(stream);
}

std::string DiagnosticList::str() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  print(stream);
  return text;
}

std::string escapeControls(llvm::StringRef text) {
  std::string result;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      result += "\\x" + llvm::utohexstr(byte, /*LowerCase=*/true, 2);
    else
      result += c;
  }
  return result;
}

std::string quote(llvm::StringRef text) {
  constexpr size_t longest = 80;
  return "'" + escapeControls(text.take_front(longest)) +
         (text.size() > longest ? "...'" : "'");
}

char DiagnosticError::ID = 0;

void DiagnosticError::log(llvm::raw_ostream &stream) const {
  bool isFirst = true;
  for (const Diagnostic &diagnostic : list.getAll()) {
    if (diagnostic.severity != Severity::Error)
      continue;
    if (!std::exchange(isFirst, false))
      stream << '\n';
    const std::string place = diagnostic.location.str();
    if (!place.empty())
      stream << place << ": ";
    stream << diagnostic.message;
  }
}

std::error_code DiagnosticError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

llvm::Error toError(DiagnosticList list) {
  return llvm::make_error<DiagnosticError>(std::move(list));
}

void printError(llvm::Error error, llvm::raw_ostream &stream) {
  llvm::handleAllErrors(
      std::move(error),
      [&](const DiagnosticError &located) {
        for (const Diagnostic &diagnostic : located.getList().getAll())
          if (diagnostic.severity == Severity::Error)
            diagnostic.print(stream);
      },
      [&](const llvm::ErrorInfoBase &other) {
        llvm::WithColor::error(stream) << other.message() << '\n';
      });
}

} // namespace mf
