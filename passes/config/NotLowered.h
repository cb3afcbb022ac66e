//===- NotLowered.h - Settings that are not lowered -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_CONFIG_NOTLOWERED_H
#define MF_PASSES_CONFIG_NOTLOWERED_H

#include "mf/Frontend/Config/RankLayout.h"
#include "mf/Frontend/Config/TrainingConfig.h"

namespace mf::passes {

/// Warns, once per key, about settings of `config` that the program will not
/// have, and states the program's behaviour instead. It is an error if layers
/// would be placed differently than requested. `ranks` is the distribution of a
/// layer over ranks, `rowBlocks` the number of blocks in which layers run, and
/// `hasExperts` tells whether a model has several experts.
void checkNotLowered(const TrainingConfig &config, const RankLayout &ranks,
                     int64_t rowBlocks, bool hasExperts,
                     DiagnosticList &diagnostics);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_NOTLOWERED_H
