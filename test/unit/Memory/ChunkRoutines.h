//===- ChunkRoutines.h - Forward and backward of a chunk --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_MEMORY_CHUNKROUTINES_H
#define MF_TEST_UNIT_MEMORY_CHUNKROUTINES_H

#include "ChunkGraph.h"

namespace mf::memory {

/// Turns a graph into the forward and backward routines of a chunk, and the
/// frame of what backward reads of forward.
void buildChunkRoutines(const ChunkGraph &graph, RoutineMemory &forward,
                        RoutineMemory &backward, FrameMemory &frame);

} // namespace mf::memory

#endif // MF_TEST_UNIT_MEMORY_CHUNKROUTINES_H
