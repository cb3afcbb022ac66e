//===- Trainer.h - A training run -----------------------------*- C++ -*-===//
//
// Batches in, loss-monitor lines, checkpoints, safetensors files and a report
// out: what mf-run does once it has a program.
//
//===----------------------------------------------------------------------===//

#ifndef MF_RUNNER_TRAINER_H
#define MF_RUNNER_TRAINER_H

#include "mf/Program/Program.h"
#include "mf/Timeline/StepTimeline.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace mf::runner {

class ProcessGroup;

/// Empty paths mean that there is no such file.
struct TrainingOptions {
  /// Steps of the whole run, those before a resumed checkpoint included.
  int64_t steps = 1;
  uint64_t seed = 0;
  int threads = 0;
  bool debugMemory = false;
  /// Of the link to the host, in bytes per second; 0 is without limit.
  double deviceToHostRate = 0;
  double hostToDeviceRate = 0;
  /// No loss-monitor lines and no notes.
  bool quiet = false;

  /// The program's file, for the report.
  std::string programPath;
  /// What became of its proof, for the report.
  std::string verification;
  std::string dataPath;
  std::string initParamsPath;

  std::string saveParamsPath;
  /// Of the last step.
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
};

/// What is done with the last step in time.
using TimelineUser =
    llvm::function_ref<llvm::Error(const timeline::StepTimeline &)>;

/// Trains `program`, which has been verified. Loss-monitor lines go to `out`,
/// each whole; with `isTerminal`, a line of progress follows each. `note` is
/// called with remarks for the user. Everything that can be checked before the
/// first step is. Fails with a LocatedError where a part of the program is to
/// blame. With `processes`, in which ranks are placed, all of them call it for
/// the same program; only the first one has something to print. `useTimeline`
/// is called, in the first process, if the options record the last step.
llvm::Error train(const program::Program &program,
                  const TrainingOptions &options, llvm::raw_ostream &out,
                  bool isTerminal,
                  llvm::function_ref<void(llvm::StringRef)> note,
                  ProcessGroup *processes = nullptr,
                  TimelineUser useTimeline = nullptr);

} // namespace mf::runner

#endif // MF_RUNNER_TRAINER_H
