//===- RankEngine.h - Runs steps on ranks ----------------------*- C++ -*-===//
//
// A training run needs this of an engine that runs its steps. There are two
// engines: the runner, which executes programs on emulated devices, and the
// reference interpreter, which runs models one operator at a time.
//
//===----------------------------------------------------------------------===//

#ifndef MF_RANKS_RANKENGINE_H
#define MF_RANKS_RANKENGINE_H

#include "mf/Exec/Data/BatchReader.h"
#include "mf/Exec/Data/RunReport.h"
#include "mf/Exec/Ranks/StepValues.h"
#include "mf/Exec/Ranks/WholeTensors.h"
#include "mf/Program/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"
#include <chrono>
#include <utility>

namespace mf::ranks {

/// An error that was reported already, at the operation to blame.
class ReportedError : public llvm::ErrorInfo<ReportedError> {
public:
  static char ID; // NOLINT(readability-identifier-naming): LLVM wants it
  void log(llvm::raw_ostream &os) const override { os << "reported already"; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }
};

/// Facts about a program or model that a training run has to know.
struct TrainingFacts {
  /// The word that messages use for it: "program" or "model".
  std::string kind;
  /// The data of a step.
  BatchOptions batch;
  bool readsData = true;
  std::optional<program::LearningRateRule> lrSchedule;
  program::LossScale lossScale;
  /// Groups of parameters with learning rates of their own.
  size_t getNumRateGroups() const {
    return lrSchedule ? lrSchedule->groups.size() : 0;
  }
  bool hasBackward = true;
  /// Whether a step changes parameters.
  bool hasUpdate = true;
  int64_t numRanks = 1;
  int64_t ranksPerStage = 1;
  /// FLOPs of all ranks in a step; 0 if nobody counted them.
  double flopsPerStep = 0;
};

/// Something that must be the same in all processes: what it is called, and
/// its value as text.
using Fact = std::pair<std::string, std::string>;

/// Takes remarks for the user.
using NoteUser = llvm::function_ref<void(llvm::StringRef)>;

/// Functions are called by all processes of a run, in the same order.
class RankEngine {
public:
  virtual ~RankEngine();

  virtual TrainingFacts getFacts() const = 0;

  /// Fails if the options cannot be followed, before anything is made.
  virtual llvm::Error check() { return llvm::Error::success(); }
  /// Gives all ranks their first values, of parameters those of a file if the
  /// options name one.
  virtual llvm::Error start(NoteUser note) = 0;

  /// Runs one step. `useGradients`, if given, is called when all gradients are
  /// summed: only then they may be collected.
  virtual llvm::Expected<StepOutput>
  runStep(const StepInput &input,
          llvm::function_ref<llvm::Error()> useGradients) = 0;

  /// The gradients as backward left them, neither clipped nor divided by the
  /// loss scale; of tied parameters, each one's own.
  virtual llvm::Expected<WholeTensors> collectGradients() const = 0;
  /// The parameters; of tied ones the owner.
  virtual llvm::Expected<WholeTensors> collectParameters() const = 0;
  /// The parameters that steps change.
  virtual llvm::Expected<WholeTensors> collectTrained() const = 0;

  /// Saves what a checkpoint has of a rank, and loads the files of all ranks.
  /// An engine without checkpoints refuses them in `check`.
  virtual llvm::Error saveRank(int64_t rank, llvm::StringRef path) const {
    llvm_unreachable("checkpoints were refused");
  }
  virtual llvm::Error loadRanks(llvm::ArrayRef<std::string> paths) {
    llvm_unreachable("checkpoints were refused");
  }

  // An engine may know when what ran in the last step.
  using Time = std::chrono::steady_clock::time_point;
  /// Called before the step, and behind it with the times of its begin and end.
  virtual void startRecord() {}
  virtual llvm::Error takeRecord(Time begin, Time end) {
    return llvm::Error::success();
  }
  /// Called once after the last step.
  virtual llvm::Error useRecord() { return llvm::Error::success(); }
  /// Adds to a report what is known of ranks, and members behind them.
  virtual llvm::Error addRanks(RunReport &report) {
    return llvm::Error::success();
  }
  virtual void addMembers(llvm::json::OStream &json) const {}

  // The ranks of an engine may be in several processes.
  /// Whether this process prints lines and writes files.
  virtual bool isWriter() const { return true; }
  /// Fails in all processes if `own` is a failure in one.
  virtual llvm::Error agree(llvm::Error own) { return own; }
  /// Fails in all processes if one has another value than the first process.
  virtual llvm::Error expectSame(llvm::ArrayRef<Fact> facts) {
    return llvm::Error::success();
  }
};

} // namespace mf::ranks

#endif // MF_RANKS_RANKENGINE_H
