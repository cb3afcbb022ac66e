//===- StepSections.h - A step's time cut into sections ---------*- C++ -*-===//
//
// A section is a part of a task in which no task buffer and no part of a frame
// begins or ends: the
// time of packing problems in which a task buffer lives exactly as long as it
// does, while frames and scratch are known by task and part of a task.
//
//===----------------------------------------------------------------------===//

#ifndef MF_MEMORY_STEPSECTIONS_H
#define MF_MEMORY_STEPSECTIONS_H

#include "StepPlaces.h"
#include "llvm/ADT/ArrayRef.h"

namespace mf::memory {

class StepSections {
public:
  StepSections(const StepProblem &problem, const StepPlaces &timeline,
               llvm::ArrayRef<ResidualFrameLayout> frames);

  int32_t getNumSections() const { return firsts.back(); }
  /// The first section of a task; `task` may be one past the last.
  int32_t getFirst(int64_t task) const { return firsts[task]; }
  /// The section that begins where a task begins, or a task buffer or a part of
  /// a frame begins or ends.
  int32_t get(StepMoment moment) const;
  /// The instructions at which the sections of a task begin; the first is 0,
  /// the last may be behind the last instruction.
  llvm::ArrayRef<int64_t> getCuts(int64_t task) const { return cuts[task]; }

private:
  std::vector<std::vector<int64_t>> cuts;
  std::vector<int32_t> firsts;
};

} // namespace mf::memory

#endif // MF_MEMORY_STEPSECTIONS_H
