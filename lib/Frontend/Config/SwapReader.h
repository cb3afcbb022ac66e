//===- SwapReader.h - Section swap_config -----------------------*- C++ -*-===//

#ifndef MF_LIB_CONFIG_SWAPREADER_H
#define MF_LIB_CONFIG_SWAPREADER_H

#include "mf/Frontend/Config/TrainingConfig.h"

namespace mf {

/// Reads swap_config of the document `root`. The lists are checked even when
/// swap is off, as MindSpore Transformers does; prefetch values only when on.
void readSwapConfig(const Node &root, TrainingConfig &config,
                    DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_CONFIG_SWAPREADER_H
