//===- KeepingChunk.h - A chunk without its recomputation ------*- C++ -*-===//
//
// Where a schedule recomputes for some micro-batches alone, the others run
// another version of the chunk.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_SPLIT_KEEPINGCHUNK_H
#define MF_PASSES_SPLIT_KEEPINGCHUNK_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// Makes a version of `chunk` behind it whose backward reads what forward has
/// made in place of what it would compute again, if the model's schedule
/// recomputes for some micro-batches and not for others; null if not. What
/// backward makes of another form that forward keeps stays.
ir::ChunkOp cloneKeeping(ir::ChunkOp chunk);

} // namespace mf::passes

#endif // MF_PASSES_SPLIT_KEEPINGCHUNK_H
