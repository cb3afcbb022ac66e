//===- ConfigReader.h - Reads training YAMLs --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

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

} // namespace mf

#endif // MF_FRONTEND_CONFIG_CONFIGREADER_H
