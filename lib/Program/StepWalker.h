//===- StepWalker.h - The step with its calls expanded ---------*- C++ -*-===//
//
// Visits what a rank issues, in order, one call at a time. A routine's tables
// are shared by all its calls; a scope adds what differs: where the call's
// frame, scratch memory and arguments are, and whose buffers they are.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_STEPWALKER_H
#define MF_LIB_PROGRAM_STEPWALKER_H

#include "mf/Program/Program.h"

namespace mf::program {

/// Bytes of memory, and the buffer instance they are used as: a static, a
/// message, a slot of one frame, or a temporary of one call.
struct Access {
  Space space = Space::Device;
  int64_t offset = 0;
  int64_t bytes = 0;
  uint64_t instance = 0;
};

/// The step, or one call of a routine.
struct Scope {
  const InstructionList *list = nullptr;
  /// Null in the step.
  const Call *call = nullptr;
  /// Position of the call in the step.
  uint32_t callPosition = 0;
  int64_t frameOffset = 0;
  int64_t hostFrameOffset = 0;
  int64_t scratchOffset = 0;
  uint64_t firstSlot = 0;
  uint64_t firstTemporary = 0;
  std::vector<Access> arguments;
};

/// Numbers of the buffer instances of a rank's step.
class InstanceTable {
public:
  explicit InstanceTable(const Rank &rank);

  uint64_t getStatic(uint32_t number) const { return number; }
  uint64_t getMessage(uint32_t number) const { return firstMessage + number; }
  uint64_t getFirstSlot(uint32_t frame) const { return frameSlots[frame]; }
  uint64_t getFirstTemporary(uint32_t callPosition) const;
  uint64_t getNumInstances() const { return numInstances; }

  /// Where an instance is declared.
  struct Origin {
    BufferKind kind = BufferKind::Static;
    /// Static, message, slot or temporary.
    uint32_t index = 0;
    /// Of a slot.
    uint32_t frame = 0;
    /// Position in the step of a temporary's call.
    uint32_t callPosition = 0;
  };
  Origin getOrigin(uint64_t instance) const;

  /// The whole memory of an instance.
  Access getMemory(uint64_t instance) const;

  /// What errors call an instance.
  std::string getName(uint64_t instance) const;

private:
  const Buffer &findBuffer(const InstructionList &list, BufferKind kind,
                           uint32_t index) const;

  const Rank &rank;
  uint64_t firstMessage = 0;
  uint64_t firstTemporary = 0;
  uint64_t numInstances = 0;
  std::vector<uint64_t> frameSlots;
  /// Of each position of the step that is a call.
  std::vector<std::pair<uint32_t, uint64_t>> callTemporaries;
};

class StepWalker {
public:
  StepWalker(const Rank &rank, const InstanceTable &table)
      : rank(rank), table(table) {
    step.list = &rank.step;
  }

  const Scope &getStep() const { return step; }

  /// The scope of the call at `position`.
  Scope enter(uint32_t position) const;

  /// The memory that `operand`, used in `scope`, stands for.
  Access resolve(const Scope &scope, const Operand &operand) const;

  /// Calls `visit(scope, instruction, number)` for every instruction that is
  /// not a call; `number` is its place in the scope's list. Stops when it
  /// returns false.
  template <typename Visitor> bool walk(Visitor visit) const {
    for (uint32_t i = 0; i < rank.step.instructions.size(); ++i) {
      const Instruction &instruction = rank.step.instructions[i];
      if (!std::holds_alternative<Call>(instruction.action)) {
        if (!visit(step, instruction, i))
          return false;
        continue;
      }
      const Scope scope = enter(i);
      auto record = scope.call->records.begin();
      for (uint32_t j = 0; j < scope.list->instructions.size(); ++j) {
        if (!visit(scope, scope.list->instructions[j], j))
          return false;
        for (; record != scope.call->records.end() && record->instruction == j;
             ++record)
          if (!visit(step, Instruction{record->record, instruction.location},
                     i))
            return false;
      }
    }
    return true;
  }

private:
  const Rank &rank;
  const InstanceTable &table;
  Scope step;
};

/// Calls `visit(operand, isWrite)` for the operands of an instruction, what is
/// read first. `readsOutputs` tells whether a kernel also reads its outputs.
template <typename ReadsOutputs, typename Visitor>
void forEachOperand(const Instruction &instruction, ReadsOutputs readsOutputs,
                    Visitor visit) {
  if (const auto *launch = std::get_if<Launch>(&instruction.action)) {
    for (const Operand &operand : launch->inputs)
      visit(operand, false);
    if (readsOutputs(launch->kernel))
      for (const Operand &operand : launch->outputs)
        visit(operand, false);
    for (const Operand &operand : launch->outputs)
      visit(operand, true);
  } else if (const auto *copy = std::get_if<Copy>(&instruction.action)) {
    visit(copy->source, false);
    visit(copy->target, true);
  } else if (const auto *transfer =
                 std::get_if<Transfer>(&instruction.action)) {
    visit(transfer->buffer, !transfer->isSend);
  } else if (const auto *reduce = std::get_if<AllReduce>(&instruction.action)) {
    visit(reduce->buffer, false);
    visit(reduce->buffer, true);
  }
}

/// The stream an instruction runs on; none for a call.
std::optional<uint32_t> getStream(const Rank &rank,
                                  const Instruction &instruction);

} // namespace mf::program

#endif // MF_LIB_PROGRAM_STEPWALKER_H
