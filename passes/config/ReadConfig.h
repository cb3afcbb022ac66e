//===- ReadConfig.h - A training YAML that is in memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_CONFIG_READCONFIG_H
#define MF_PASSES_CONFIG_READCONFIG_H

#include "mf/Frontend/Config/TrainingConfig.h"
#include "passes/Passes.h"

namespace mf::passes {

/// Creates mf-read-config that reads `text` as the contents of `options.file`,
/// or the file without `text`. `handler`, which may be empty, receives the
/// normalised settings of each model.
std::unique_ptr<mlir::Pass> createReadConfig(const ReadConfigOptions &options,
                                             std::optional<std::string> text,
                                             LayerReportHandler handler);

/// Compares the keys from which the importer made the module's model with those
/// of a YAML. It is an error if the YAML says otherwise. A YAML may leave keys
/// out. Removes the keys from the module, as they are checked once.
void checkModelKeys(mlir::ModuleOp module, const TrainingConfig &config,
                    DiagnosticList &diagnostics);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_READCONFIG_H
