//===- Errors.cpp - Diagnostics as errors ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/Errors.h"

using namespace mf;

llvm::Error planner::toError(const DiagnosticList &diagnostics) {
  std::string text;
  for (const Diagnostic &diagnostic : diagnostics.getAll()) {
    if (diagnostic.severity != Severity::Error)
      continue;
    if (!text.empty())
      text += '\n';
    if (diagnostic.location.isKnown())
      text += diagnostic.location.str() + ": ";
    text += diagnostic.message;
  }
  return llvm::createStringError(text);
}
