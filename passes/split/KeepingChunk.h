//===- KeepingChunk.h - A chunk without its recomputation ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A schedule may recompute for some micro-batches only. The others run another
// version of the chunk, which keeps all residuals.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_SPLIT_KEEPINGCHUNK_H
#define MF_PASSES_SPLIT_KEEPINGCHUNK_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// Makes a version of `chunk` after it if the model's schedule recomputes for
/// some micro-batches and not for others; otherwise returns null. The backward
/// of that version reads the values of forward instead of recomputing them.
/// Values that backward computes from another form that forward keeps stay.
mlir::FailureOr<ir::ChunkOp> cloneKeeping(ir::ChunkOp chunk);

} // namespace mf::passes

#endif // MF_PASSES_SPLIT_KEEPINGCHUNK_H
