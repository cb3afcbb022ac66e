//===- RankEngine.h - Runs steps on ranks ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The interface between a training run and the engine that runs its steps.
// There are two engines: the runner, which executes programs on emulated
// devices, and the reference interpreter, which runs models one operator at a
// time.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_RANKS_RANKENGINE_H
#define MF_EXEC_RANKS_RANKENGINE_H

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

/// An error that was already reported at the operation that caused it.
class ReportedError : public llvm::ErrorInfo<ReportedError> {
public:
  static char ID; // NOLINT(readability-identifier-naming): LLVM wants it
  void log(llvm::raw_ostream &os) const override { os << "reported already"; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }
};

/// Properties of a program or model that a training run needs.
struct TrainingProperties {
  /// The noun that messages use: "program" or "model".
  std::string kind;
  /// The data of a step.
  BatchOptions batch;
  bool readsData = true;
  std::optional<program::LearningRateRule> lrSchedule;
  program::LossScale lossScale;
  /// Returns the number of parameter groups with their own learning rates.
  size_t getNumRateGroups() const {
    return lrSchedule ? lrSchedule->groups.size() : 0;
  }
  bool hasBackward = true;
  /// True if a step changes parameters.
  bool hasUpdate = true;
  int64_t numRanks = 1;
  int64_t ranksPerStage = 1;
  /// The FLOPs of all ranks in a step; 0 if they are not known.
  double flopsPerStep = 0;
};

/// The name and the text of a value that must be the same in all processes.
using SharedValue = std::pair<std::string, std::string>;

/// Receives remarks for the user.
using NoteUser = llvm::function_ref<void(llvm::StringRef)>;

/// Runs steps. All processes of a run call these functions in the same order.
class RankEngine {
public:
  virtual ~RankEngine();

  virtual TrainingProperties getProperties() const = 0;

  /// Fails if the engine does not support the options. Called before start().
  virtual llvm::Error check() { return llvm::Error::success(); }
  /// Sets the initial values on all ranks. Parameters are loaded from a file if
  /// the options name one.
  virtual llvm::Error start(NoteUser note) = 0;

  /// Runs one step. `useGradients`, if given, is called when all gradients are
  /// summed. Gradients may be collected only during that call.
  virtual llvm::Expected<StepOutput>
  runStep(const StepInput &input,
          llvm::function_ref<llvm::Error()> useGradients) = 0;

  /// Returns the gradients as backward computed them, neither clipped nor
  /// divided by the loss scale. Tied parameters have separate gradients.
  virtual llvm::Expected<WholeTensors> collectGradients() const = 0;
  /// Returns the parameters. Tied parameters are represented by their owner.
  virtual llvm::Expected<WholeTensors> collectParameters() const = 0;
  /// Returns the parameters that steps change.
  virtual llvm::Expected<WholeTensors> collectTrained() const = 0;

  /// Save a rank's part of a checkpoint, and load the files of all ranks. An
  /// engine without checkpoints rejects them in `check`.
  virtual llvm::Error saveRank(int64_t rank, llvm::StringRef path) const {
    llvm_unreachable("checkpoints were refused");
  }
  virtual llvm::Error loadRanks(llvm::ArrayRef<std::string> paths) {
    llvm_unreachable("checkpoints were refused");
  }

  // An engine may record the times of the work in the last step.
  using Time = std::chrono::steady_clock::time_point;
  /// Called before the step, and after it with the times of its start and end.
  virtual void startRecord() {}
  virtual llvm::Error takeRecord(Time begin, Time end) {
    return llvm::Error::success();
  }
  /// Called once after the last step.
  virtual llvm::Error useRecord() { return llvm::Error::success(); }
  /// Adds the engine's data about ranks to a report, and further members after
  /// them.
  virtual llvm::Error addRanks(RunReport &report) {
    return llvm::Error::success();
  }
  virtual void addMembers(llvm::json::OStream &json) const {}

  // The ranks of an engine may be in several processes.
  /// Returns whether this process prints lines and writes files.
  virtual bool isWriter() const { return true; }
  /// Fails in all processes if `own` is a failure in any of them.
  virtual llvm::Error agree(llvm::Error own) { return own; }
  /// Fails in all processes if a value in one process differs from that in the
  /// first.
  virtual llvm::Error expectSame(llvm::ArrayRef<SharedValue> values) {
    return llvm::Error::success();
  }
};

} // namespace mf::ranks

#endif // MF_EXEC_RANKS_RANKENGINE_H
