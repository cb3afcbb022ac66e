//===- Training.h - A training run ----------------------------*- C++ -*-===//
//
// Batches in, loss-monitor lines, checkpoints, safetensors files and a report
// out: what mf-run does once something runs the steps.
//
//===----------------------------------------------------------------------===//

#ifndef MF_RANKS_TRAINING_H
#define MF_RANKS_TRAINING_H

#include "mf/Exec/Ranks/InitialValues.h"
#include "mf/Exec/Ranks/RankEngine.h"
#include "mf/Exec/Ranks/TensorDump.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

namespace mf {
class FaultSchedule;
} // namespace mf

namespace mf::ranks {

/// Empty paths mean that there is no such file.
struct TrainingOptions {
  /// Steps of the whole run, those before a resumed checkpoint included.
  int64_t steps = 1;
  uint64_t seed = 0;
  int threads = 0;
  bool debugMemory = false;
  /// Rates of the link to the host in bytes per second; 0 is without limit.
  double deviceToHostRate = 0;
  double hostToDeviceRate = 0;
  /// Decides the order of a program's streams and which fault happens; null
  /// lets threads run as they come.
  std::shared_ptr<FaultSchedule> faults;
  /// Gets what operators make in the last step, and is written behind it; null
  /// if nothing is to be kept.
  std::shared_ptr<TensorDump> dump;
  /// No loss-monitor lines and no notes.
  bool quiet = false;

  /// The program's file, for the report.
  std::string programPath;
  /// Whether the program was proven, for the report: "proven", "off", or empty
  /// for a model, which is not a program.
  std::string verification;
  std::string dataPath;
  std::string initParamsPath;
  /// Adapters, which replace what the file of parameters has under their names.
  std::string initAdaptersPath;

  std::string saveParamsPath;
  /// A file for those alone that the optimizer trains.
  std::string saveTrainablePath;
  /// A file for the gradients of the last step.
  std::string dumpGradientsPath;
  /// A folder that gets `step_000001.safetensors` and so on.
  std::string dumpGradientsFolder;
  std::string reportPath;

  std::string checkpointFolder;
  /// 0: only at the end.
  int64_t checkpointEvery = 0;
  /// 0 keeps all.
  int64_t keepCheckpoints = 5;
  /// Goes on from the newest checkpoint, if there is one.
  bool resume = false;

  /// Records when what ran in the last step, also for a report.
  bool recordsStep = false;
  /// Measures, behind the last step, what its kernels' lower bounds are counted
  /// with (StepTimeline::rates): it must be recorded.
  bool measuresRates = false;
  /// The target whose peak utilisations are of; empty if there is none.
  std::string targetName;
  double peakFlopsPerSecond = 0;

  // The members below are for comparisons of modules.
  /// Micro-batches of a step, where a model has no training configuration that
  /// says so.
  int64_t microBatches = 1;
  /// Called for each trained parameter.
  TensorChange changeParameter;

  /// Whether gradients of some step are collected.
  bool dumpsGradients() const {
    return !dumpGradientsPath.empty() || !dumpGradientsFolder.empty() || dump;
  }

  /// The files to start from, those that count last behind the others.
  std::vector<std::string> getInitPaths() const {
    std::vector<std::string> paths;
    for (const std::string &path : {initParamsPath, initAdaptersPath})
      if (!path.empty())
        paths.push_back(path);
    return paths;
  }
};

/// Trains what `engine` runs, which has been verified. Loss-monitor lines go to
/// `out`, each whole; with `isTerminal`, a line of progress follows each.
/// `note` is called with remarks for the user. Everything that can be checked
/// before the first step is. If the engine's ranks are in several processes,
/// all of them call it; only the first one has something to print.
llvm::Error train(RankEngine &engine, const TrainingOptions &options,
                  llvm::raw_ostream &out, bool isTerminal, NoteUser note);

} // namespace mf::ranks

#endif // MF_RANKS_TRAINING_H
