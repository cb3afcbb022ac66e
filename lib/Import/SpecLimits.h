//===- SpecLimits.h - Sizes a model may have --------------------*- C++ -*-===//

#ifndef MF_LIB_IMPORT_SPECLIMITS_H
#define MF_LIB_IMPORT_SPECLIMITS_H

#include "mf/Import/ModelSpec.h"

namespace mf {

/// Errors for a model with experts (`expertNum` of moe_config, or keys of
/// `model`) or latent attention. They are told by their keys, so that the
/// message is right whatever the architecture is called.
void rejectExperts(const Node &model, const Node &expertNum,
                   DiagnosticList &diagnostics);

/// Replaces sizes as the command line asks.
void applyOverrides(const ModelOverrides &overrides, ModelSpec &spec,
                    DiagnosticList &diagnostics);

/// Errors for a model whose tensors' sizes in bytes would not fit 64 bits, or
/// that has more layers than anyone can mean.
void checkLimits(const ModelSpec &spec, const Location &place,
                 DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_IMPORT_SPECLIMITS_H
