//===- StepWalker.h - The step with its calls expanded ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Visits the instructions of a stage in order, one call at a time. All calls of
// a routine share its tables. A scope holds what differs between them: the
// addresses of the call's frame, scratch memory and arguments, their buffer
// instances, and the events that the call refers to. All addresses are resolved
// and all events are numbered here. Proofs visit instructions, the simulator
// visits lists that it derived from them, and the runner takes the base
// addresses of each call from its scope.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_STEPWALKER_H
#define MF_PROGRAM_STEPWALKER_H

#include "mf/Program/Program.h"
#include "llvm/ADT/ArrayRef.h"

namespace mf::program {

/// A range of memory, and the buffer instance that it is used as: a static, a
/// message, a slot of one frame, or a temporary of one call.
struct MemoryRange {
  Space space = Space::Device;
  int64_t offset = 0;
  int64_t bytes = 0;
  uint64_t instance = 0;
  /// The offset of the range within the instance.
  int64_t begin = 0;
};

/// The memory and the offset in it that the addresses with one base count from.
struct BasePlace {
  Space space = Space::Device;
  int64_t offset = 0;
};

/// Returns the index of an address's base in Scope::bases for a list with
/// `numArguments` arguments. The fixed bases come first in the order of Base,
/// followed by the arguments and the parts of the frame.
inline uint32_t getBaseNumber(const Address &address, uint32_t numArguments) {
  constexpr auto firstArgument = static_cast<uint32_t>(Base::Argument);
  if (address.base == Base::Argument)
    return firstArgument + address.number;
  if (address.base == Base::Frame)
    return firstArgument + numArguments + address.number;
  return static_cast<uint32_t>(address.base);
}

/// The step, or one call of a routine.
struct Scope {
  const InstructionList *list = nullptr;
  /// The call whose routine is visited. Null for the step itself.
  const Call *call = nullptr;
  /// The position of the call in the step.
  uint32_t callPosition = 0;
  uint64_t firstSlot = 0;
  uint64_t firstTemporary = 0;
  /// The number of the list's first event in the expanded step.
  uint64_t firstEvent = 0;
  llvm::SmallVector<MemoryRange, 8> arguments;
  /// The base addresses, indexed by getBaseNumber.
  llvm::SmallVector<BasePlace, 16> bases;
};

/// Numbers the buffer instances of a stage's step.
class InstanceTable {
public:
  explicit InstanceTable(const StageProgram &program);

  uint64_t getStatic(uint32_t number) const { return number; }
  uint64_t getMessage(uint32_t number) const { return firstMessage + number; }
  uint64_t getFirstSlot(uint32_t frame) const { return frameSlots[frame]; }
  /// Returns the number of instances that belong to the step: statics, messages
  /// and slots. Temporaries of calls have higher numbers.
  uint64_t getNumShared() const { return firstTemporary; }
  uint64_t getNumTemporaries(uint32_t routine) const {
    return temporaries[routine].size();
  }

  /// Returns the number of events of the expanded step.
  uint64_t getNumEvents() const { return numEvents; }

  /// The position of a call, and the first numbers of its temporaries and
  /// events.
  struct CallNumbers {
    uint32_t position = 0;
    uint64_t firstTemporary = 0;
    /// The number of the first event. Events are numbered through the expanded
    /// step.
    uint64_t firstEvent = 0;
  };
  const CallNumbers &getCall(uint32_t position) const;

  /// The declaration of an instance.
  struct Origin {
    BufferKind kind = BufferKind::Static;
    /// The index of the static, message, slot or temporary.
    uint32_t index = 0;
    /// The frame of a slot, an index into StageProgram::frames.
    uint32_t frame = 0;
    /// The position in the step of the call that a temporary belongs to.
    uint32_t callPosition = 0;
  };
  Origin getOrigin(uint64_t instance) const;

  /// Returns the whole memory of an instance.
  MemoryRange getMemory(uint64_t instance) const;

  /// Returns the name of an instance for messages.
  std::string getName(uint64_t instance) const;

private:
  const Buffer &getTemporary(const Origin &origin) const;

  const StageProgram &program;
  uint64_t firstMessage = 0;
  uint64_t firstTemporary = 0;
  uint64_t numEvents = 0;
  std::vector<uint64_t> frameSlots;
  /// The messages of the step and the temporaries of each routine, by index.
  std::vector<const Buffer *> messages;
  std::vector<std::vector<const Buffer *>> temporaries;
  /// The calls of the step, in order.
  std::vector<CallNumbers> calls;
};

/// Visits the instructions of one stage's step.
class StepWalker {
public:
  /// Keeps references to both arguments.
  StepWalker(const StageProgram &program, const InstanceTable &table);
  StepWalker(const StepWalker &) = delete;
  StepWalker &operator=(const StepWalker &) = delete;

  const Scope &getStep() const { return step; }

  /// Returns the scope of the call at `position`.
  Scope enter(uint32_t position) const;

  /// Returns the memory that `operand` denotes when it is used in `scope`.
  MemoryRange resolve(const Scope &scope, const Operand &operand) const;

  /// Returns the number of an event in the expanded step.
  static uint64_t getEvent(const Scope &scope, const AwaitedEvent &event) {
    return event.isArgument ? scope.call->events[event.event]
                            : scope.firstEvent + event.event;
  }

  /// Calls `visit(scope, instruction, number)` for every instruction; `number`
  /// is its index in the scope's list. A call is visited before the
  /// instructions of its routine, because its own waits come first. An event
  /// that the call records between them is visited as an instruction of the
  /// step. Stops when `visit` returns false.
  template <typename Visitor> bool walk(Visitor visit) const {
    for (uint32_t i = 0; i < program.step.instructions.size(); ++i) {
      const Instruction &instruction = program.step.instructions[i];
      if (!visit(step, instruction, i))
        return false;
      if (instruction.work != Work::Call)
        continue;
      if (!walkCall(enter(i), visit))
        return false;
    }
    return true;
  }

  /// Visits the instructions of one call in the same way.
  template <typename Visitor>
  bool walkCall(const Scope &scope, Visitor visit) const {
    auto record = scope.call->records.begin();
    for (uint32_t i = 0; i < scope.list->instructions.size(); ++i) {
      if (!visit(scope, scope.list->instructions[i], i))
        return false;
      for (; record != scope.call->records.end() && record->instruction == i;
           ++record)
        if (!visit(step, record->record, scope.callPosition))
          return false;
    }
    return true;
  }

  /// Does the same for lists of other items that were derived from the
  /// instruction lists. Calls `visit(scope, item)` for every item of the step.
  /// If `getCall` returns the position of a call for an item, the items of the
  /// call's routine follow it.
  template <typename Item, typename GetCall, typename Visitor>
  void walkItems(llvm::ArrayRef<Item> stepItems,
                 llvm::ArrayRef<std::vector<Item>> itemsOfRoutines,
                 GetCall getCall, Visitor visit) const {
    for (const Item &item : stepItems) {
      visit(step, item);
      const std::optional<uint32_t> position = getCall(item);
      if (!position)
        continue;
      const Scope scope = enter(*position);
      for (const Item &inner : itemsOfRoutines[scope.call->routine])
        visit(scope, inner);
    }
  }

private:
  const StageProgram &program;
  const InstanceTable &table;
  Scope step;
};

} // namespace mf::program

#endif // MF_PROGRAM_STEPWALKER_H
