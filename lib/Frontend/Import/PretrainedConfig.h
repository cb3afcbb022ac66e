//===- PretrainedConfig.h - config.json beside the YAML ---------*- C++ -*-===//

#ifndef MF_LIB_IMPORT_PRETRAINEDCONFIG_H
#define MF_LIB_IMPORT_PRETRAINEDCONFIG_H

#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

/// pretrained_model_dir as text, or undefined if it says nothing.
Node findPretrainedFolder(const TrainingConfig &config);

/// Errors if a config.json was added, which only mcore models read. Says
/// whether there was none.
bool checkNoPretrainedConfig(const TrainingConfig &config,
                             DiagnosticList &diagnostics);

/// Errors if the YAML leaves sizes of an mcore model to the config.json in
/// pretrained_model_dir and that was not given. Says whether all is there.
bool checkPretrainedSizes(const TrainingConfig &config,
                          DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_IMPORT_PRETRAINEDCONFIG_H
