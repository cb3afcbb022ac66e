//===- LiveBytes.h - Effect of a chain on live bytes ------------*- C++ -*-===//

#ifndef MF_PASSES_FUSEELEMENTWISE_LIVEBYTES_H
#define MF_PASSES_FUSEELEMENTWISE_LIVEBYTES_H

#include "passes/fuse-elementwise/ChainPlan.h"
#include <set>

namespace mf::passes {

/// By buffer: the launches that use it.
using BufferUses = std::vector<std::set<int64_t>>;

/// Whether more bytes are alive at some launch with the chain than without it,
/// or at the chain than at each of its launches. An output in the place of an
/// input that nothing reads any more counts once.
bool needsMore(const ChainGraph &graph, const BufferUses &uses,
               const PlannedChain &chain);

} // namespace mf::passes

#endif // MF_PASSES_FUSEELEMENTWISE_LIVEBYTES_H
