//===- ProgramEngine.h - Steps of a program on a runner --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_RUNNER_PROGRAMENGINE_H
#define MF_EXEC_RUNNER_PROGRAMENGINE_H

#include "mf/Exec/Ranks/Training.h"
#include "mf/Exec/Runner/ModelState.h"
#include "mf/Exec/Runner/ProcessGroup.h"
#include "mf/Perf/Timeline/StepTimeline.h"

namespace mf::runner {

/// Runs a program on emulated devices for a training run. Errors about a part
/// of the program are LocatedErrors.
class ProgramEngine : public ranks::RankEngine {
public:
  /// Called with the timeline of the last step.
  using TimelineUser =
      std::function<llvm::Error(const timeline::StepTimeline &)>;

  /// `program` and `options` must outlive the engine. With `processes`, whose
  /// ranks must be placed, all of them make an engine for the same program.
  /// `useTimeline` is called in the first process if the options record the
  /// last step.
  ProgramEngine(const program::Program &program,
                const ranks::TrainingOptions &options,
                ProcessGroup *processes = nullptr,
                TimelineUser useTimeline = nullptr)
      : program(program), options(options), processes(processes),
        useTimeline(std::move(useTimeline)) {}

  /// Sets the experts that routers choose, instead of those with the highest
  /// scores.
  void setRouterChoices(std::shared_ptr<RouterChoices> choices) {
    routerChoices = std::move(choices);
  }

  /// Returns the losses that the last step reported, by name.
  const std::map<std::string, double> &getLosses() const { return losses; }

  ranks::TrainingProperties getProperties() const override;
  llvm::Error check() override;
  llvm::Error start(ranks::NoteUser note) override;
  llvm::Expected<ranks::StepOutput>
  runStep(const ranks::StepInput &input,
          llvm::function_ref<llvm::Error()> useGradients) override;
  llvm::Expected<ranks::WholeTensors> collectGradients() const override {
    return state->collectGradients();
  }
  llvm::Expected<ranks::WholeTensors> collectParameters() const override {
    return state->collectParameters();
  }
  llvm::Expected<ranks::WholeTensors> collectTrained() const override {
    return state->collectTrained();
  }
  llvm::Error saveRank(int64_t rank, llvm::StringRef path) const override {
    return state->saveRank(rank, path);
  }
  llvm::Error loadRanks(llvm::ArrayRef<std::string> paths) override {
    return state->loadRanks(paths);
  }
  void startRecord() override;
  llvm::Error takeRecord(Time begin, Time end) override;
  llvm::Error useRecord() override;
  llvm::Error addRanks(RunReport &report) override;
  void addMembers(llvm::json::OStream &json) const override;
  bool isWriter() const override { return !processes || processes->isFirst(); }
  llvm::Error agree(llvm::Error own) override {
    return processes ? processes->agree(std::move(own)) : std::move(own);
  }
  llvm::Error expectSame(llvm::ArrayRef<ranks::SharedValue> values) override {
    return processes ? processes->expectSame(values) : llvm::Error::success();
  }

private:
  llvm::Error createRunner();
  bool recordsSteps() const { return !processes || processes->isOneMachine(); }
  RankMeasurement measureRank(int64_t rank) const;

  const program::Program &program;
  const ranks::TrainingOptions &options;
  /// Null if there is a single process.
  ProcessGroup *processes;
  TimelineUser useTimeline;
  std::shared_ptr<RouterChoices> routerChoices;

  std::unique_ptr<Runner> runner;
  std::optional<ModelState> state;
  StepRecord record;
  /// The losses of the last step, by name.
  std::map<std::string, double> losses;
  /// The timeline of the last step, after it has ended.
  std::optional<timeline::StepTimeline> timeline;
};

} // namespace mf::runner

#endif // MF_EXEC_RUNNER_PROGRAMENGINE_H
