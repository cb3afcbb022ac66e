//===- ConfigReader.h - Reads training YAMLs --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reads an unmodified MindSpore Transformers training YAML, or one with only
// some of its sections. Unknown keys are errors in sections that check their
// keys. Keys that would change the training step but are not modelled are
// warnings. Keys that cannot affect a step are ignored.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_CONFIG_CONFIGREADER_H
#define MF_FRONTEND_CONFIG_CONFIGREADER_H

#include "mf/Frontend/Config/TrainingConfig.h"

namespace mf {

/// Reads a whole YAML text. Always returns a config, which may only be used if
/// `diagnostics` has no errors.
TrainingConfig parseTrainingConfig(llvm::StringRef text,
                                   llvm::StringRef fileName,
                                   DiagnosticList &diagnostics);

/// Reads a file; `-` is standard input.
TrainingConfig parseTrainingConfigFile(llvm::StringRef path,
                                       DiagnosticList &diagnostics);

/// Reads a document that is already a tree.
TrainingConfig readTrainingConfig(const Node &root,
                                  DiagnosticList &diagnostics);

/// Returns those messages of a later reader that cannot follow from the known
/// errors. In a section with an error, the later reader found a default in
/// place of the wrong value, so its messages about that section are left out.
/// `root` is the document.
DiagnosticList findIndependent(llvm::ArrayRef<Diagnostic> later,
                               const DiagnosticList &known, const Node &root);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_CONFIGREADER_H
