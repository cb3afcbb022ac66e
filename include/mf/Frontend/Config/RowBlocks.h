//===- RowBlocks.h - Layers that run block by block -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_CONFIG_ROWBLOCKS_H
#define MF_FRONTEND_CONFIG_ROWBLOCKS_H

#include "mf/Frontend/Config/RankLayout.h"

namespace mf {

/// Returns the number of blocks of rows into which norms and projections are
/// cut by model_config.fine_grain_interleave. It is 1 without that key, and if
/// no layer's weights are cut over ranks. Fails if the rows of the residual
/// stream are not distributed over ranks, as MindSpore Transformers requires.
int64_t resolveRowBlocks(const TrainingConfig &config, const RankLayout &ranks,
                         DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_ROWBLOCKS_H
