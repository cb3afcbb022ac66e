//===- LiveBytes.h - Effect of a chain on live bytes ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_FUSE_ELEMENTWISE_LIVEBYTES_H
#define MF_PASSES_FUSE_ELEMENTWISE_LIVEBYTES_H

#include "passes/fuse-elementwise/ChainPlan.h"
#include <set>

namespace mf::passes {

/// The launches that use each buffer.
using BufferUses = std::vector<std::set<int64_t>>;

/// Returns whether more bytes are live at some launch with the chain than
/// without it, or more at the chain than at each of its launches. An output
/// that replaces an input without later readers counts once.
bool needsMore(const ChainGraph &graph, const BufferUses &uses,
               const PlannedChain &chain);

} // namespace mf::passes

#endif // MF_PASSES_FUSE_ELEMENTWISE_LIVEBYTES_H
