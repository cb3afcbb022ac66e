//===- ModelKeys.h - Whether a model is that of a YAML ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_CONFIG_MODELKEYS_H
#define MF_PASSES_CONFIG_MODELKEYS_H

#include "mf/Frontend/Config/TrainingConfig.h"
#include "mlir/IR/BuiltinOps.h"

namespace mf::passes {

/// Compares the keys from which the importer made the module's model with those
/// of a YAML. It is an error if the YAML says otherwise. A YAML may leave keys
/// out. Removes the keys from the module, as they are checked once.
void checkModelKeys(mlir::ModuleOp module, const TrainingConfig &config,
                    DiagnosticList &diagnostics);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_MODELKEYS_H
