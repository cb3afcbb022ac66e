//===- ScheduleBuilder.h - Schedules as IR ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_SCHEDULE_SCHEDULEBUILDER_H
#define MF_PASSES_SCHEDULE_SCHEDULEBUILDER_H

#include "mf/Pipeline/Transfers.h"
#include "passes/schedule/ModelChunks.h"
#include "llvm/ADT/StringMap.h"

namespace mf::passes {

/// Makes the `mf.schedule` of each stage: the runs in the order of a schedule,
/// and between them loads, receives and sends.
class ScheduleBuilder {
public:
  ScheduleBuilder(ir::ModelOp model, ModelChunks &chunks,
                  const schedule::Schedule &schedule,
                  llvm::ArrayRef<schedule::Transfer> transfers);

  /// Builds the schedule of a stage. `update` runs at the end, if there is one.
  void build(int64_t stage, ir::UpdateOp update);

private:
  /// The values that the runs of a chunk for a micro-batch pass to others.
  struct Run {
    llvm::SmallVector<mlir::Value> inputs, outputs;
    llvm::SmallVector<mlir::Value> outputGradients, inputGradients;
    mlir::Value frame;
  };

  /// These return the run that they make.
  mlir::Operation *build(const schedule::Task &task);
  mlir::Operation *runForward(const schedule::Task &task);
  mlir::Operation *runRecompute(const schedule::Task &task);
  mlir::Operation *runBackward(const schedule::Task &task);
  mlir::Operation *runBackwardWeights(const schedule::Task &task);
  void addInputs(const schedule::Task &task, Run &run);
  void addOutputGradients(const schedule::Task &task, Run &run);
  /// Adds the arguments and outputs of forward at these indices, which a
  /// function takes again.
  static void addOfForward(const Run &run, mlir::ArrayAttr arguments,
                           mlir::ArrayAttr outputs,
                           llvm::SmallVectorImpl<mlir::Value> &values);
  mlir::Value load(const schedule::Task &task, int64_t argument);
  /// Add the values that earlier and later pieces pass to a run.
  void addPast(const schedule::Task &task, Run &run);
  void addFutureGradients(const schedule::Task &task, Run &run);
  mlir::Value receive(const schedule::Task &task, int64_t value,
                      mlir::Type type);
  /// Sends the results of `task` to the stage that reads them, if there is one.
  void send(const schedule::Task &task, mlir::ValueRange values);
  Run &getRun(const schedule::Task &task) {
    return runs[getPlace(task.chunk, task.microBatch, task.piece)];
  }
  int64_t getPlace(int64_t chunk, int64_t microBatch, int64_t piece) const {
    return (chunk * chunks.pipeline.microBatches + microBatch) *
               chunks.pipeline.pieces +
           piece;
  }
  int64_t getNumber(const schedule::Task &task) const {
    return static_cast<int64_t>(task.phase) *
               static_cast<int64_t>(runs.size()) +
           getPlace(task.chunk, task.microBatch, task.piece);
  }

  ir::ModelOp model;
  ModelChunks &chunks;
  const schedule::Schedule &schedule;
  mlir::OpBuilder builder;
  mlir::Location loc;
  std::vector<Run> runs;
  /// The step inputs that all pieces of a micro-batch read, by chunk,
  /// micro-batch of the step and kind. A run of several copies has as many
  /// micro-batches.
  llvm::DenseMap<std::tuple<int64_t, int64_t, ir::InputKind>, mlir::Value>
      loads;
  /// For each task, how early its inputs are received and how late its outputs
  /// are sent.
  llvm::DenseMap<int64_t, int64_t> ahead, behind;
};

} // namespace mf::passes

#endif // MF_PASSES_SCHEDULE_SCHEDULEBUILDER_H
