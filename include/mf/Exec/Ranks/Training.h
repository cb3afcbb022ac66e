//===- Training.h - A training run ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the training of mf-run on an engine: it reads batches, prints
// loss-monitor lines, and writes checkpoints, safetensors files and a report.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_RANKS_TRAINING_H
#define MF_EXEC_RANKS_TRAINING_H

#include "mf/Exec/Ranks/InitialValues.h"
#include "mf/Exec/Ranks/RankEngine.h"
#include "mf/Exec/Ranks/TensorDump.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

namespace mf {
class TurnSchedule;
} // namespace mf

namespace mf::ranks {

/// The options of a training run. An empty path disables its file.
struct TrainingOptions {
  /// The number of steps of the whole run, including those before a resumed
  /// checkpoint.
  int64_t steps = 1;
  uint64_t seed = 0;
  int threads = 0;
  bool debugMemory = false;
  /// The rates of the link to the host in bytes per second; 0 for no limit.
  double deviceToHostRate = 0;
  double hostToDeviceRate = 0;
  /// Decides the order of a program's streams. Null runs threads freely.
  std::shared_ptr<TurnSchedule> turns;
  /// Receives the results of operators in the last step, and is written
  /// afterwards. Null keeps nothing.
  std::shared_ptr<TensorDump> dump;
  /// Suppresses loss-monitor lines and remarks.
  bool quiet = false;

  /// The program's file, for the report.
  std::string programPath;
  /// For the report: what was proven of a program (ProgramProof::describe),
  /// or "off"; empty for a model.
  std::string verification;
  std::string dataPath;
  std::string initParamsPath;
  /// Adapters, which override tensors of the same names in the file of
  /// parameters.
  std::string initAdaptersPath;

  std::string saveParamsPath;
  /// A file for the parameters that the optimizer trains.
  std::string saveTrainablePath;
  /// A file for the gradients of the last step.
  std::string dumpGradientsPath;
  /// A folder for `step_000001.safetensors` and so on.
  std::string dumpGradientsFolder;
  std::string reportPath;

  std::string checkpointFolder;
  /// 0 writes a checkpoint only at the end.
  int64_t checkpointEvery = 0;
  /// 0 keeps all.
  int64_t keepCheckpoints = 5;
  /// Continues from the newest checkpoint, if there is one.
  bool resume = false;

  /// Records the times of the work in the last step, also for a report.
  bool recordsStep = false;
  /// Measures, after the last step, the rates from which its kernels' lower
  /// bounds are computed (StepTimeline::rates). Requires recordsStep.
  bool measuresRates = false;
  /// The target whose peak utilisations refer to; empty if there is none.
  std::string targetName;
  double peakFlopsPerSecond = 0;

  // The members below are used by comparisons of modules.
  /// The number of micro-batches in a step, if a model has no training
  /// configuration that defines it.
  int64_t microBatches = 1;
  /// Called for each trained parameter.
  TensorChange changeParameter;

  /// Returns whether gradients of any step are collected.
  bool dumpsGradients() const {
    return !dumpGradientsPath.empty() || !dumpGradientsFolder.empty() || dump;
  }

  /// Returns the files of initial parameters. Later ones override earlier ones.
  std::vector<std::string> getInitPaths() const {
    std::vector<std::string> paths;
    for (const std::string &path : {initParamsPath, initAdaptersPath})
      if (!path.empty())
        paths.push_back(path);
    return paths;
  }
};

/// Runs a training on `engine`, whose program must have been verified.
/// Loss-monitor lines are written whole to `out`; if `isTerminal` is true, a
/// line of progress follows each. `note` receives remarks for the user.
/// Everything that can be checked before the first step is checked then. If the
/// engine's ranks are in several processes, all of them must call it; only the
/// first one prints.
llvm::Error train(RankEngine &engine, const TrainingOptions &options,
                  llvm::raw_ostream &out, bool isTerminal, NoteUser note);

} // namespace mf::ranks

#endif // MF_EXEC_RANKS_TRAINING_H
