//===- DiagnosticError.cpp - Diagnostics as an error ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/DiagnosticError.h"
#include "llvm/Support/WithColor.h"
#include <utility>

namespace mf {

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
