//===- IndependentMessages.h - Messages that no error causes ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_CONFIG_INDEPENDENTMESSAGES_H
#define MF_FRONTEND_CONFIG_INDEPENDENTMESSAGES_H

#include "mf/Frontend/Config/Node.h"

namespace mf {

/// Returns those messages of a later reader that cannot follow from the known
/// errors. In a section with an error, the later reader found a default in
/// place of the wrong value, so its messages about that section are left out.
/// `root` is the document.
DiagnosticList findIndependent(llvm::ArrayRef<Diagnostic> later,
                               const DiagnosticList &known, const Node &root);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_INDEPENDENTMESSAGES_H
