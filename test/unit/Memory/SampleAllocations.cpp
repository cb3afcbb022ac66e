//===- SampleAllocations.cpp - Problems that tests of allocators share ----===//
// SPDX-License-Identifier: Apache-2.0

#include "SampleAllocations.h"
#include "mf/Program/Memory/AllocationCsv.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace mf::memory;

AllocationBuffer mf::memory::makeBuffer(std::string id, int64_t lower,
                                        int64_t upper, int64_t size,
                                        int64_t alignment) {
  AllocationBuffer buffer;
  buffer.id = std::move(id);
  buffer.lower = lower;
  buffer.upper = upper;
  buffer.size = size;
  buffer.alignment = alignment;
  return buffer;
}

AllocationProblem mf::memory::makeRandom(std::mt19937 &random, int64_t count,
                                         int64_t horizon, int64_t longest,
                                         int64_t sizes, int64_t alignment) {
  auto draw = [&](int64_t bound) -> int64_t { return random() % bound; };
  AllocationProblem problem;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t lower = draw(horizon), upper = lower + 1 + draw(longest);
    problem.buffers.push_back(
        makeBuffer(std::to_string(i), lower, upper, draw(sizes), alignment));
  }
  return problem;
}

AllocationProblem mf::memory::loadInstance(const std::string &name) {
  std::string path = MF_TEST_DATA "/minimalloc/" + name;
  auto file = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(static_cast<bool>(file)) << path;
  return llvm::cantFail(parseAllocationCsv((*file)->getBuffer(), path));
}
