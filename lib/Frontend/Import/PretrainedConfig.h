//===- PretrainedConfig.h - The config.json of a YAML's model ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_IMPORT_PRETRAINEDCONFIG_H
#define MF_LIB_FRONTEND_IMPORT_PRETRAINEDCONFIG_H

#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

/// Returns pretrained_model_dir if it is text, or an undefined node if it is
/// missing or empty.
Node findPretrainedFolder(const TrainingConfig &config);

/// Emits an error if a config.json was added: only mcore models read it.
/// Returns true if there was none.
bool checkNoPretrainedConfig(const TrainingConfig &config,
                             DiagnosticList &diagnostics);

/// Emits an error if the YAML of an mcore model leaves sizes to the config.json
/// in pretrained_model_dir and that file was not given. Returns true if no size
/// is missing.
bool checkPretrainedSizes(const TrainingConfig &config,
                          DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_PRETRAINEDCONFIG_H
