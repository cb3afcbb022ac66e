//===- ScheduleBuilder.h - Schedules as IR ---------------------*- C++ -*-===//

#ifndef MF_PASSES_SCHEDULE_SCHEDULEBUILDER_H
#define MF_PASSES_SCHEDULE_SCHEDULEBUILDER_H

#include "mf/Schedule/Transfers.h"
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

  /// `update` runs at the end, if there is one.
  void build(int64_t stage, ir::UpdateOp update);

private:
  /// Of a chunk and a micro-batch: the values that its runs hand to others.
  struct Run {
    llvm::SmallVector<mlir::Value> inputs, outputs;
    llvm::SmallVector<mlir::Value> outputGradients, inputGradients;
    mlir::Value frame;
  };

  void build(const schedule::Task &task);
  void runForward(const schedule::Task &task);
  void runBackward(const schedule::Task &task);
  void runBackwardWeights(const schedule::Task &task);
  void addInputs(const schedule::Task &task, Run &run);
  void addOutputGradients(const schedule::Task &task, Run &run);
  mlir::Value load(const schedule::Task &task, int64_t argument);
  mlir::Value receive(const schedule::Task &task, int64_t from, int64_t value,
                      mlir::Type type);
  void send(const schedule::Task &task, int64_t to, mlir::ValueRange values);
  Run &getRun(int64_t chunk, int64_t microBatch) {
    return runs[chunk * chunks.pipeline.microBatches + microBatch];
  }
  int64_t getNumber(const schedule::Task &task) const {
    return static_cast<int64_t>(task.phase) *
               static_cast<int64_t>(runs.size()) +
           task.chunk * chunks.pipeline.microBatches + task.microBatch;
  }

  ir::ModelOp model;
  ModelChunks &chunks;
  const schedule::Schedule &schedule;
  mlir::OpBuilder builder;
  mlir::Location loc;
  std::vector<Run> runs;
  /// By the number of the task: when what it reads is received and what it
  /// makes is sent.
  llvm::DenseMap<int64_t, int64_t> ahead, behind;
};

} // namespace mf::passes

#endif // MF_PASSES_SCHEDULE_SCHEDULEBUILDER_H
