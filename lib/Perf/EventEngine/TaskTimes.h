//===- TaskTimes.h - Durations of a schedule's tasks ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_EVENTENGINE_TASKTIMES_H
#define MF_LIB_PERF_EVENTENGINE_TASKTIMES_H

#include "mf/Perf/EventEngine/PipelineModel.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <array>

namespace mf::events {

/// Returns the number at an index of a list, or 0 if the list is empty.
inline double getOrZero(llvm::ArrayRef<double> numbers, size_t index) {
  return numbers.empty() ? 0 : numbers[index];
}

/// The durations of a schedule's tasks. All pieces of a sequence take the same
/// time, although later ones read more.
class TaskTimes {
public:
  TaskTimes(const schedule::Schedule &schedule, const PipelineCosts &costs);

  /// Returns the time of a task that has a slot of its own.
  double get(const schedule::Task &task) const {
    return times[task.chunk][static_cast<size_t>(task.phase)] /
           static_cast<double>(schedule.pipeline.pieces);
  }

  /// Calls `visit(tasks, duration, hidden)` for each slot: `hidden` is the time
  /// that it saves.
  template <typename Visit> void forEachSlot(Visit visit) const {
    for (auto [number, tasks] : llvm::enumerate(schedule.stages)) {
      const auto stage = static_cast<int64_t>(number);
      const auto numTasks = static_cast<int64_t>(tasks.size());
      for (int64_t begin = 0; begin < numTasks;) {
        const int64_t end = schedule.getSlotEnd(stage, begin);
        double rest = 0;
        for (int64_t position = begin + 1; position < end; ++position)
          rest += get(tasks[position]);
        const double first = get(tasks[begin]);
        const double hidden = costs.pairHidden * std::min(first, rest);
        visit(llvm::ArrayRef(tasks).slice(begin, end - begin),
              first + rest - hidden, hidden);
        begin = end;
      }
    }
  }

private:
  /// Durations of a chunk's tasks by phase.
  using ChunkTimes = std::array<double, 5>;

  const schedule::Schedule &schedule;
  const PipelineCosts &costs;
  std::vector<ChunkTimes> times;
};

} // namespace mf::events

#endif // MF_LIB_PERF_EVENTENGINE_TASKTIMES_H
