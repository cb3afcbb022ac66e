//===- Instruction.h - Instructions that the host issues --------*- C++ -*-===//
//
// Instructions, and the buffers that they use: the tables of one instruction
// list, a routine's or the step's. References between tables are indices.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_INSTRUCTION_H
#define MF_PROGRAM_INSTRUCTION_H

#include "mf/Program/Signatures/Collective.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "mf/Support/DType.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf::program {

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Device memory (the arena) or pinned host memory.
enum class Space : uint8_t { Device, Host };

/// The region that an offset counts from: the rank's arena, its host memory,
/// or, inside a routine, a part of the frame in the arena, the frame in host
/// memory, scratch memory of the call or one of its arguments.
enum class Base : uint8_t { Device, Host, HostFrame, Scratch, Argument, Frame };

struct Address {
  Base base = Base::Device;
  /// The number of the argument or of the frame's part.
  uint32_t number = 0;
  int64_t offset = 0;
};

enum class BufferKind : uint8_t { Static, Slot, Temporary, Message, Argument };

/// A buffer that an instruction list uses. Two operations that denote the same
/// memory for the same purpose (the same static, the same slot) share one.
struct Buffer {
  BufferKind kind = BufferKind::Temporary;
  /// Number of the static, slot or argument; temporaries and messages are
  /// counted through their list.
  uint32_t index = 0;
  /// The frame of a slot in the step: an index into StageProgram::frames.
  uint32_t frame = 0;
  TensorShape shape;
  int64_t bytes = 0;
  Space space = Space::Device;
  Address address;
  /// The name of the buffer in errors and reports.
  std::string name;
  /// An entry of the table of locations.
  uint32_t location = 0;
};

/// `bytes` bytes of a buffer of the same instruction list, from `offset` on.
struct Operand {
  uint32_t buffer = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
};

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// Memory that an instruction uses, and how.
struct MemoryAccess {
  Operand operand;
  Access access = Access::In;
  /// Bit i is set if this may be the very memory of the instruction's access i,
  /// though one of the two writes it. Otherwise nothing may overlap written
  /// memory.
  uint32_t sharedAccesses = 0;
};

/// The work that an instruction gives its stream, behind its waits and before
/// its records.
enum class Work : uint8_t { None, Kernel, Copy, Exchange, Call };

/// An event of the list, or the number of one that the call passes.
struct AwaitedEvent {
  uint32_t event = 0;
  bool isArgument = false;
};

/// One thing that the host issues, with all that planning, proofs, execution
/// and simulation ask of it.
struct Instruction {
  Work work = Work::None;
  /// The stream of the kernel, copy, exchange or call; waits and records are on
  /// it too.
  uint32_t stream = 0;
  /// By `work`: of Program::kernels, InstructionList::exchanges or
  /// InstructionList::calls.
  uint32_t index = 0;
  /// An entry of the table of locations that came with decoding.
  uint32_t location = 0;
  /// Events are numbered through their list; each is recorded once.
  llvm::SmallVector<AwaitedEvent, 1> awaited;
  std::optional<uint32_t> recorded;
  /// The accesses of a kernel are its inputs, outputs and then the workspace;
  /// of a copy its source and target; of an exchange the buffers that it reads
  /// and then those that it writes.
  llvm::SmallVector<MemoryAccess, 3> accesses;
  /// The operator of the model that it belongs to; may be empty.
  std::string cell;
};

/// The rows and counts that an all_to_all_v exchanges.
struct RowExchange {
  /// Bytes of a row.
  int64_t rowBytes = 0;
  /// How many experts a member has counts for.
  int64_t experts = 0;
  /// The value of the output's rows behind those that arrive.
  double fill = 0;
  /// The operator of the model, for errors that only a run shows.
  std::string cell;
};

/// One rank's side of a transfer or part in a collective.
struct Exchange {
  /// Index into Program::channels.
  uint32_t channel = 0;
  /// Whether a transfer sends; unused in other exchanges.
  bool isSend = false;
  /// The next three fields describe a collective.
  CollectiveKind kind = CollectiveKind::AllReduce;
  Reduction reduction = Reduction::Sum;
  DType type = DType::F32;
  /// Set for an all_to_all_v, which reads its input, the rows that it sends by
  /// expert and those that it receives.
  RowExchange rows;
};

/// An event of the step that a call records on the compute stream, behind
/// instruction `instruction` of its routine.
struct CallRecord {
  uint32_t instruction = 0;
  Instruction record;
};

/// One run of a routine; only in the step.
struct Call {
  uint32_t routine = 0;
  std::vector<Operand> arguments;
  /// Index into StageProgram::frames.
  std::optional<uint32_t> frame;
  /// Where the routine's scratch memory begins in the arena.
  std::optional<int64_t> scratchOffset;
  std::optional<int64_t> microBatch;
  /// Events of the step that the routine waits for.
  std::vector<uint32_t> events;
  /// The events that the call records, in the order of their instructions.
  std::vector<CallRecord> records;
};

/// The instructions that the host issues, in order.
struct InstructionList {
  std::vector<Buffer> buffers;
  std::vector<Instruction> instructions;
  std::vector<Exchange> exchanges;
  std::vector<Call> calls;
  uint32_t numEvents = 0;

  /// The call that an instruction is, or null.
  const Call *getCall(const Instruction &instruction) const {
    return instruction.work == Work::Call ? &calls[instruction.index] : nullptr;
  }
  const Exchange *getExchange(const Instruction &instruction) const {
    return instruction.work == Work::Exchange ? &exchanges[instruction.index]
                                              : nullptr;
  }
};

} // namespace mf::program

#endif // MF_PROGRAM_INSTRUCTION_H
