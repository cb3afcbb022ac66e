//===- StepBlocks.h - Ranges of addresses with lifetimes --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The blocks of memory that the checks of a step's plan compare.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_MEMORY_STEP_STEPBLOCKS_H
#define MF_LIB_PROGRAM_MEMORY_STEP_STEPBLOCKS_H

#include "mf/Program/Memory/StepProblem.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace mf::memory {

/// A range of addresses that is occupied from `begin` until before `end`.
struct MemoryBlock {
  std::string name;
  int64_t offset = 0;
  int64_t size = 0;
  StepMoment begin;
  StepMoment end;
};

/// Fails unless the block is aligned and within [0, size) of its region.
llvm::Error verifyPlace(const MemoryBlock &block, int64_t alignment,
                        const llvm::Twine &region, int64_t size);

/// Fails if two blocks are occupied at the same time and share an address.
llvm::Error findOverlap(llvm::ArrayRef<MemoryBlock> blocks);

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_STEP_STEPBLOCKS_H
