//===- StageDistributions.h - Contents of a stage's buffers -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the instructions of a stage on distributions instead of numbers.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_STAGEDISTRIBUTIONS_H
#define MF_LIB_PROGRAM_STAGEDISTRIBUTIONS_H

#include "DistributionTable.h"
#include "mf/Program/StepWalker.h"
#include <deque>

namespace mf::program {

/// For each transfer among the program's channels, the contents that were sent
/// and not yet received.
using TransferQueues = std::vector<std::deque<Content>>;

/// Represents all ranks of a stage. The table and the queues are shared by all
/// stages.
class StageDistributions {
public:
  StageDistributions(const Program &program, const StageProgram &stage,
                     DistributionTable &table, TransferQueues &queues);

  /// Runs the instruction of the step at `position`. A call runs as a whole. A
  /// receive requires a message in its queue. Fails with a LocatedError if the
  /// ranks together do not compute the same as one rank would.
  llvm::Error run(uint32_t position);

  const Content &getStatic(uint32_t number) const {
    return contents[instances.getStatic(number)];
  }

private:
  /// A range of bytes of a buffer of the step or of a call.
  struct BufferRange {
    Content *content = nullptr;
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  struct SharedRanges {
    std::vector<BufferRange> all, written;
  };
  /// A buffer that a routine uses but does not own.
  struct SharedBuffer {
    uint32_t number = 0;
    bool isWritten = false;
  };
  /// The list that is being run: that of the step, or that of a call, whose
  /// temporaries have contents of their own.
  struct ListRun {
    Scope scope;
    std::vector<Content> temporaries;
  };
  /// The instruction that is run, and its place: the position of the call in
  /// the step, and the index in its routine.
  struct Place {
    const Instruction &instruction;
    uint32_t position = 0;
    uint32_t number = 0;
  };

  BufferRange resolve(ListRun &running, const Operand &operand);
  uint32_t read(const BufferRange &range);
  Content extract(const BufferRange &range) const;

  llvm::Error runInstruction(ListRun &running, const Place &place);
  llvm::Error runKernel(ListRun &running, const Place &place);
  llvm::Error runExchange(ListRun &running, const Place &place);
  void runTransfer(const Exchange &exchange, const BufferRange &range);
  void runCopy(ListRun &running, const Instruction &instruction);
  llvm::Error fail(ListRun &running, const Place &place,
                   const DistributionError &reason);

  /// Checks that only one stage counts a value that several stages share.
  llvm::Error checkCounted(ListRun &running, const Place &place,
                           const Distribution &input);

  void beginUpdate();
  llvm::Error runCall(uint32_t position, const Call &call);
  SharedRanges findShared(ListRun &running, uint32_t routine);
  Content collect(llvm::ArrayRef<BufferRange> ranges);
  void spread(const Content &all, llvm::ArrayRef<BufferRange> ranges);

  const Program &program;
  const StageProgram &stage;
  DistributionTable &table;
  TransferQueues &queues;
  const InstanceTable instances;
  const StepWalker walker;
  /// The contents of each instance: statics, messages and slots.
  std::vector<Content> contents;
  /// For each routine, the buffers that it shares and, for each combination of
  /// their contents, those of the buffers that it writes.
  std::vector<std::vector<SharedBuffer>> shared;
  std::vector<std::map<Content, Content>> made;
  /// The number of collectives over stages so far, by channel.
  std::vector<uint32_t> numCollectives;
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_STAGEDISTRIBUTIONS_H
