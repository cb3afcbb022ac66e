//===- Schedule.h - Order of the tasks of a pipeline ----------*- C++ -*-===//
//
// A training step on a pipeline of stages as tasks: what is computed of which
// chunk of the model for which micro-batch. A schedule says in which order
// every stage runs its tasks. Built by a Policy (Policy.h). Knows no MLIR.
//
// A chunk is a piece of consecutive layers on one stage; chunks are numbered in
// the order in which a micro-batch passes through them. A stage may hold
// several (interleaved schedules).
//
//===----------------------------------------------------------------------===//

#ifndef MF_SCHEDULE_SCHEDULE_H
#define MF_SCHEDULE_SCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mf::schedule {

/// The part of its chunk's work that a task computes. A backward is either
/// whole or split into an input gradient, which the stage before waits for, and
/// a weight gradient, which nobody waits for. Recompute may be a task before
/// it, which waits for no gradient.
enum class Phase : uint8_t {
  Forward,
  Backward,
  InputGradient,
  WeightGradient,
  Recompute
};

/// `F`, `B`, `I`, `W` or `R`.
char getLetter(Phase phase);

/// Duration in the time by which schedules are made: forward 1, backward 2,
/// input gradient 1, weight gradient 1, recompute 1.
int64_t getUnitTime(Phase phase);

/// One run of one phase of a chunk, for a micro-batch or one piece of its
/// sequence. All numbers count from 0.
struct Task {
  Phase phase = Phase::Forward;
  int32_t chunk = 0;
  int32_t microBatch = 0;
  int32_t piece = 0;

  bool operator==(const Task &other) const {
    return phase == other.phase && chunk == other.chunk &&
           microBatch == other.microBatch && piece == other.piece;
  }
  bool operator!=(const Task &other) const { return !(*this == other); }
};

/// The input of a policy: chunks in the order of execution, placed on stages.
struct Pipeline {
  int64_t stages = 1;
  /// The stage of each chunk.
  std::vector<int64_t> stageOfChunk = {0};
  int64_t microBatches = 1;
  /// Into how many pieces of its sequence a micro-batch is cut. A piece's
  /// forward reads what those before it kept on the stage; gradients come back
  /// from the last piece to the first.
  int64_t pieces = 1;
  /// The chunks before this one run forwards alone: nothing in them is trained,
  /// so no gradient is sent to them.
  int64_t firstTrained = 0;
  /// By chunk and, within it, micro-batch: whether a task of its own recomputes
  /// for its backward. Empty if none does.
  std::vector<bool> recomputed = {};

  /// Whether the chunk's backward of a micro-batch has a recompute task.
  bool recomputes(int64_t chunk, int64_t microBatch) const {
    return !recomputed.empty() && chunk >= firstTrained &&
           recomputed[chunk * microBatches + microBatch];
  }
  /// Gives all micro-batches of a chunk recompute tasks.
  void addRecompute(int64_t chunk);

  /// Whether the pipeline has tasks of that phase of a chunk, which is no
  /// recompute.
  bool runs(Phase phase, int64_t chunk) const {
    return phase == Phase::Forward || chunk >= firstTrained;
  }
  /// Whether the pipeline has a task of one of its chunks and micro-batches.
  bool runs(const Task &task) const {
    return task.phase == Phase::Recompute
               ? recomputes(task.chunk, task.microBatch)
               : runs(task.phase, task.chunk);
  }
  int64_t getNumChunks() const {
    return static_cast<int64_t>(stageOfChunk.size());
  }
  /// By stage: its chunks, in the order of execution.
  std::vector<std::vector<int32_t>> getChunksOfStages() const;

  /// Tells whether there are stages and micro-batches, every stage has a chunk
  /// and every chunk a stage, and the tasks are few enough to be listed.
  llvm::Error check() const;

  /// `F0.3`: forward of chunk 0 for micro-batch 3; `F3` where every stage has
  /// one chunk, whose number is then that of the stage. `F3/1` for piece 1 of
  /// the sequence, where there are pieces.
  std::string getName(const Task &task) const;
};

/// The order of the tasks of every stage.
struct Schedule {
  /// The policy's name.
  std::string name;
  Pipeline pipeline;
  /// Backwards are input and weight gradients.
  bool splitsBackward = false;
  /// The tasks of each stage, in order.
  std::vector<std::vector<Task>> stages;
  /// By stage and position: whether the task runs in one slot with the one
  /// behind it. Empty if every task has a slot of its own. A slot has a forward
  /// and then a backward, or one or both of its halves, of another micro-batch
  /// or chunk: the one may compute while the other communicates. It starts when
  /// all of its tasks can, and they end together.
  std::vector<std::vector<bool>> pairs = {};

  /// Whether the task at a position runs in one slot with the one behind it.
  bool isPairedWithNext(int64_t stage, int64_t position) const {
    return !pairs.empty() && pairs[stage][position];
  }
  /// The position behind the last task of the slot of the task at `position`,
  /// and that of its first.
  int64_t getSlotEnd(int64_t stage, int64_t position) const;
  int64_t getSlotBegin(int64_t stage, int64_t position) const;

  /// Tells whether the stages can run this: every task once, on the stage of
  /// its chunk; each backward after its forward, each weight gradient after its
  /// input gradient; gradients of a chunk in ascending order of micro-batches
  /// (they add up in one order in all schedules); pieces of a micro-batch in
  /// order, and their gradients the other way; slots of a forward and then
  /// gradients; and no deadlock. Errors name two tasks and where they are
  /// (ScheduleError.h).
  llvm::Error verify() const;

  /// A line per stage: `stage 0: F0 F1&B0 B1`, where F1 and B0 share a slot.
  void print(llvm::raw_ostream &os) const;

  /// When each task starts, stage by stage and in order, if every task starts
  /// as soon as its stage and its inputs allow, takes getUnitTime(), and
  /// transfers take no time. Tasks of a slot take turns: a slot lasts as long
  /// as its tasks one after the other. The schedule must verify.
  std::vector<std::vector<int64_t>> getUnitStarts() const;

  /// The time that stages idle as a share of that in which they work, in the
  /// times of getUnitStarts(): (stages - 1) / micro-batches for 1F1B. The
  /// schedule must verify.
  double getUnitBubble() const;

  /// Calls `visit(task, isHeld)` for each task of a stage from which on an
  /// activation of the task's chunk is held, or is held no longer. Forwards
  /// make them, or recompute tasks where there are any; backwards end them, or
  /// weight gradients if backwards are split. Chunks without backwards hold
  /// none.
  template <typename Visit>
  void visitActivations(int64_t stage, Visit visit) const {
    const Phase last = splitsBackward ? Phase::WeightGradient : Phase::Backward;
    for (const Task &task : stages[stage]) {
      const Phase first = pipeline.recomputes(task.chunk, task.microBatch)
                              ? Phase::Recompute
                              : Phase::Forward;
      if (pipeline.runs(last, task.chunk) &&
          (task.phase == first || task.phase == last))
        visit(task, task.phase == first);
    }
  }

  /// Calls `visit` at each task of a stage that makes an activation with the
  /// numbers of activations that it then holds of each of its chunks, in the
  /// order of execution.
  void
  visitInFlight(int64_t stage,
                llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) const;

  /// The most activations that a stage holds at once, of all its chunks and of
  /// each.
  int64_t getMaxInFlight(int64_t stage) const;
  std::vector<int64_t> getMaxInFlightOfChunks(int64_t stage) const;
};

} // namespace mf::schedule

#endif // MF_SCHEDULE_SCHEDULE_H
