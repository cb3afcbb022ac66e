//===- TrainingRun.h - A training run in this process ----------*- C++ -*-===//

#ifndef MF_LIB_RUNNER_TRAININGRUN_H
#define MF_LIB_RUNNER_TRAININGRUN_H

#include "mf/Data/BatchReader.h"
#include "mf/Data/LrSchedule.h"
#include "mf/Data/RunReport.h"
#include "mf/Ranks/LossScaler.h"
#include "mf/Runner/ModelState.h"
#include "mf/Runner/ProcessGroup.h"
#include "mf/Runner/Trainer.h"

namespace mf::runner {

/// What a run has from its files, and how far it has come.
class TrainingRun {
public:
  TrainingRun(const program::Program &program, const TrainingOptions &options,
              llvm::raw_ostream &out, bool isTerminal,
              llvm::function_ref<void(llvm::StringRef)> note,
              ProcessGroup *processes, TimelineUser useTimeline)
      : program(program), options(options), out(out), isTerminal(isTerminal),
        note(note), processes(processes), useTimeline(useTimeline),
        scaler(program.lossScale) {}

  llvm::Error run();

private:
  llvm::Error prepare();
  llvm::Error checkOutputs() const;
  llvm::Error openData();
  llvm::Error openSchedule();
  llvm::Error start();
  llvm::Error resume();
  llvm::Error checkStart();
  llvm::Error runStep(int64_t step);
  llvm::Error dumpGradients(int64_t step);
  llvm::Error saveCheckpoint(int64_t step);
  void printStep(const StepMeasurement &step) const;
  llvm::Error writeResults();
  llvm::Error writeReport();
  RankMeasurement measureRank(int64_t rank) const;

  bool recordsStep(int64_t step) const {
    return step == options.steps &&
           (options.recordsStep || !options.reportPath.empty()) &&
           (!processes || processes->isOneMachine());
  }
  void recordNextStep();
  llvm::Error readTimeline();

  /// Whether this process writes files.
  bool isWriter() const { return !processes || processes->isFirst(); }

  bool dumpsGradients(int64_t step) const {
    return !options.dumpGradientsFolder.empty() ||
           (!options.dumpGradientsPath.empty() && step == options.steps);
  }

  const program::Program &program;
  const TrainingOptions &options;
  llvm::raw_ostream &out;
  const bool isTerminal;
  llvm::function_ref<void(llvm::StringRef)> note;
  /// Null for one process.
  ProcessGroup *processes;
  TimelineUser useTimeline;

  std::optional<BatchReader> reader;
  std::optional<mf::LrSchedule> schedule;
  std::unique_ptr<Runner> runner;
  std::optional<ModelState> state;
  /// Steps done when the run begins.
  int64_t stepsDone = 0;
  /// Steps so far that changed the parameters. The optimizer and the learning
  /// rate count these, as MindSpore's global_step does.
  int64_t updates = 0;
  ranks::LossScaler scaler;
  std::vector<int32_t> tokens, labels;
  RunReport report;
  StepRecord record;
  /// Of the last step, once it is over.
  std::optional<timeline::StepTimeline> timeline;
  /// FLOPs of all ranks in a step.
  double flopsPerStep = 0;
};

} // namespace mf::runner

#endif // MF_LIB_RUNNER_TRAININGRUN_H
