//===- SpecLimits.h - Limits of a model's sizes -----------------*- C++ -*-===//

#ifndef MF_LIB_IMPORT_SPECLIMITS_H
#define MF_LIB_IMPORT_SPECLIMITS_H

#include "SpecReader.h"
#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

/// An error for keys of `model` that say that it has experts; `where` says
/// where they are expected.
void rejectExperts(const Node &model, llvm::StringRef where,
                   DiagnosticList &diagnostics);

/// Errors for keys of latent attention in a model whose family has none.
void rejectLatentAttention(const Node &model, DiagnosticList &diagnostics);

/// Replaces sizes as the command line asks.
void applyOverrides(const ModelOverrides &overrides, ModelSpec &spec,
                    DiagnosticList &diagnostics);

/// Errors for a model whose tensors' sizes in bytes would not fit 64 bits, or
/// one of whose sizes is larger than anyone can mean, at its key.
void checkLimits(const SpecReader &reader, const ModelSpec &spec);

} // namespace mf

#endif // MF_LIB_IMPORT_SPECLIMITS_H
