//===- CallSummary.h - What the calls of a routine share -------*- C++ -*-===//
//
// A step calls few routines many times, at other places of memory each time.
// The instructions of a routine do the same to each other in all calls whose
// buffers overlap alike, so that is proven once. A call itself has demands on
// the memory and the order that it finds, and effects on both.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_CALLSUMMARY_H
#define MF_LIB_PROGRAM_CALLSUMMARY_H

#include "MemoryMap.h"
#include "StreamClocks.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mf::program {

/// The knowledge of a stream at some point of a call: how far each stream has
/// come in the call (0: nothing of it is known to be over), and all that some
/// sources knew before. Sources are the streams before the call, and behind
/// them the events that the call passes.
struct CallClock {
  llvm::SmallVector<uint32_t, 8> positions;
  llvm::SmallBitVector sources;

  void join(const CallClock &other);
};

/// Bytes that a routine uses, from a base of its addresses.
struct UsedBytes {
  uint32_t base = 0;
  Space space = Space::Device;
  int64_t begin = 0;
  int64_t end = 0;
};

/// All such bytes, those of one base disjoint; none if a base has several
/// spaces.
std::optional<std::vector<UsedBytes>> findBytes(const Routine &routine);

/// In what calls of a routine differ that have summaries of their own.
struct CallForm {
  /// The events of the step that the call records: behind which instructions of
  /// its routine, and on which streams.
  llvm::SmallVector<std::pair<uint32_t, uint32_t>, 2> records;
  /// For each base of the routine's addresses, the first base with bytes of
  /// which its own overlap, directly or by others between, and how far behind
  /// that it is. A result may be written to the very memory of what it is added
  /// to, or of an argument that is not read again.
  llvm::SmallVector<std::pair<uint32_t, int64_t>, 16> places;

  bool operator==(const CallForm &other) const {
    return records == other.records && places == other.places;
  }
};

/// The demands and effects that calls of one form have in common. Places are
/// operands of the routine, which a call's scope resolves; an operand may go
/// beyond its buffer. Positions on streams count from the call's begin.
struct CallSummary {
  /// The bytes that a call reads must have been written as the same buffer. All
  /// writes of what it reads or writes, and all reads of what it writes, must
  /// be known to the sources.
  struct Demand {
    Operand bytes;
    bool isRead = false;
    /// Place of the sources in `sources`.
    uint32_t sources = 0;
  };

  /// Bytes that the call writes last, or reads only.
  struct Effect {
    Operand bytes;
    bool isWritten = false;
    Use write;
    llvm::SmallVector<Use, 1> reads;
  };

  std::vector<llvm::SmallBitVector> sources;
  std::vector<Demand> demands;
  std::vector<Effect> effects;
  /// The knowledge of each stream at the end.
  std::vector<CallClock> streams;
  /// The knowledge that the recorded events of the step carry, in order.
  std::vector<CallClock> records;
};

/// None if instructions of the routine are in each other's way, or cannot be
/// told apart from the caller's: its calls must be walked.
std::optional<CallSummary> summarize(const StageProgram &stage,
                                     const Routine &routine,
                                     const CallForm &form);

/// The first two accesses of an instruction that use the same bytes and may
/// not; the first of them writes.
std::optional<std::pair<size_t, size_t>>
findOverlap(const Instruction &instruction, llvm::ArrayRef<MemoryRange> ranges);

/// Whether two accesses use one buffer at the same place.
bool isSameMemory(const MemoryRange &a, const MemoryRange &b);

/// The summaries of a stage's routines, made when a routine is called again.
class CallSummaries {
public:
  /// Refers to all.
  CallSummaries(const StageProgram &stage, const StepWalker &walker,
                StreamClocks &clocks, MemoryMap &device, MemoryMap &host)
      : stage(stage), walker(walker), clocks(clocks), device(device),
        host(host), known(stage.routines.size()) {}

  /// Lets clocks and memory pass a call whose demands are met. Otherwise, and
  /// if there is no summary, returns false and changes nothing. The values of
  /// temporaries are forgotten; their memory stays in use.
  bool pass(const Scope &scope);

private:
  struct Known {
    CallForm form;
    /// The summary is made for the second call.
    bool hasSummary = false;
    std::optional<CallSummary> summary;
  };
  struct RoutineForms {
    std::optional<std::vector<UsedBytes>> bytes;
    llvm::SmallVector<Known, 1> forms;
  };
  /// Calls of further forms are walked.
  static constexpr size_t maxForms = 32;

  std::optional<CallForm> getForm(const Scope &scope);
  /// Finds out which bases have bytes in common; false if bytes are outside of
  /// memory.
  bool place(const Scope &scope, CallForm &form);
  const CallSummary *find(const Scope &scope);
  bool isMet(const CallSummary::Demand &demand, const Scope &scope);
  void apply(const CallSummary::Effect &effect, const Scope &scope);
  void applyClocks(const CallSummary &summary, const Scope &scope);
  llvm::SmallVector<uint64_t, 8> bind(const CallClock &clock,
                                      const Scope &scope) const;
  /// The knowledge of all sources together.
  llvm::SmallVector<uint64_t, 8> join(const llvm::SmallBitVector &sources,
                                      const Scope &scope) const;

  MemoryMap &getMap(Space space) {
    return space == Space::Device ? device : host;
  }

  const StageProgram &stage;
  const StepWalker &walker;
  StreamClocks &clocks;
  MemoryMap &device;
  MemoryMap &host;
  /// By routine; found at the first call.
  std::vector<std::optional<RoutineForms>> known;
  /// Positions of the streams at the begin of the call.
  llvm::SmallVector<uint64_t, 8> begins;
  /// For each entry of a summary's sources, what they know.
  std::vector<llvm::SmallVector<uint64_t, 8>> knowledge;
  /// The bytes of the call, in their memory.
  std::vector<UsedBytes> placed;
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_CALLSUMMARY_H
