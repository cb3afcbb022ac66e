//===- Errors.h - Diagnostics as errors ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SETTINGS_ERRORS_H
#define MF_LIB_PLAN_SETTINGS_ERRORS_H

#include "mf/Frontend/Config/Diagnostic.h"
#include "llvm/Support/Error.h"

namespace mf::planner {

/// Returns one error with all errors of a list, each with its place on a line
/// of its own.
llvm::Error toError(const DiagnosticList &diagnostics);

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_ERRORS_H
