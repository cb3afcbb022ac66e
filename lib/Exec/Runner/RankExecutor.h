//===- RankExecutor.h - One rank and its device ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_RANKEXECUTOR_H
#define MF_LIB_EXEC_RUNNER_RANKEXECUTOR_H

#include "IssueList.h"
#include "mf/Exec/Device/Device.h"
#include "mf/Exec/Kernels/ThreadPool.h"
#include "mf/Exec/Ranks/TensorDump.h"
#include "mf/Exec/Runner/Communicator.h"
#include "mf/Exec/Runner/Runner.h"
#include "mf/Exec/Runner/StepRecord.h"
#include "mf/Program/Program.h"
#include <deque>
#include <map>
#include <string>

namespace mf::runner {

/// Reports the results of instructions in a stage's chunks to a TensorDump.
class OperatorDump {
public:
  /// Fails where the calls of a frame are no tasks. The dump and the program
  /// must outlive it.
  static llvm::Expected<OperatorDump> create(const program::Program &program,
                                             const program::StageProgram &stage,
                                             ranks::TensorDump &dump);

  /// Must be called right after instruction `number` of a list, on the stream
  /// that ran it.
  void add(int64_t rank, const IssueContext &context, uint32_t number) const;

private:
  OperatorDump(const program::Program &program,
               const program::StageProgram &stage, ranks::TensorDump &dump)
      : program(&program), stage(&stage), dump(&dump) {}

  ranks::MadeTensor getMade(const program::InstructionList &list,
                            const program::Instruction &instruction,
                            const IssueContext &context, size_t access) const;

  const program::Program *program;
  const program::StageProgram *stage;
  ranks::TensorDump *dump;
  /// For each position in the step, whether it is a call of a chunk's forward.
  std::vector<bool> isForward;
};

/// The record of one rank's step. The issuing thread adds an entry, in the
/// order of the stream, and the stream's thread writes the times there. Nothing
/// is locked and no entry moves: memory for a whole step is reserved at the
/// start.
class StepRecorder {
public:
  explicit StepRecorder(const program::StageProgram &stage);

  /// Adds an entry for the record of an instruction, for at most one step. Only
  /// one thread may call it. The entry is valid until `take`.
  RecordedWork *add(uint32_t stream, uint32_t position,
                    std::optional<uint32_t> instruction);

  /// Must be called when all streams are synchronised.
  std::vector<std::vector<RecordedWork>> take() { return std::move(streams); }

private:
  std::vector<std::vector<RecordedWork>> streams;
};

/// The seconds for which the compute stream of a rank is blocked in waits, by
/// the operator after the wait and the stream that it waits for. All calls of a
/// routine add to the same entries.
class StallTable {
public:
  explicit StallTable(const program::StageProgram &stage);

  /// Returns where instruction `number` of a routine's list, or of the step's
  /// if `routine` is empty, adds its seconds in the wait for the event at
  /// `place` among those it waits for; null if it is not on the compute stream.
  double *find(std::optional<uint32_t> routine, uint32_t number,
               size_t place) const {
    const Places &found = places[routine ? *routine + 1 : 0][number];
    return place < found.size() ? found[place] : nullptr;
  }

  /// Returns the waiting time for each "operator, waiting for stream". Must not
  /// be called during a step.
  std::map<std::string, double> getSeconds() const;

private:
  /// One entry for each event that an instruction waits for.
  using Places = llvm::SmallVector<double *, 1>;

  void addList(const program::StageProgram &stage,
               const program::InstructionList &list, llvm::StringRef title,
               llvm::ArrayRef<uint32_t> passedStreams);

  std::deque<std::pair<std::string, double>> entries;
  /// The entries by list, with the step before the routines, and instruction.
  std::vector<std::vector<Places>> places;
};

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
