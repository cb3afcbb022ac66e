//===- SampleAllocations.h - Problems that tests of allocators share ------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_MEMORY_SAMPLEALLOCATIONS_H
#define MF_TEST_UNIT_MEMORY_SAMPLEALLOCATIONS_H

#include "mf/Program/Memory/AllocationProblem.h"
#include <random>

namespace mf::memory {

AllocationBuffer makeBuffer(std::string id, int64_t lower, int64_t upper,
                            int64_t size, int64_t alignment = 1);

/// Sizes below `sizes`, and lifetimes of at most `longest` that begin before
/// `horizon`.
AllocationProblem makeRandom(std::mt19937 &random, int64_t count,
                             int64_t horizon, int64_t longest, int64_t sizes,
                             int64_t alignment = 1);

/// A published problem of test/data/minimalloc, such as "A.1048576.csv".
AllocationProblem loadInstance(const std::string &name);

} // namespace mf::memory

#endif // MF_TEST_UNIT_MEMORY_SAMPLEALLOCATIONS_H
