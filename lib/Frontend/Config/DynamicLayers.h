//===- DynamicLayers.h - Recompute and swap of the trainer ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_DYNAMICLAYERS_H
#define MF_LIB_FRONTEND_CONFIG_DYNAMICLAYERS_H

#include "DynamicLayout.h"

namespace mf {

/// Prints layers as the format has them: '5' or '0-19', both ends included.
std::string printLayerRange(int64_t first, int64_t last);

/// Reads lists of layers such as ['5', '0-19']. Errors have the trainer's text
/// after `label`. With a `prefetch`, the layer at that distance after the last
/// listed one must exist.
std::optional<std::vector<int64_t>>
readLayerNumbers(const Node &list, const std::string &label,
                 const DynamicDepth &depth, int64_t prefetch, bool checksRange,
                 DiagnosticList &diagnostics);

/// Fill the sections of `config` from recompute and recompute_comm, and from
/// swap.
void readDynamicRecompute(const Node &root, const DynamicDepth &depth,
                          TrainingConfig &config, DiagnosticList &diagnostics);
void readDynamicSwap(const Node &root, const DynamicDepth &depth,
                     const DynamicLayout &layout, TrainingConfig &config,
                     DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_DYNAMICLAYERS_H
