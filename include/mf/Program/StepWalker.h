//===- StepWalker.h - The step with its calls expanded ---------*- C++ -*-===//
//
// Visits the instructions of a stage in order, one call at a time. All calls of
// a routine share its tables; a scope adds the differences: where the call's
// frame, scratch memory and arguments are, whose buffers they are, and which
// events it means. The only place that resolves addresses and numbers events:
// proofs visit instructions, the simulator visits lists that it made of them,
// and the runner takes the bases of each call from its scope.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_STEPWALKER_H
#define MF_PROGRAM_STEPWALKER_H

#include "mf/Program/Program.h"
#include "llvm/ADT/ArrayRef.h"

namespace mf::program {

/// Bytes of memory, and the buffer instance they are used as: a static, a
/// message, a slot of one frame, or a temporary of one call.
struct MemoryRange {
  Space space = Space::Device;
  int64_t offset = 0;
  int64_t bytes = 0;
  uint64_t instance = 0;
  /// The range begins that many bytes behind the instance's begin.
  int64_t begin = 0;
};

/// The place of what some addresses of a list count from.
struct BasePlace {
  Space space = Space::Device;
  int64_t offset = 0;
};

/// The number of an address's base among those of a list with that many
/// arguments: the fixed ones by Base, then the arguments, then the parts of the
/// frame.
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
  /// The call whose routine is walked; null in the step.
  const Call *call = nullptr;
  /// Position of the call in the step.
  uint32_t callPosition = 0;
  uint64_t firstSlot = 0;
  uint64_t firstTemporary = 0;
  /// Number of the list's first event through the expanded step.
  uint64_t firstEvent = 0;
  llvm::SmallVector<MemoryRange, 8> arguments;
  /// By getBaseNumber.
  llvm::SmallVector<BasePlace, 16> bases;
};

/// Numbers of the buffer instances of a stage's step.
class InstanceTable {
public:
  explicit InstanceTable(const StageProgram &program);

  uint64_t getStatic(uint32_t number) const { return number; }
  uint64_t getMessage(uint32_t number) const { return firstMessage + number; }
  uint64_t getFirstSlot(uint32_t frame) const { return frameSlots[frame]; }
  /// The instances of the step: statics, messages and slots. Temporaries of
  /// calls have higher numbers.
  uint64_t getNumShared() const { return firstTemporary; }
  uint64_t getNumTemporaries(uint32_t routine) const {
    return temporaries[routine].size();
  }

  /// Events of the expanded step.
  uint64_t getNumEvents() const { return numEvents; }

  /// The first numbers of what belongs to one call.
  struct CallNumbers {
    uint32_t position = 0;
    uint64_t firstTemporary = 0;
    /// Events are numbered through the expanded step.
    uint64_t firstEvent = 0;
  };
  const CallNumbers &getCall(uint32_t position) const;

  /// The place at which an instance is declared.
  struct Origin {
    BufferKind kind = BufferKind::Static;
    /// Static, message, slot or temporary.
    uint32_t index = 0;
    /// The frame of a slot.
    uint32_t frame = 0;
    /// Position in the step of a temporary's call.
    uint32_t callPosition = 0;
  };
  Origin getOrigin(uint64_t instance) const;

  /// The whole memory of an instance.
  MemoryRange getMemory(uint64_t instance) const;

  /// The name of an instance in errors.
  std::string getName(uint64_t instance) const;

private:
  const Buffer &getTemporary(const Origin &origin) const;

  const StageProgram &program;
  uint64_t firstMessage = 0;
  uint64_t firstTemporary = 0;
  uint64_t numEvents = 0;
  std::vector<uint64_t> frameSlots;
  /// The messages of the step, and the temporaries of each routine, by index.
  std::vector<const Buffer *> messages;
  std::vector<std::vector<const Buffer *>> temporaries;
  /// By position.
  std::vector<CallNumbers> calls;
};

class StepWalker {
public:
  /// Refers to both.
  StepWalker(const StageProgram &program, const InstanceTable &table);
  StepWalker(const StepWalker &) = delete;
  StepWalker &operator=(const StepWalker &) = delete;

  const Scope &getStep() const { return step; }

  /// The scope of the call at `position`.
  Scope enter(uint32_t position) const;

  /// The memory that `operand`, used in `scope`, stands for.
  MemoryRange resolve(const Scope &scope, const Operand &operand) const;

  /// The number of an event through the expanded step.
  static uint64_t getEvent(const Scope &scope, const AwaitedEvent &event) {
    return event.isArgument ? scope.call->events[event.event]
                            : scope.firstEvent + event.event;
  }

  /// Calls `visit(scope, instruction, number)` for every instruction; `number`
  /// is its place in the scope's list. A call is visited before the
  /// instructions of its routine, because of its own waits; an event that it
  /// records among them is visited as an instruction of the step. Stops when
  /// `visit` returns false.
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

  /// Visits the instructions of one call, as walk does.
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

  /// As walk, for lists of other items that were made of the instruction lists:
  /// calls `visit(scope, item)` for every item of the step, and for those of
  /// its routine behind an item of which `getCall` gives the call's position.
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
