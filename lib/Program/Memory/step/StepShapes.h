//===- StepShapes.h - Shapes of a laid out step -----------------*- C++ -*-===//
//
// Given the layouts of frames and routines, a frame instance, the scratch of a
// task and a task buffer are rigid shapes in address and time. Within a
// section, everything that is live at one of its instructions counts.
//
//===----------------------------------------------------------------------===//

#ifndef MF_MEMORY_STEPSHAPES_H
#define MF_MEMORY_STEPSHAPES_H

#include "StepPlaces.h"
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
  StepShapes(const StepProblem &problem, const StepPlaces &timeline,
             const StepSections &sections, const StepPlan &layouts);
  // The shapes point into this object.
  StepShapes(const StepShapes &) = delete;
  StepShapes &operator=(const StepShapes &) = delete;

  ShapeProblem &getProblem() { return shapes; }

private:
  using Ranges = llvm::ArrayRef<AddressRange>;
  /// Instructions [begin, end) of a routine use addresses of a place: 0 is
  /// scratch, others are parts of its frame.
  struct PlaceUse {
    int64_t begin = 0;
    int64_t end = 0;
    size_t place = 0;
    AddressRange range;
  };
  /// The ranges that a task uses from a section on until the next change.
  struct RangeChange {
    size_t section = 0;
    Ranges ranges;
  };
  /// The uses of a routine by place. Only the first `numSections` sections of a
  /// task have instructions.
  struct RoutineUse {
    size_t numSections = 0;
    std::vector<std::vector<RangeChange>> places;
  };

  llvm::ArrayRef<int32_t> getByOffset(int64_t frame);
  AddressRange getRange(int64_t frame, int32_t residual) const;
  std::vector<PlaceUse> findUses(int64_t routine);
  const RoutineUse &getUse(int64_t task);
  RoutineUse cutUse(int64_t routine, llvm::ArrayRef<int64_t> cuts);
  const std::vector<Ranges> &getBetweenPhases(int64_t frame, int64_t phase);
  std::vector<Ranges> splitByPart(int64_t frame,
                                  const std::vector<AddressRange> &ranges);
  Ranges keep(std::vector<AddressRange> ranges);
  void addFramePart(const FrameInstance &instance, size_t part);
  void addScratch(int64_t task);
  void addBuffer(const TaskBuffer &buffer);
  /// Calls `visit` with the sections between two changes and their ranges.
  template <typename Visit>
  void forEachChange(const RoutineUse &use, size_t place, Visit visit);

  const StepProblem &problem;
  const StepPlaces &timeline;
  const StepSections &sections;
  const StepPlan &layouts;
  ShapeProblem shapes;
  /// By routine and cuts.
  std::map<std::pair<int64_t, std::vector<int64_t>>, RoutineUse> uses;
  std::vector<const RoutineUse *> useOfTask;
  std::map<std::pair<int64_t, int64_t>, std::vector<Ranges>> between;
  std::map<int64_t, std::vector<int32_t>> byOffset;
  std::deque<std::vector<AddressRange>> pool;
};

} // namespace mf::memory

#endif // MF_MEMORY_STEPSHAPES_H
