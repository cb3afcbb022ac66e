//===- StepPlan.h - Compact memory plan of a training step ----*- C++ -*-===//
//
// A plan gives every buffer of a StepProblem its place in one arena. It holds
// offsets inside frames and inside the scratch of a routine once per chunk,
// and the bases of a frame's parts and one scratch base per task:
//
//   residual       frameBase(task, part) + residualOffset - part.begin
//   temporary      the same, where the task's own frame is not yet, or no
//                  longer, alive
//               or scratchBase(task) + offset
//   task buffer, persistent buffer         an offset in the arena
//
// The residuals of two phases make up a frame of one part. With three phases,
// those that die in the second one, those that are born in it, and those that
// live through it are parts that come and go, and are placed, apart; what comes
// and goes in the second phase does so in several steps, too:
//
//   tasks     F0        I0        W0
//   part 0    |----------|
//   part 1    |-----------|
//   part 2    |---------------------|
//   part 3               |----------|
//   part 4                |---------|
//
// A task buffer may lie where a frame or scratch has nothing alive for as long
// as the buffer lives, and so may another task's frame or scratch.
//
//===----------------------------------------------------------------------===//

#ifndef MF_MEMORY_STEPPLAN_H
#define MF_MEMORY_STEPPLAN_H

#include "mf/Program/Memory/PackMemo.h"
#include "mf/Program/Memory/StepProblem.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::memory {

/// Where a temporary is, relative to a base of the task that runs it.
struct TemporaryPlace {
  enum class Region { Frame, Scratch };
  Region region = Region::Scratch;
  int64_t offset = 0;
};

/// Layout of a routine's temporaries, in the order of the problem.
/// `scratchSize` is 0 if all of them are in the frame.
struct RoutineLayout {
  int64_t scratchSize = 0;
  std::vector<TemporaryPlace> temporaries;
};

/// An instruction of one of the phases of a frame.
struct PhaseMoment {
  int64_t phase = 0;
  int64_t instruction = 0;
};

/// Offsets [begin, begin + size) of a frame, which has them in the arena from
/// instruction `first` to before instruction `last`.
struct FramePart {
  int64_t begin = 0;
  int64_t size = 0;
  PhaseMoment first;
  PhaseMoment last;

  /// The instructions [begin, end) of a phase, which has `length`, at which it
  /// is there.
  std::pair<int64_t, int64_t> getRange(int64_t phase, int64_t length) const;
};

/// Layout of a frame: its size, the parts that make it up, by their begins, and
/// the offset of each residual in it. Every buffer lies in one part.
struct ResidualFrameLayout {
  int64_t size = 0;
  std::vector<FramePart> parts;
  std::vector<int64_t> residualOffsets;

  /// The number of the part that has the offset.
  size_t getPart(int64_t offset) const;
};

/// The bases of a task in the arena. `frameBases`, of a routine with frame, has
/// one for each part, the same in all tasks of an instance. `scratchBase` is 0
/// for a routine whose scratch is empty.
struct TaskBases {
  std::vector<int64_t> frameBases;
  int64_t scratchBase = 0;
};

/// The plan. All vectors are in the order of the problem's.
struct StepPlan {
  std::vector<ResidualFrameLayout> frames;
  std::vector<RoutineLayout> routines;
  std::vector<TaskBases> tasks;
  std::vector<int64_t> taskBufferOffsets;
  std::vector<int64_t> persistentOffsets;
  int64_t arenaSize = 0;
  /// StepProblem::maxLive() of the planned problem.
  StepLiveBound bound;

  /// Where an offset of the task's frame, which is frame `frame`, is.
  int64_t getFrameAddress(int64_t task, int64_t frame, int64_t offset) const;

  /// True if some frame has more than one part.
  bool hasParts() const;

  /// How far the arena is above the bound, relative to it.
  double getGap() const;

  /// True if no smaller arena exists. A larger one than the bound may be the
  /// smallest, too, but that is not known.
  bool isOptimal() const { return arenaSize <= bound.bytes; }

  /// Tells whether the plan is legal for `problem`: shapes agree, everything is
  /// aligned and inside the arena, and no two buffers that are alive together
  /// share an address. Exact: what lies in a hole of a frame or of scratch, of
  /// whatever task, is legal.
  llvm::Error verify(const StepProblem &problem) const;

  /// Prints the plan as text, a line per buffer and per task.
  void print(const StepProblem &problem, llvm::raw_ostream &os) const;
};

/// Limits on the planner's work. Work is counted, not timed: the same problem
/// and options give the same plan on every machine.
struct StepPlanOptions {
  /// Further improvement is tried while the arena is more than this above the
  /// bound.
  double acceptableGap = 0.001;
  /// Elementary steps of the heuristics per packing, see FirstFitOptions.
  int64_t packingWork = 1'000'000;
  /// Elementary steps of the search per packing, where the heuristics leave
  /// more than an acceptable gap; see CapacitySearchOptions. Placing frames in
  /// parts takes a tenth of it.
  int64_t searchWork = 30'000'000;
  /// Elementary steps of packing frames, scratch and task buffers as the shapes
  /// that they are.
  int64_t shapeWork = 15'000'000;
  /// Frames of three phases may consist of several parts.
  bool splitFrames = true;
  /// Packings that were made before; null if nothing is remembered.
  std::shared_ptr<PackMemo> memo = nullptr;
};

/// Plans a well-formed problem; an error of check() otherwise.
llvm::Expected<StepPlan> planStep(const StepProblem &problem,
                                  const StepPlanOptions &options = {});

} // namespace mf::memory

#endif // MF_MEMORY_STEPPLAN_H
