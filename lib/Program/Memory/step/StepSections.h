//===- StepSections.h - Sections of a step's time ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A section is a part of a task in which no task buffer and no part of a frame
// begins or ends. Packing problems use sections as their time: a task buffer
// has its exact lifetime, while frames and scratch are known by task and part
// of a task.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_MEMORY_STEP_STEPSECTIONS_H
#define MF_LIB_PROGRAM_MEMORY_STEP_STEPSECTIONS_H

#include "FrameInstances.h"
#include "llvm/ADT/ArrayRef.h"

namespace mf::memory {

class StepSections {
public:
  StepSections(const StepProblem &problem, const FrameInstances &instances,
               llvm::ArrayRef<PlannedFrame> frames);

  int32_t getNumSections() const { return firsts.back(); }
  /// Returns the first section of a task; `task` may be one past the last.
  int32_t getFirst(int64_t task) const { return firsts[task]; }
  /// Returns the section that begins at a moment. A task must begin there, or a
  /// task buffer or a part of a frame begin or end.
  int32_t get(StepMoment moment) const;
  /// Returns the instructions at which the sections of a task begin. The first
  /// one is 0; the last one may be past the last instruction.
  llvm::ArrayRef<int64_t> getBegins(int64_t task) const { return begins[task]; }

private:
  std::vector<std::vector<int64_t>> begins;
  std::vector<int32_t> firsts;
};

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_STEP_STEPSECTIONS_H
