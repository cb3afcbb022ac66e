//===- RowBlocks.h - Layers that run block by block -------------*- C++ -*-===//

#ifndef MF_CONFIG_ROWBLOCKS_H
#define MF_CONFIG_ROWBLOCKS_H

#include "mf/Frontend/Config/RankLayout.h"

namespace mf {

/// Into how many blocks of rows norms and projections are cut, after
/// model_config.fine_grain_interleave: 1 for none, and where no rank shares a
/// layer's weights with another. An error where ranks share no rows of the
/// residual stream, as MindSpore Transformers wants them to.
int64_t resolveRowBlocks(const TrainingConfig &config, const RankLayout &ranks,
                         DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_CONFIG_ROWBLOCKS_H
