//===- DiagnosticError.h - Diagnostics as an error -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_SUPPORT_DIAGNOSTICERROR_H
#define MF_SUPPORT_DIAGNOSTICERROR_H

#include "mf/Support/Diagnostic.h"
#include "llvm/Support/Error.h"

namespace mf {

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

#endif // MF_SUPPORT_DIAGNOSTICERROR_H
