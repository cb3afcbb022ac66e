//===- RankExecutor.h - One rank and its device ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_RANKEXECUTOR_H
#define MF_LIB_EXEC_RUNNER_RANKEXECUTOR_H

#include "IssueList.h"
#include "OperatorDump.h"
#include "StallTable.h"
#include "StepRecorder.h"
#include "mf/Exec/Device/Device.h"
#include "mf/Exec/Kernels/ThreadPool.h"
#include "mf/Exec/Runner/Communicator.h"
#include "mf/Exec/Runner/Runner.h"
#include <deque>

namespace mf::runner {

/// Issues the step of its stage to the streams of one rank.
class RankExecutor {
public:
  /// The communicator and the lists must outlive it.
  static llvm::Expected<std::unique_ptr<RankExecutor>>
  create(int64_t rank, const PreparedStage &prepared,
         Communicator &communicator, std::shared_ptr<ThreadTeam> threads,
         const RunnerOptions &options);

  int64_t getRank() const { return rank; }
  const program::StageProgram &getStage() const { return *prepared.stage; }
  Device &getDevice() const { return *device; }
  mf::Stream &getStream(uint32_t number) const { return *streams[number]; }
  ThreadPool &getPool() { return pool; }
  Communicator &getCommunicator() const { return communicator; }

  llvm::MutableArrayRef<uint8_t> getStatic(uint32_t number) const;

  /// Issue the step, the part of it before the first update of parameters, or
  /// the part from there on, and wait until all streams are done.
  llvm::Error runStep();
  llvm::Error runUntilUpdate();
  llvm::Error runFromUpdate();

  /// Issues a routine for the call at `position` of the step.
  void issueCall(const program::Call &call, uint32_t position,
                 std::shared_ptr<const BaseTable> bases);

  /// Record that an operand is used, and fill memory whose last use was in
  /// instruction `instruction` of a list with NaNs. They do nothing unless
  /// memory is debugged.
  void touch(const BaseTable &bases, const OperandAddress &operand) const;
  void poisonAfter(const IssueContext &context, uint32_t instruction) const;

  /// Dumps the results of instruction `instruction` of a list, if they are
  /// wanted. Must be called on the stream that ran it, right after it.
  void dump(const IssueContext &context, uint32_t instruction) const {
    if (operatorDump)
      operatorDump->add(rank, context, instruction);
  }

  /// Records times from now on.
  void startRecording() { recorder.emplace(*prepared.stage); }
  /// Stops recording and returns the record. Must not be called during a step.
  RankRecord takeRecord();
  /// Returns where to store the times of the instruction of a list that is
  /// issued next to the stream of `item`; null if nothing is recorded.
  RecordedWork *record(const IssueContext &context, const IssueItem &item,
                       uint32_t instruction) {
    return recorder ? add(context, item, instruction) : nullptr;
  }

  std::vector<StreamUse> getStreamUse() const;
  const StallTable &getStalls() const { return stalls; }

private:
  RankExecutor(int64_t rank, const PreparedStage &prepared,
               Communicator &communicator, std::shared_ptr<ThreadTeam> threads)
      : rank(rank), prepared(prepared), communicator(communicator),
        stalls(*prepared.stage), pool(std::move(threads)) {}

  void forgetEvents();
  void issueStep(size_t begin, size_t end);
  void issueItem(const IssueContext &context, const IssueItem &item);
  RecordedWork *add(const IssueContext &context, const IssueItem &item,
                    uint32_t instruction);

  const int64_t rank;
  const PreparedStage &prepared;
  Communicator &communicator;
  StallTable stalls;
  std::optional<StepRecorder> recorder;
  std::optional<OperatorDump> operatorDump;
  ThreadPool pool;
  std::unique_ptr<Device> device;
  std::vector<mf::Stream *> streams;
  std::deque<Event> stepEvents;
  std::shared_ptr<BaseTable> stepBases;
};

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_RANKEXECUTOR_H
