//===- AutoLayout.h - The layout of a step in auto parallel ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_AUTOLAYOUT_H
#define MF_LIB_FRONTEND_CONFIG_AUTOLAYOUT_H

#include "mf/Frontend/Config/TrainingConfig.h"

namespace mf {

/// In auto parallel, MindSpore searches a layout for each operator. This
/// project does not repeat that search: the step is that of semi-auto parallel
/// with the layout of parallel_config. Without a layout there, all ranks of a
/// stage are replicas, and batch_size, which then is the batch size of the
/// stage, is divided among them. Emits a warning at parallel_mode.
void resolveAutoLayout(TrainingConfig &config, DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_AUTOLAYOUT_H
