//===- NotLowered.h - Settings that are not lowered -------------*- C++ -*-===//
//-*-===//

#ifndef MF_PASSES_CONFIG_NOTLOWERED_H
#define MF_PASSES_CONFIG_NOTLOWERED_H

#include "mf/Config/RankLayout.h"
#include "mf/Config/TrainingConfig.h"

namespace mf::passes {

/// Warns, once per key, about what `config` asks of a training step and the
/// program will not have, and says what it has instead. Where layers would
/// have other places than asked for it is an error. `ranks` are what they share
/// out, and `rowBlocks` the blocks in which layers run; `hasExperts` says
/// whether a model has several.
void checkNotLowered(const TrainingConfig &config, const RankLayout &ranks,
                     int64_t rowBlocks, bool hasExperts,
                     DiagnosticList &diagnostics);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_NOTLOWERED_H
