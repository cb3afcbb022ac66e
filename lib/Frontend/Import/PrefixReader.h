//===- PrefixReader.h - Reads pet_config of trained prefixes ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_IMPORT_PREFIXREADER_H
#define MF_LIB_FRONTEND_IMPORT_PREFIXREADER_H

#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

/// The class that ChatGLM2WithPtuning2 is trained as.
inline constexpr llvm::StringLiteral prefixClass = "ChatGLM2WithPtuning2";

/// True if `section`, model_config.pet_config, requests a trained prefix. The
/// class ChatGLM2WithPtuning2 always has one.
bool asksForPrefix(const Node &section, const Node &architecture);

/// Reads the prefix if `asksForPrefix` is true. Returns none after an error.
std::optional<PrefixSpec> readPrefix(const Node &section,
                                     const Node &architecture,
                                     DiagnosticList &diagnostics);

/// Checks that the model that was read can have its prefix.
void checkPrefix(const TrainingConfig &config, const ModelSpec &spec,
                 DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_PREFIXREADER_H
