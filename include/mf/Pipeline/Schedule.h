//===- Schedule.h - Order of the tasks of a pipeline ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A training step on a pipeline of stages, as tasks. Each task computes one
// phase of one chunk of the model for one micro-batch. A schedule is the order
// in which every stage runs its tasks. Policies (Policy.h) make schedules. This
// library does not depend on MLIR.
//
// A chunk consists of consecutive layers on one stage. Chunks are numbered in
// the order in which a micro-batch passes through them. A stage may hold
// several chunks (interleaved schedules).
//
//===----------------------------------------------------------------------===//

#ifndef MF_PIPELINE_SCHEDULE_H
#define MF_PIPELINE_SCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mf::schedule {

/// The phase of its chunk that a task computes. A backward is either whole or
/// split into an input gradient, which the previous stage waits for, and a
/// weight gradient, which no other task waits for. Recompute may be a separate
/// task before the backward. It waits for no gradient.
enum class Phase : uint8_t {
  Forward,
  Backward,
  InputGradient,
  WeightGradient,
  Recompute
};

/// Returns `F`, `B`, `I`, `W` or `R`.
char getLetter(Phase phase);

/// Returns the duration of a phase in the unit time that policies use: forward
/// 1, backward 2, input gradient 1, weight gradient 1, recompute 1.
int64_t getUnitTime(Phase phase);

/// One run of one phase of a chunk, for a micro-batch or for one piece of its
/// sequence. All indices count from 0.
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
  /// The number of pieces into which the sequence of a micro-batch is cut. The
  /// forward of a piece reads residuals of the earlier pieces on the stage.
  /// Gradients are computed from the last piece to the first.
  int64_t pieces = 1;
  /// The chunks before this one have no trained parameters. They only run
  /// forwards, and no gradient is sent to them.
  int64_t firstTrained = 0;
  /// For each chunk and, within it, each micro-batch: whether a separate task
  /// recomputes for the backward. Empty if there are no such tasks.
  std::vector<bool> recomputed = {};

  /// Returns whether a recompute task precedes the chunk's backward of a
  /// micro-batch.
  bool recomputes(int64_t chunk, int64_t microBatch) const {
    return !recomputed.empty() && chunk >= firstTrained &&
           recomputed[chunk * microBatches + microBatch];
  }
  /// Gives all micro-batches of a chunk recompute tasks.
  void addRecompute(int64_t chunk);

  /// Returns whether the pipeline has tasks of that phase of a chunk. The phase
  /// must not be Recompute.
  bool runs(Phase phase, int64_t chunk) const {
    return phase == Phase::Forward || chunk >= firstTrained;
  }
  /// Returns whether the pipeline has the task. Its chunk and micro-batch must
  /// exist.
  bool runs(const Task &task) const {
    return task.phase == Phase::Recompute
               ? recomputes(task.chunk, task.microBatch)
               : runs(task.phase, task.chunk);
  }
  int64_t getNumChunks() const {
    return static_cast<int64_t>(stageOfChunk.size());
  }
  /// Returns the chunks of each stage in the order of execution.
  std::vector<std::vector<int32_t>> getChunksOfStages() const;

  /// Checks that there are stages and micro-batches, that every stage has a
  /// chunk and every chunk a stage, and that the tasks are few enough to be
  /// listed.
  llvm::Error check() const;

  /// Returns a name such as `F0.3`, the forward of chunk 0 for micro-batch 3.
  /// If every stage has one chunk, whose number equals that of the stage, the
  /// name is `F3`. If sequences are cut into pieces, it is `F3/1` for piece 1.
  std::string getName(const Task &task) const;
};

/// The order of the tasks of every stage.
struct Schedule {
  /// The name of the policy that made it.
  std::string name;
  Pipeline pipeline;
  /// True if backwards are split into input and weight gradients.
  bool splitsBackward = false;
  /// The tasks of each stage, in order.
  std::vector<std::vector<Task>> stages;
  /// For each stage and position: whether the task shares a slot with the next
  /// task. Empty if every task has a slot of its own. A slot has a forward
  /// followed by a backward of another micro-batch or chunk, or by one or both
  /// halves of it, so that one can compute while the other communicates. A slot
  /// starts when all of its tasks can start, and its tasks end together.
  std::vector<std::vector<bool>> pairs = {};

  /// Returns whether the task at a position shares a slot with the next task.
  bool isPairedWithNext(int64_t stage, int64_t position) const {
    return !pairs.empty() && pairs[stage][position];
  }
  /// Return the position after the last task, and that of the first task, of
  /// the slot that contains the task at `position`.
  int64_t getSlotEnd(int64_t stage, int64_t position) const;
  int64_t getSlotBegin(int64_t stage, int64_t position) const;

  /// Checks that the stages can run the schedule. Every task runs once, on the
  /// stage of its chunk, each backward after its forward and each weight
  /// gradient after its input gradient. Gradients of a chunk run in ascending
  /// order of micro-batches, so that all schedules add them in the same order.
  /// Pieces of a micro-batch run in order, and their gradients in reverse
  /// order. Slots have a forward followed by gradients. There is no deadlock.
  /// Errors name two tasks and their positions (ScheduleError.h).
  llvm::Error verify() const;

  /// Prints a line per stage, for example `stage 0: F0 F1&B0 B1`, where F1 and
  /// B0 share a slot.
  void print(llvm::raw_ostream &os) const;

  /// Returns the start times of all tasks, for each stage in order, if every
  /// task starts as soon as its stage and its inputs allow and takes
  /// getUnitTime(), and transfers take no time. The tasks of a slot run one
  /// after another. The schedule must verify.
  std::vector<std::vector<int64_t>> getUnitStarts() const;

  /// Returns the time in which stages are idle, divided by the time in which
  /// they compute, under the assumptions of getUnitStarts(). For 1F1B it is
  /// (stages - 1) / micro-batches. The schedule must verify.
  double getUnitBubble() const;

  /// Calls `visit(task, isHeld)` for each task of a stage that allocates an
  /// activation of its chunk (isHeld is true) or releases one. Forwards
  /// allocate activations, or recompute tasks if the chunk has them. Backwards
  /// release them, or weight gradients if backwards are split. Chunks without
  /// backwards hold none.
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

  /// Calls `visit` at each task of a stage that allocates an activation, with
  /// the number of activations that the stage then holds of each of its chunks,
  /// in the order of execution.
  void
  visitInFlight(int64_t stage,
                llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) const;

  /// Return the largest number of activations that a stage holds at once, of
  /// all its chunks together and of each of them.
  int64_t getMaxInFlight(int64_t stage) const;
  std::vector<int64_t> getMaxInFlightOfChunks(int64_t stage) const;
};

} // namespace mf::schedule

#endif // MF_PIPELINE_SCHEDULE_H
