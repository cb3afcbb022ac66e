//===- StepPlan.h - Compact memory plan of a training step ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A plan assigns every buffer of a StepProblem an address in one arena. It
// holds offsets inside frames and inside the scratch memory of a routine once
// per chunk, the bases of the parts of each instance of a frame, and a scratch
// base for each task:
//
//   residual       base(instance, part) + residualOffset - part.begin
//   temporary      the same, where the task's own frame is not yet, or no
//                  longer, alive
//               or scratchBase(task) + offset
//   task buffer, persistent buffer         an offset in the arena
//
// The residuals of a frame with two phases form one part. With three phases,
// the residuals that die in the second phase, those that are born in it and
// those that live through it form separate parts, each with its own lifetime
// and place. Residuals that are born or die in the second phase are spread over
// several parts:
//
//   tasks     F0        I0        W0
//   part 0    |----------|
//   part 1    |-----------|
//   part 2    |---------------------|
//   part 3               |----------|
//   part 4                |---------|
//
// A task buffer, a frame or the scratch memory of another task may overlap a
// frame or scratch memory where nothing of it is live for the same time.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_MEMORY_STEPPLAN_H
#define MF_PROGRAM_MEMORY_STEPPLAN_H

#include "mf/Program/Memory/PackMemo.h"
#include "mf/Program/Memory/StepProblem.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::memory {

/// The place of a temporary in the frame of the task that runs it, or in the
/// task's scratch.
struct TemporaryPlace {
  bool isInFrame = false;
  int64_t offset = 0;
};

/// The layout of a routine's temporaries, in the order of the problem.
/// `scratchSize` is 0 if all of them are in the frame.
struct RoutineLayout {
  int64_t scratchSize = 0;
  std::vector<TemporaryPlace> temporaries;
  /// The name of the heuristic or search that found it.
  std::string packer;
};

/// An instruction of one of the phases of a frame.
struct PhaseMoment {
  int64_t phase = 0;
  int64_t instruction = 0;
};

/// The offsets [begin, begin + size) of a frame. The arena holds them from
/// instruction `first` until before instruction `last`.
struct FramePart {
  int64_t begin = 0;
  int64_t size = 0;
  PhaseMoment first;
  PhaseMoment last;

  /// Returns the instructions [begin, end) of a phase of `length` instructions
  /// during which the part is in the arena.
  std::pair<int64_t, int64_t> getRange(int64_t phase, int64_t length) const;
};

/// The layout of a frame: its size, its parts in the order of their begins, and
/// the offset of each residual in it. Every residual lies in one part.
struct PlannedFrame {
  int64_t size = 0;
  std::vector<FramePart> parts;
  std::vector<int64_t> residualOffsets;
  /// The name of the way in which residuals are laid out.
  std::string packer;

  /// Returns the index of the part that contains the offset.
  size_t getPart(int64_t offset) const;
};

/// One instance of a frame: the tasks that run its phases, in order, and the
/// base of each part in the arena.
struct FrameInstance {
  int64_t frame = 0;
  std::vector<int64_t> tasks;
  std::vector<int64_t> bases;
};

/// The plan. Vectors are in the order of the problem's vectors.
struct StepPlan {
  std::vector<PlannedFrame> frames;
  std::vector<RoutineLayout> routines;
  /// In the order of their first tasks.
  std::vector<FrameInstance> instances;
  /// By task; 0 for a routine whose scratch is empty.
  std::vector<int64_t> scratchBases;
  std::vector<int64_t> taskBufferOffsets;
  std::vector<int64_t> persistentOffsets;
  int64_t arenaSize = 0;
  /// The name of the heuristic or search that placed frames, scratch and task
  /// buffers.
  std::string packer;
  /// StepProblem::maxLive() of the planned problem.
  StepLiveBound bound;

  /// True if some frame has more than one part.
  bool hasParts() const;

  /// Returns the distance of the arena from the bound, relative to the bound.
  double getGap() const;

  /// True if it is proven that no smaller arena exists, because the arena
  /// equals the bound. An arena above the bound may be the smallest too.
  bool isOptimal() const { return arenaSize <= bound.bytes; }

  /// Checks that the plan is legal for `problem`: shapes agree, everything is
  /// aligned and inside the arena, and no two buffers that are live at the same
  /// time overlap. The check is exact: a buffer may lie in a hole of a frame or
  /// of scratch memory of any task.
  llvm::Error verify(const StepProblem &problem) const;

  /// Returns which packers found the plan, and how many layouts each:
  /// "routines: in time 3; frames: birth 1; blocks: contention".
  std::string describePackers() const;
};

/// Limits on the planner's work. Work is counted, not timed: the same problem
/// and options give the same plan on every machine. The search gets at most 16
/// operations for each byte that it may save.
struct StepPlanOptions {
  /// The planner tries to improve the plan while the relative distance from the
  /// bound is more than this.
  double acceptableGap = 0.001;
  /// Elementary operations of the heuristics per packing, as solveFirstFit()
  /// has.
  int64_t packingWork = 1'000'000;
  /// Elementary operations of the search per packing, which runs where the
  /// heuristics leave more than the acceptable gap. Placing frames in parts may
  /// use a tenth of it.
  int64_t searchWork = 30'000'000;
  /// Elementary operations of packing frames, scratch and task buffers by their
  /// exact shapes.
  int64_t shapeWork = 15'000'000;
  /// Frames of three phases may consist of several parts.
  bool splitFrames = true;
  /// Packings of earlier plans. Null disables the cache.
  std::shared_ptr<PackMemo> memo = nullptr;
};

/// Plans a well-formed problem. Returns the error of check() for any other.
llvm::Expected<StepPlan> planStep(const StepProblem &problem,
                                  const StepPlanOptions &options = {});

} // namespace mf::memory

#endif // MF_PROGRAM_MEMORY_STEPPLAN_H
