//===- Instruction.h - Instructions that the host issues --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Instructions and the buffers that they use: the tables of one instruction
// list, which belongs to a routine or to the step. References between tables
// are indices.
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

/// A kind of memory: device memory (the arena) or pinned host memory.
enum class Space : uint8_t { Device, Host };

/// The region that an offset counts from: the rank's arena or its host memory.
/// Inside a routine it may also be a part of the frame in the arena, the frame
/// in host memory, the scratch memory of the call, or an argument of the call.
enum class Base : uint8_t { Device, Host, HostFrame, Scratch, Argument, Frame };

/// An offset in bytes from a base.
struct Address {
  Base base = Base::Device;
  /// The index of the argument, or of the part of the frame.
  uint32_t number = 0;
  int64_t offset = 0;
};

enum class BufferKind : uint8_t { Static, Slot, Temporary, Message, Argument };

/// A buffer that an instruction list uses. Operations that denote the same
/// memory for the same purpose (the same static, the same slot) share one
/// buffer.
struct Buffer {
  BufferKind kind = BufferKind::Temporary;
  /// The index of the static, slot or argument. Temporaries and messages are
  /// numbered in the order of their list.
  uint32_t index = 0;
  /// For a slot that the step uses: an index into StageProgram::frames.
  uint32_t frame = 0;
  TensorShape shape;
  int64_t bytes = 0;
  Space space = Space::Device;
  Address address;
  /// The name of the buffer in errors and reports.
  std::string name;
  /// An index into the table of locations.
  uint32_t location = 0;
};

/// The `bytes` bytes that begin at `offset` in a buffer of the same instruction
/// list.
struct Operand {
  uint32_t buffer = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
};

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// A range of memory that an instruction uses, and how it uses it.
struct MemoryAccess {
  Operand operand;
  Access access = Access::In;
  /// Bit i is set if this access may use exactly the memory of access i of the
  /// instruction although one of the two writes it. No other access may overlap
  /// memory that is written.
  uint32_t sharedAccesses = 0;
};

/// The work that an instruction puts on its stream. It runs after the
/// instruction's waits and before its record.
enum class Work : uint8_t { None, Kernel, Copy, Exchange, Call };

/// An event of the list, or the index of an event that the call passes.
struct AwaitedEvent {
  uint32_t event = 0;
  bool isArgument = false;
};

/// One item that the host issues, with all data that planning, proofs,
/// execution and simulation need about it.
struct Instruction {
  Work work = Work::None;
  /// The stream of the kernel, copy, exchange or call. The instruction's waits
  /// and its record are on this stream too.
  uint32_t stream = 0;
  /// Depending on `work`, an index into Program::kernels,
  /// InstructionList::exchanges or InstructionList::calls.
  uint32_t index = 0;
  /// An index into the table of locations that decoding returns.
  uint32_t location = 0;
  /// Events are numbered within their list. Each event is recorded once.
  llvm::SmallVector<AwaitedEvent, 1> awaited;
  std::optional<uint32_t> recorded;
  /// The accesses of a kernel are its inputs, its outputs and then the
  /// workspace. A copy accesses its source and its target. An exchange first
  /// accesses the buffers that it reads, then those that it writes.
  llvm::SmallVector<MemoryAccess, 3> accesses;
  /// The operator of the model that this instruction belongs to. May be empty.
  std::string cell;
};

/// The rows and counts that an all_to_all_v exchanges.
struct RowExchange {
  /// The size of a row in bytes.
  int64_t rowBytes = 0;
  /// The number of experts for which each member has counts.
  int64_t experts = 0;
  /// The value that fills the rows of the output after those that arrive.
  double fill = 0;
  /// The operator of the model. Errors that only occur at run time name it.
  std::string cell;
};

/// One rank's side of a transfer or of a collective.
struct Exchange {
  /// Index into Program::channels.
  uint32_t channel = 0;
  /// Whether a transfer sends; unused in other exchanges.
  bool isSend = false;
  /// The next three fields describe a collective.
  CollectiveKind kind = CollectiveKind::AllReduce;
  Reduction reduction = Reduction::Sum;
  DType type = DType::F32;
  /// Set for an all_to_all_v. It reads its input, the number of rows that it
  /// sends to each expert, and the number of rows that it receives.
  RowExchange rows;
};

/// An event of the step that a call records on the compute stream, right after
/// instruction `instruction` of its routine.
struct CallRecord {
  uint32_t instruction = 0;
  Instruction record;
};

/// One run of a routine. Only the step contains calls.
struct Call {
  uint32_t routine = 0;
  std::vector<Operand> arguments;
  /// Index into StageProgram::frames.
  std::optional<uint32_t> frame;
  /// The offset in the arena at which the routine's scratch memory begins.
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

  /// Returns the call that `instruction` stands for, or null if it is no call.
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
