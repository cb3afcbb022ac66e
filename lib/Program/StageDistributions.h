//===- StageDistributions.h - What a stage's buffers hold ------*- C++ -*-===//
//
// The instructions of a stage, run on distributions instead of numbers.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_STAGEDISTRIBUTIONS_H
#define MF_LIB_PROGRAM_STAGEDISTRIBUTIONS_H

#include "DistributionTable.h"
#include "mf/Program/StepWalker.h"
#include <deque>

namespace mf::program {

/// For each channel of the program that is a transfer, the contents that were
/// sent and not received yet.
using TransferQueues = std::vector<std::deque<Content>>;

/// All ranks of a stage at once. The table and the queues are those of all
/// stages.
class StageDistributions {
public:
  StageDistributions(const Program &program, const StageProgram &stage,
                     DistributionTable &table, TransferQueues &queues);

  /// Runs the instruction of the step at `position`; a call runs as a whole. A
  /// receive needs a message in its queue. A LocatedError if ranks together do
  /// not compute the same as one rank would.
  llvm::Error run(uint32_t position);

  const Content &getStatic(uint32_t number) const {
    return contents[instances.getStatic(number)];
  }

private:
  /// Bytes of a buffer of the step or of a call.
  struct BufferRange {
    Content *content = nullptr;
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  struct SharedRanges {
    std::vector<BufferRange> all, written;
  };
  /// A buffer of a routine that is not its own.
  struct SharedBuffer {
    uint32_t number = 0;
    bool isWritten = false;
  };
  /// A list that is run, with what a call of it holds in its temporaries.
  struct Frameset {
    Scope scope;
    std::vector<Content> temporaries;
  };
  /// An instruction that is run, and its place: that of the call in the step,
  /// and in its routine.
  struct Place {
    const Instruction &instruction;
    uint32_t position = 0;
    uint32_t number = 0;
  };

  BufferRange resolve(Frameset &frameset, const Operand &operand);
  uint32_t read(const BufferRange &range);
  Content extract(const BufferRange &range) const;

  llvm::Error runInstruction(Frameset &frameset, const Place &place);
  llvm::Error runKernel(Frameset &frameset, const Place &place);
  llvm::Error runExchange(Frameset &frameset, const Place &place);
  void runTransfer(const Exchange &exchange, const BufferRange &range);
  void runCopy(Frameset &frameset, const Instruction &instruction);
  llvm::Error fail(Frameset &frameset, const Place &place,
                   const DistributionError &reason);

  llvm::Error runCall(uint32_t position, const Call &call);
  SharedRanges findShared(Frameset &frameset, uint32_t routine);
  Content collect(llvm::ArrayRef<BufferRange> ranges);
  void spread(const Content &all, llvm::ArrayRef<BufferRange> ranges);

  const Program &program;
  const StageProgram &stage;
  DistributionTable &table;
  TransferQueues &queues;
  const InstanceTable instances;
  const StepWalker walker;
  /// By instance: statics, messages and slots.
  std::vector<Content> contents;
  /// By routine: the buffers that it shares, and for their contents those of
  /// the ones that it writes.
  std::vector<std::vector<SharedBuffer>> shared;
  std::vector<std::map<Content, Content>> made;
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_STAGEDISTRIBUTIONS_H
