//===- StepPlan.cpp - Compact memory plan of a training step --------------===//

#include "mf/Memory/StepPlan.h"
#include "FramePacking.h"
#include "Packing.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>

namespace mf::memory {

double StepPlan::getGap() const {
  if (bound.bytes == 0)
    return 0;
  return static_cast<double>(arenaSize - bound.bytes) /
         static_cast<double>(bound.bytes);
}

namespace {

/// Plans in three steps: layouts inside chunks, for each chunk the choice
/// between a separate and a shared region, and the blocks of all tasks.
class StepPlanner {
public:
  StepPlanner(const StepProblem &problem, const StepPlanOptions &options)
      : problem(problem), options(options), timeline(problem) {}

  StepPlan run() {
    plan.bound = problem.maxLive();
    layOutRoutines();
    chooseRegions();
    placePersistentBuffers();
    placeBlocks();
    return std::move(plan);
  }

private:
  void layOutRoutines();
  void chooseRegions();
  void placePersistentBuffers();
  void placeBlocks();
  void useLayout(size_t frame, const ChunkLayout &layout);
  PackProblem getBlocks() const;

  const StepProblem &problem;
  const StepPlanOptions &options;
  StepTimeline timeline;
  StepPlan plan;
  std::vector<ChunkLayout> separate;
};

void StepPlanner::useLayout(size_t frame, const ChunkLayout &layout) {
  plan.frames[frame] = layout.frame;
  for (const auto &[phase, routine] :
       llvm::enumerate(problem.frames[frame].phases))
    plan.routines[routine] = layout.phases[phase];
}

void StepPlanner::layOutRoutines() {
  plan.routines.resize(problem.routines.size());
  plan.frames.resize(problem.frames.size());
  for (const auto &[index, routine] : llvm::enumerate(problem.routines))
    if (timeline.getFrame(index) < 0)
      plan.routines[index] = packRoutine(problem, routine, options.packingWork);
  for (const auto &[index, frame] : llvm::enumerate(problem.frames)) {
    separate.push_back(packSeparately(problem, frame, options.packingWork));
    useLayout(index, separate.back());
  }
}

/// The blocks that tasks need, with a section per task: frame instances, then
/// the scratch of each task, then task buffers.
PackProblem StepPlanner::getBlocks() const {
  PackProblem pack;
  pack.numSections = static_cast<int32_t>(problem.tasks.size());
  auto add = [&](int64_t firstTask, int64_t endTask, int64_t size) {
    PackItem item;
    item.begin = static_cast<int32_t>(firstTask);
    item.end = static_cast<int32_t>(endTask);
    item.size = size;
    item.alignment = problem.alignment;
    pack.items.push_back(item);
  };
  for (const FrameInstance &instance : timeline.getInstances())
    add(instance.tasks.front(), instance.tasks.back() + 1,
        plan.frames[instance.frame].size);
  for (const auto &[index, task] : llvm::enumerate(problem.tasks))
    add(index, index + 1, plan.routines[task.routine].scratchSize);
  for (const TaskBuffer &buffer : problem.taskBuffers)
    add(buffer.begin.task, buffer.end.task + (buffer.end.instruction > 0),
        problem.alignedSize(buffer.size));
  return pack;
}

void StepPlanner::chooseRegions() {
  auto getLargestSum = [&] {
    std::vector<int64_t> profile = getLiveProfile(getBlocks());
    return profile.empty() ? int64_t(0)
                           : *std::max_element(profile.begin(), profile.end());
  };
  int64_t persistent = 0;
  for (const PersistentBuffer &buffer : problem.persistentBuffers)
    persistent += problem.alignedSize(buffer.size);
  int64_t best = getLargestSum();
  for (const auto &[index, frame] : llvm::enumerate(problem.frames)) {
    if (best + persistent <= plan.bound.bytes)
      return;
    ChunkLayout together = packTogether(problem, frame, options.packingWork);
    useLayout(index, together);
    int64_t sum = getLargestSum();
    if (sum < best)
      best = sum;
    else
      useLayout(index, separate[index]);
  }
}

void StepPlanner::placePersistentBuffers() {
  for (const PersistentBuffer &buffer : problem.persistentBuffers) {
    plan.persistentOffsets.push_back(plan.arenaSize);
    plan.arenaSize += problem.alignedSize(buffer.size);
  }
}

void StepPlanner::placeBlocks() {
  PackProblem pack = getBlocks();
  std::vector<int64_t> profile = getLiveProfile(pack);
  int64_t goodPeak =
      profile.empty() ? 0 : *std::max_element(profile.begin(), profile.end());
  WorkBudget budget(options.packingWork);
  PackResult result = packBest(pack, goodPeak, budget);

  int64_t base = plan.arenaSize;
  plan.arenaSize += result.peak;
  auto next = result.offsets.begin();
  plan.tasks.resize(problem.tasks.size());
  for (const FrameInstance &instance : timeline.getInstances()) {
    for (int64_t task : instance.tasks)
      plan.tasks[task].frameBase = base + *next;
    ++next;
  }
  for (const auto &[index, task] : llvm::enumerate(problem.tasks)) {
    if (plan.routines[task.routine].scratchSize > 0)
      plan.tasks[index].scratchBase = base + *next;
    ++next;
  }
  for (; next != result.offsets.end(); ++next)
    plan.taskBufferOffsets.push_back(base + *next);
}

} // namespace

llvm::Expected<StepPlan> planStep(const StepProblem &problem,
                                  const StepPlanOptions &options) {
  if (llvm::Error error = problem.check())
    return std::move(error);
  return StepPlanner(problem, options).run();
}

} // namespace mf::memory
