//===- ExpandedStep.h - A step as plain buffers ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Writes a step out instruction by instruction, as one allocation problem: the
// slow and obvious meaning against which bounds and plans are tested.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TEST_UNIT_MEMORY_EXPANDEDSTEP_H
#define MF_TEST_UNIT_MEMORY_EXPANDEDSTEP_H

#include "mf/Program/Memory/AllocationProblem.h"
#include "mf/Program/Memory/StepPlan.h"

namespace mf::memory {

struct ExpandedStep {
  AllocationProblem problem;
  /// Where the plan puts each buffer; empty if expanded without a plan.
  std::vector<int64_t> offsets;
};

/// Time is the number of instructions executed before. Needs a well-formed
/// step.
ExpandedStep expandStep(const StepProblem &step,
                        const StepPlan *plan = nullptr);

} // namespace mf::memory

#endif // MF_TEST_UNIT_MEMORY_EXPANDEDSTEP_H
