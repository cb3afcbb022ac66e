//===- SpecLimits.h - Limits of a model's sizes -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_IMPORT_SPECLIMITS_H
#define MF_LIB_FRONTEND_IMPORT_SPECLIMITS_H

#include "SpecReader.h"
#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

/// Emits an error for keys of `model` that request experts. `where` says in the
/// message where such keys are expected.
void rejectExperts(const Node &model, llvm::StringRef where,
                   DiagnosticList &diagnostics);

/// Emits errors for keys of latent attention in a model whose family does not
/// support it.
void rejectLatentAttention(const Node &model, DiagnosticList &diagnostics);

/// Replaces sizes by those of the command line.
void applyOverrides(const ModelOverrides &overrides, ModelSpec &spec,
                    DiagnosticList &diagnostics);

/// Emits an error, at the key, for a model whose tensors' sizes in bytes do not
/// fit into 64 bits or with an unreasonably large size.
void checkLimits(const SpecReader &reader, const ModelSpec &spec);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_SPECLIMITS_H
