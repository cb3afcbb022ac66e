//===- RankExecutor.h - One rank and its device ----------------*- C++ -*-===//

#ifndef MF_LIB_RUNNER_RANKEXECUTOR_H
#define MF_LIB_RUNNER_RANKEXECUTOR_H

#include "Communicator.h"
#include "PoisonPlan.h"
#include "StallTable.h"
#include "StepPlan.h"
#include "mf/Device/Device.h"
#include "mf/Kernels/ThreadPool.h"
#include "mf/Runner/Runner.h"
#include <deque>

namespace mf::runner {

/// Issues a rank's step to its streams.
class RankExecutor {
public:
  static llvm::Expected<std::unique_ptr<RankExecutor>>
  create(const program::Program &program, size_t rankNumber,
         llvm::ArrayRef<std::unique_ptr<Kernel>> kernels,
         Communicator &communicator, int threads, const RunnerOptions &options);

  Device &getDevice() const { return *device; }
  ThreadPool &getPool() { return pool; }
  const program::Rank &getRank() const { return rank; }

  llvm::MutableArrayRef<uint8_t> getStatic(uint32_t number) const;

  /// Issues the step, its part up to the update, or that from there on, and
  /// waits until all streams are done.
  llvm::Error runStep();
  llvm::Error runUntilUpdate();
  llvm::Error runFromUpdate();

  std::vector<StreamUse> getStreamUse() const;
  const StallTable &getStalls() const { return stalls; }

private:
  RankExecutor(const program::Rank &rank, size_t rankNumber,
               Communicator &communicator, int threads)
      : rank(rank), rankNumber(static_cast<int64_t>(rankNumber)),
        communicator(communicator), stalls(rank), pool(threads) {}

  /// The list being issued: the step or one call of a routine.
  struct Frame {
    const ListPlan *plan = nullptr;
    std::shared_ptr<const BaseTable> bases;
    std::deque<Event> *events = nullptr;
    /// Of a call: its position in the step, and itself.
    uint32_t position = 0;
    const program::Call *call = nullptr;
  };

  void makePlans(llvm::ArrayRef<std::unique_ptr<Kernel>> kernels);
  void makeWorkspace(const program::Program &program);
  void issue(const Frame &frame, size_t begin, size_t end);
  void issueAction(const Frame &frame, const PlannedAction &action,
                   LaunchRange range);
  void issueAction(const Frame &frame, const PlannedAction &action,
                   const PlannedCall &call);
  void issueAction(const Frame &frame, const PlannedAction &action,
                   const program::Record &record);
  void issueAction(const Frame &frame, const PlannedAction &action,
                   const program::Wait &wait);
  void issueAction(const Frame &frame, const PlannedAction &action,
                   const PlannedCopy &copy);
  void issueAction(const Frame &frame, const PlannedAction &action,
                   const PlannedTransfer &transfer);
  void issueAction(const Frame &frame, const PlannedAction &action,
                   const PlannedReduction &reduction);

  void issueLaunches(const Frame &frame, LaunchRange range);
  void runLaunches(const Frame &frame, LaunchRange range);
  void touch(const BaseTable &bases, const PlannedOperand &operand) const;
  void poisonAfter(const Frame &frame, uint32_t instruction) const;

  const program::Rank &rank;
  int64_t rankNumber;
  Communicator &communicator;
  StallTable stalls;
  ThreadPool pool;
  std::unique_ptr<Device> device;
  std::vector<Stream *> streams;
  std::vector<ListPlan> routinePlans;
  ListPlan stepPlan;
  /// Action of the step that is the update, or its end.
  size_t updateAction = 0;
  std::deque<Event> stepEvents;
  std::shared_ptr<BaseTable> stepBases;
  /// Workspace of the kernel that the compute stream runs, large enough for
  /// each: outside of the arena, because programs do not plan workspaces.
  std::vector<uint64_t> workspace;
  /// Set if memory is debugged.
  std::unique_ptr<PoisonPlan> poison;
};

} // namespace mf::runner

#endif // MF_LIB_RUNNER_RANKEXECUTOR_H
