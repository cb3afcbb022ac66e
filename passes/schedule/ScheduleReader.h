//===- ScheduleReader.h - Schedules of the IR as a plain one ---*- C++ -*-===//

#ifndef MF_PASSES_SCHEDULE_SCHEDULEREADER_H
#define MF_PASSES_SCHEDULE_SCHEDULEREADER_H

#include "passes/schedule/ModelChunks.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <tuple>

namespace mf::passes {

/// By which sends and receives find each other: sending and receiving stage,
/// channel, micro-batch and piece.
using MessageKey =
    std::tuple<int64_t, int64_t, llvm::StringRef, int64_t, int64_t>;

/// The `mf.schedule`s of a model, read back as one schedule.
struct ModelSchedule {
  schedule::Schedule schedule;
  /// By stage and position: the operator that runs the task.
  std::vector<std::vector<mlir::Operation *>> runs;
  /// The task that each of these operators runs, stage by stage.
  llvm::MapVector<mlir::Operation *, schedule::Task> tasks;
  std::map<MessageKey, ir::SendOp> sends;
};

/// Reads the schedules of `model`, which has `chunks`. An error if a stage has
/// two or is none of the pipeline's, if two messages are the same, or if an
/// operator is no task. Whether the stages can run it is not looked at.
mlir::FailureOr<ModelSchedule> readSchedules(ir::ModelOp model,
                                             const ModelChunks &chunks);

} // namespace mf::passes

#endif // MF_PASSES_SCHEDULE_SCHEDULEREADER_H
