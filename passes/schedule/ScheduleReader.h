//===- ScheduleReader.h - Reads schedules from the IR -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_SCHEDULE_SCHEDULEREADER_H
#define MF_PASSES_SCHEDULE_SCHEDULEREADER_H

#include "passes/schedule/ModelChunks.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <tuple>

namespace mf::passes {

/// The key by which sends and receives are matched: sending and receiving
/// stage, channel, micro-batch and piece.
using MessageKey =
    std::tuple<int64_t, int64_t, llvm::StringRef, int64_t, int64_t>;

/// The `mf.schedule`s of a model as one schedule.
struct ModelSchedule {
  schedule::Schedule schedule;
  /// For each stage and position, the operator that runs the task.
  std::vector<std::vector<mlir::Operation *>> runs;
  /// The task that each of these operators runs, by stage.
  llvm::MapVector<mlir::Operation *, schedule::Task> tasks;
  std::map<MessageKey, ir::SendOp> sends;
};

/// Reads the schedules of `model`, which has `chunks`. Fails if a stage has two
/// schedules or is not part of the pipeline, if two messages have the same key,
/// or if an operator is not a task. It does not check that the stages can run
/// the schedule. For a chunk with two versions it sets in the pipeline of
/// `chunks` which version runs for which micro-batch.
mlir::FailureOr<ModelSchedule> readSchedules(ir::ModelOp model,
                                             ModelChunks &chunks);

} // namespace mf::passes

#endif // MF_PASSES_SCHEDULE_SCHEDULEREADER_H
