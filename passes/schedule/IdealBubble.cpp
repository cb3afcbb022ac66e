//===- IdealBubble.cpp - Idle time of a schedule in unit times ------------===//

#include "passes/schedule/IdealBubble.h"
#include <algorithm>
#include <map>
#include <tuple>

using namespace mf::schedule;

namespace {

/// Runs the tasks of all stages in unit times, each as early as it can.
class UnitTimes {
public:
  explicit UnitTimes(const Schedule &schedule)
      : schedule(schedule), next(schedule.stages.size(), 0),
        free(schedule.stages.size(), 0) {}

  /// When the last task ends.
  int64_t run() {
    bool progress = true;
    while (progress) {
      progress = false;
      for (size_t stage = 0; stage < next.size(); ++stage)
        while (next[stage] < schedule.stages[stage].size() && runNext(stage))
          progress = true;
    }
    return *std::max_element(free.begin(), free.end());
  }

private:
  using Key = std::tuple<Phase, int32_t, int32_t>;

  /// False if the stage's next task must wait for one that has not run.
  bool runNext(size_t stage) {
    const Task &task = schedule.stages[stage][next[stage]];
    int64_t start = free[stage];
    bool isForward = task.phase == Phase::Forward;
    int32_t from = task.chunk + (isForward ? -1 : 1);
    if (task.phase != Phase::WeightGradient && from >= 0 &&
        from < schedule.pipeline.getNumChunks()) {
      auto end = ends.find({task.phase, from, task.microBatch});
      if (end == ends.end())
        return false;
      start = std::max(start, end->second);
    }
    free[stage] = start + getUnitTime(task.phase);
    ends[{task.phase, task.chunk, task.microBatch}] = free[stage];
    ++next[stage];
    return true;
  }

  const Schedule &schedule;
  std::vector<size_t> next;
  std::vector<int64_t> free;
  std::map<Key, int64_t> ends;
};

} // namespace

double mf::passes::getIdealBubble(const Schedule &schedule) {
  int64_t work = 0;
  for (const std::vector<Task> &tasks : schedule.stages)
    for (const Task &task : tasks)
      work += getUnitTime(task.phase);
  int64_t total = UnitTimes(schedule).run() * schedule.pipeline.stages;
  return static_cast<double>(total - work) / static_cast<double>(work);
}
