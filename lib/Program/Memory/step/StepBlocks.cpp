//===- StepBlocks.cpp - Ranges of addresses with lifetimes ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepBlocks.h"
#include "lib/Program/Memory/packing/AddressMap.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::Error;
using llvm::Twine;

namespace mf::memory {

Error verifyPlace(const MemoryBlock &block, int64_t alignment,
                  const Twine &region, int64_t size) {
  if (block.offset < 0 || block.offset % alignment != 0)
    return llvm::createStringError(
        block.name + " is at " + Twine(block.offset) + " of " + region +
        ", expected a multiple of " + Twine(alignment));
  if (block.size > size || block.offset > size - block.size)
    return llvm::createStringError(
        block.name + " of " + Twine(block.size) + " bytes is at " +
        Twine(block.offset) + " of " + region + ", which has " + Twine(size));
  return Error::success();
}

Error findOverlap(llvm::ArrayRef<MemoryBlock> blocks) {
  std::vector<size_t> begins;
  for (size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].size > 0)
      begins.push_back(i);
  std::vector<size_t> ends = begins;
  sortIndices(begins, [&](size_t a, size_t b) {
    return blocks[a].begin < blocks[b].begin;
  });
  sortIndices(
      ends, [&](size_t a, size_t b) { return blocks[a].end < blocks[b].end; });
  AddressMap<size_t> alive;
  size_t nextEnd = 0;
  for (size_t index : begins) {
    const MemoryBlock &block = blocks[index];
    for (; !(block.begin < blocks[ends[nextEnd]].end); ++nextEnd)
      alive.erase(blocks[ends[nextEnd]].offset);
    if (std::optional<size_t> other =
            alive.insert(block.offset, block.size, index))
      return llvm::createStringError(
          llvm::formatv("{0} at [{1}, {2}) and {3} at [{4}, {5}) share "
                        "an address and are "
                        "both alive at instruction {6} of task {7}",
                        blocks[*other].name, blocks[*other].offset,
                        blocks[*other].offset + blocks[*other].size, block.name,
                        block.offset, block.offset + block.size,
                        block.begin.instruction, block.begin.task)
              .str());
  }
  return Error::success();
}

} // namespace mf::memory
