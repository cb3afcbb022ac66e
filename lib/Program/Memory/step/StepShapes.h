//===- StepShapes.h - Shapes of a laid out step -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Given the layouts of frames and routines, a frame instance, the scratch of a
// task and a task buffer are rigid shapes in address and time. Within a
// section, everything that is live at one of its instructions counts.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_MEMORY_STEP_STEPSHAPES_H
#define MF_LIB_PROGRAM_MEMORY_STEP_STEPSHAPES_H

#include "FrameInstances.h"
#include "StepSections.h"
#include "lib/Program/Memory/packing/ShapePacking.h"
#include "mf/Program/Memory/StepPlan.h"
#include <deque>
#include <map>

namespace mf::memory {

/// The shapes of a plan's layouts: the parts of frame instances, then the
/// scratch of each task, then task buffers.
class StepShapes {
public:
  StepShapes(const StepProblem &problem, const FrameInstances &instances,
             const StepSections &sections, const StepPlan &layouts);
  // The shapes point into this object.
  StepShapes(const StepShapes &) = delete;
  StepShapes &operator=(const StepShapes &) = delete;

  ShapeProblem &getProblem() { return shapes; }

private:
  using Ranges = llvm::ArrayRef<AddressRange>;
  /// The ranges that instructions [begin, end) of a routine use, in each part
  /// of its frame and in scratch.
  struct RoutinePart {
    std::vector<Ranges> frame;
    Ranges scratch;
  };

  llvm::ArrayRef<int32_t> getByOffset(int64_t frame);
  AddressRange getRange(int64_t frame, int32_t residual) const;
  const RoutinePart &getPart(int64_t routine, int64_t begin, int64_t end);
  const std::vector<Ranges> &getBetweenPhases(int64_t frame, int64_t phase);
  std::vector<Ranges> splitByPart(int64_t frame,
                                  const std::vector<AddressRange> &ranges);
  Ranges keep(std::vector<AddressRange> ranges);
  void addFramePart(const FrameInstance &instance, size_t part);
  void addScratch(int64_t task);
  void addBuffer(const TaskBuffer &buffer);
  /// Calls `visit` with each section of the task and the ranges that its
  /// routine uses.
  template <typename Visit> void forEachSection(int64_t task, Visit visit);

  const StepProblem &problem;
  const FrameInstances &instances;
  const StepSections &sections;
  const StepPlan &layouts;
  ShapeProblem shapes;
  std::map<std::tuple<int64_t, int64_t, int64_t>, RoutinePart> parts;
  std::map<std::pair<int64_t, int64_t>, std::vector<Ranges>> between;
  std::map<int64_t, std::vector<int32_t>> byOffset;
  std::deque<std::vector<AddressRange>> pool;
};

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_STEP_STEPSHAPES_H
