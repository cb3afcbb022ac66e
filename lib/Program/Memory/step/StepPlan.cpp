//===- StepPlan.cpp - Compact memory plan of a training step --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Memory/StepPlan.h"
#include "ExactPacking.h"
#include "FramePacking.h"
#include "lib/Program/Memory/search/PackSearch.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>

namespace mf::memory {

double StepPlan::getGap() const {
  if (bound.bytes == 0)
    return 0;
  return static_cast<double>(arenaSize - bound.bytes) /
         static_cast<double>(bound.bytes);
}

bool StepPlan::hasParts() const {
  return llvm::any_of(
      frames, [](const PlannedFrame &frame) { return frame.parts.size() > 1; });
}

std::pair<int64_t, int64_t> FramePart::getRange(int64_t phase,
                                                int64_t length) const {
  if (phase < first.phase || phase > last.phase)
    return {0, 0};
  return {phase == first.phase ? first.instruction : 0,
          phase == last.phase ? last.instruction : length};
}

/// Returns the packers of some layouts with how many each found.
template <typename Layouts>
static std::string countPackers(const Layouts &layouts) {
  std::map<llvm::StringRef, int64_t> counts;
  for (const auto &layout : layouts)
    ++counts[layout.packer];
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(counts, os, [&](const auto &entry) {
    os << entry.first << " x " << entry.second;
  });
  return text;
}

std::string StepPlan::describePackers() const {
  return "routines: " + countPackers(routines) +
         "; frames: " + countPackers(frames) + "; blocks: " + packer;
}

size_t PlannedFrame::getPart(int64_t offset) const {
  auto next = llvm::upper_bound(parts, offset,
                                [](int64_t offset, const FramePart &part) {
                                  return offset < part.begin;
                                });
  return next - parts.begin() - 1;
}

namespace {

/// More groups make more blocks of each instance.
constexpr int64_t mostGroups = 32;

/// Packs chunks, then the blocks of the arena that tasks need: one for each
/// part of a frame instance, scratch and task buffer. Fast heuristics come
/// first. Then the chunk that determines the fullest task is packed again with
/// more effort, and so on until the plan is good enough or nothing helps.
class StepPlanner {
public:
  StepPlanner(const StepProblem &problem, const StepPlanOptions &options)
      : problem(problem), options(options), instances(problem),
        sections(problem, instances, {}) {}

  StepPlan run() {
    plan.bound = problem.maxLive();
    acceptableExcess = static_cast<int64_t>(
        static_cast<double>(plan.bound.bytes) * options.acceptableGap);
    placePersistentBuffers();
    layOutQuickly();
    while (improveFullestTask()) {
    }
    placeBlocks();
    return std::move(plan);
  }

private:
  /// A task, and the bytes of all blocks that are occupied while it runs.
  struct FullestTask {
    int64_t task = -1;
    int64_t bytes = 0;
  };

  PackEffort getEffort(int64_t searchWork) const {
    return {options.packingWork, searchWork, acceptableExcess / 2,
            options.memo.get()};
  }
  bool canSplit(const FrameMemory &frame) const {
    return options.splitFrames && frame.phases.size() > 2;
  }

  void layOutQuickly() {
    plan.routines.resize(problem.routines.size());
    plan.frames.resize(problem.frames.size());
    triedRoutines.assign(problem.routines.size(), 0);
    triedFrames.assign(problem.frames.size(), 0);
    for (const auto &[index, routine] : llvm::enumerate(problem.routines))
      if (instances.getFrame(static_cast<int64_t>(index)) < 0)
        plan.routines[index] = packRoutine(problem, routine, getEffort(0));
    for (const auto &[index, frame] : llvm::enumerate(problem.frames))
      useLayout(index, packSeparately(problem, frame, canSplit(frame) ? 1 : 0,
                                      getEffort(0)));
  }

  /// Packs the routine of the fullest task again, with search. Returns false if
  /// that is not needed or was done before.
  bool improveFullestTask() {
    FullestTask fullest = findFullestTask();
    if (fullest.task < 0 || plan.arenaSize + fullest.bytes <=
                                plan.bound.bytes + acceptableExcess / 2)
      return false;
    int64_t routine = problem.tasks[fullest.task].routine;
    if (int64_t frame = instances.getFrame(routine); frame >= 0)
      return improveFrame(frame, fullest.bytes);
    if (triedRoutines[routine])
      return false;
    triedRoutines[routine] = 1;
    RoutineLayout layout = packRoutine(problem, problem.routines[routine],
                                       getEffort(options.searchWork));
    if (layout.scratchSize < plan.routines[routine].scratchSize)
      plan.routines[routine] = std::move(layout);
    return true;
  }

  bool improveFrame(size_t index, int64_t bytes) {
    if (triedFrames[index])
      return false;
    triedFrames[index] = 1;
    const FrameMemory &frame = problem.frames[index];
    ChunkLayout best = getLayout(index);
    auto consider = [&](ChunkLayout layout) {
      useLayout(index, layout);
      int64_t now = findFullestTask().bytes;
      if (now < bytes) {
        bytes = now;
        best = std::move(layout);
      }
    };
    if (!canSplit(frame))
      consider(packTogether(problem, frame, getEffort(0)));
    consider(packSeparately(problem, frame, canSplit(frame) ? 1 : 0,
                            getEffort(options.searchWork)));
    if (canSplit(frame))
      improveGroups(index, best);
    useLayout(index, best);
    return true;
  }

  FullestTask findFullestTask(std::optional<int64_t> frame = {}) const {
    std::vector<int64_t> profile = getLiveProfile(getBlocks());
    FullestTask fullest;
    for (size_t task = 0; task < problem.tasks.size(); ++task) {
      if (frame && instances.getFrame(problem.tasks[task].routine) != *frame)
        continue;
      for (int32_t section = sections.getFirst(static_cast<int64_t>(task));
           section < sections.getFirst(static_cast<int64_t>(task + 1));
           ++section)
        if (profile[section] > fullest.bytes)
          fullest = {static_cast<int64_t>(task), profile[section]};
    }
    return fullest;
  }

  /// Divides residuals that are born or die in the second phase into more
  /// groups. Other frames may make other tasks equally full, so only the
  /// frame's own tasks are considered.
  void improveGroups(size_t index, ChunkLayout &best) {
    useLayout(index, best);
    int64_t bytes = findFullestTask(index).bytes;
    for (int64_t numGroups = 2; numGroups <= mostGroups; numGroups *= 2) {
      ChunkLayout layout = packSeparately(problem, problem.frames[index],
                                          numGroups, getEffort(0));
      useLayout(index, layout);
      int64_t now = findFullestTask(index).bytes;
      if (now < bytes) {
        bytes = now;
        best = std::move(layout);
      }
    }
  }

  void useLayout(size_t frame, const ChunkLayout &layout) {
    plan.frames[frame] = layout.frame;
    sections = StepSections(problem, instances, plan.frames);
    for (const auto &[phase, routine] :
         llvm::enumerate(problem.frames[frame].phases))
      plan.routines[routine] = layout.phases[phase];
  }

  ChunkLayout getLayout(size_t frame) const {
    ChunkLayout layout;
    layout.frame = plan.frames[frame];
    for (int64_t routine : problem.frames[frame].phases)
      layout.phases.push_back(plan.routines[routine]);
    return layout;
  }

  void placePersistentBuffers() {
    for (const PersistentBuffer &buffer : problem.persistentBuffers) {
      plan.persistentOffsets.push_back(plan.arenaSize);
      plan.arenaSize += problem.alignedSize(buffer.size);
    }
  }

  void placeBlocks() {
    PackResult frames;
    PackResult result = packBlocks(getBlocks(), frames);
    int64_t goodPeak = problem.alignedSize(plan.bound.bytes - plan.arenaSize +
                                           acceptableExcess);
    // Shapes cost time for every task. If blocks miss the goal only slightly,
    // they are as good.
    if (result.peak > goodPeak + acceptableExcess)
      packExactly({problem, instances, sections}, frames, goodPeak,
                  options.shapeWork, plan, result);
    plan.packer = result.packer;
    int64_t base = plan.arenaSize;
    plan.arenaSize += result.peak;
    auto next = result.offsets.begin();
    plan.instances = instances.getAll();
    for (FrameInstance &instance : plan.instances)
      for (size_t part = 0; part < plan.frames[instance.frame].parts.size();
           ++part)
        instance.bases.push_back(base + *next++);
    for (const TaskMemory &task : problem.tasks) {
      const bool hasScratch = plan.routines[task.routine].scratchSize > 0;
      plan.scratchBases.push_back(hasScratch ? base + *next : 0);
      ++next;
    }
    for (; next != result.offsets.end(); ++next)
      plan.taskBufferOffsets.push_back(base + *next);
  }

  /// Packs the frames by themselves, then the rest around them. Frames are few,
  /// large and live long, and a small block in a gap between two of them would
  /// leave no room for the next frame.
  PackResult packBlocks(const PackProblem &blocks, PackResult &placed) {
    size_t numFrames =
        blocks.items.size() - problem.tasks.size() - problem.taskBuffers.size();
    int64_t bound = getLargest(getLiveProfile(blocks));
    // There are too many parts for a window of the search to look ahead.
    WorkBudget heuristics(options.packingWork),
        search(plan.hasParts() ? options.searchWork / 10 : options.searchWork);
    PackProblem frames = blocks;
    frames.items.resize(numFrames);
    int64_t frameBound = getLargest(getLiveProfile(frames));
    placed =
        packThenSearch(frames, frameBound, frameBound + acceptableExcess / 4,
                       heuristics, search);
    PackProblem all = blocks;
    for (size_t i = 0; i < numFrames; ++i)
      all.items[i].fixedOffset = placed.offsets[i];
    PackResult best = packInBestOrder(all, bound, heuristics);
    best.packer = "frames " + placed.packer + ", others " + best.packer;
    if (best.peak <= bound + acceptableExcess / 4)
      return best;
    PackResult mixed = packInBestOrder(blocks, bound, heuristics);
    mixed.packer = "mixed " + mixed.packer;
    return mixed.peak < best.peak ? mixed : best;
  }

  /// Returns the blocks that tasks need: the parts of frame instances, then the
  /// scratch of each task, then task buffers.
  PackProblem getBlocks() const {
    PackProblem pack;
    pack.numSections = sections.getNumSections();
    auto add = [&](int32_t begin, int32_t end, int64_t size) {
      PackItem item;
      item.begin = begin;
      item.end = end;
      item.size = size;
      item.alignment = problem.alignment;
      pack.items.push_back(item);
    };
    for (const FrameInstance &instance : instances.getAll())
      for (const FramePart &part : plan.frames[instance.frame].parts)
        add(sections.get(getMoment(problem, instance, part.first)),
            sections.get(getMoment(problem, instance, part.last)), part.size);
    for (const auto &[index, task] : llvm::enumerate(problem.tasks))
      add(sections.getFirst(static_cast<int64_t>(index)),
          sections.getFirst(static_cast<int64_t>(index + 1)),
          plan.routines[task.routine].scratchSize);
    for (const TaskBuffer &buffer : problem.taskBuffers)
      add(sections.get(buffer.begin), sections.get(buffer.end),
          problem.alignedSize(buffer.size));
    return pack;
  }

  const StepProblem &problem;
  const StepPlanOptions &options;
  FrameInstances instances;
  StepSections sections;
  StepPlan plan;
  /// The bytes by which the arena may exceed the bound.
  int64_t acceptableExcess = 0;
  /// For each frame and each routine, whether it was packed with full effort.
  std::vector<char> triedFrames;
  std::vector<char> triedRoutines;
};

} // namespace

llvm::Expected<StepPlan> planStep(const StepProblem &problem,
                                  const StepPlanOptions &options) {
  if (llvm::Error error = problem.check())
    return std::move(error);
  return StepPlanner(problem, options).run();
}

} // namespace mf::memory
