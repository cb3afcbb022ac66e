//===- CallSummary.h - Properties common to a routine's calls ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A step calls few routines many times, each time with other memory. The
// instructions of a routine affect each other in the same way in all calls
// whose buffers overlap alike, so that this is proven once. A call itself has
// demands on the state of memory and on the order that it finds, and effects on
// both.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_CALLSUMMARY_H
#define MF_LIB_PROGRAM_CALLSUMMARY_H

#include "StreamClocks.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>
#include <vector>

namespace mf::program {

/// An instruction of the expanded step as the user of some memory.
struct Use {
  /// The value of `stream` that represents writes of the host before the step.
  static constexpr uint32_t host = ~uint32_t{0};

  uint32_t stream = host;
  /// The position in the step, of the instruction or of the call that contains
  /// it.
  uint32_t position = 0;
  /// The index in the routine.
  uint32_t instruction = 0;
  /// The position on its stream, from 1.
  uint32_t streamPosition = 0;
};

/// Bytes with the same history: the last write, the buffer instance that it was
/// made through, and for each stream the last read since.
struct Segment {
  int64_t end = 0;
  uint64_t instance = 0;
  Use write;
  llvm::SmallVector<Use, 1> reads;
};

/// The written parts of one memory as disjoint segments by address. Writes
/// merge the segments that they cover, so the map is as coarse as the buffers
/// are. Most uses begin and end where a segment does. Such segments are found
/// without a search.
class MemoryMap {
public:
  using Visitor = llvm::function_ref<bool(int64_t begin, const Segment &)>;

  /// Visits the segments with bytes of [begin, end), in order. Stops when
  /// `visit` returns false. Returns false in that case.
  bool visit(int64_t begin, int64_t end, Visitor visit);
  bool visitAll(Visitor visit) const;

  /// Records that `use` reads [begin, end), after `visit` has been called with
  /// the segments that hold these bytes, in order. Stops when it returns false.
  bool read(int64_t begin, int64_t end, const Use &use, Visitor visit);

  /// Stores one new segment at [begin, end), after `visit` has been called with
  /// the segments that it replaces.
  bool write(int64_t begin, int64_t end, uint64_t instance, const Use &use,
             Visitor visit);

private:
  using Map = std::map<int64_t, Segment>;

  /// Caches the segment that begins at an address. Entries are removed before
  /// their segment is.
  struct Known {
    int64_t begin = -1;
    Map::iterator segment;
  };
  static constexpr size_t numKnown = 4096;

  /// Returns the first segment that ends after `address`.
  Map::iterator find(int64_t address);
  Known &getKnown(int64_t begin);
  /// Removes the entry of an address at which no segment begins any more.
  void forget(int64_t begin);
  /// Splits a segment so that one begins at `address`, which must be inside of
  /// it.
  Map::iterator split(Map::iterator segment, int64_t address);

  Map segments;
  std::vector<Known> known = std::vector<Known>(numKnown);
};

/// The knowledge of a stream at some point of a call: how far each stream has
/// progressed in the call (0 if nothing of it is known to be over), and
/// everything that some sources knew before. Sources are the streams before the
/// call, followed by the events that the call passes.
struct CallClock {
  llvm::SmallVector<uint32_t, 8> positions;
  llvm::SmallBitVector sources;

  void join(const CallClock &other);
};

/// A range of bytes that a routine uses, relative to a base of its addresses.
struct UsedBytes {
  uint32_t base = 0;
  Space space = Space::Device;
  int64_t begin = 0;
  int64_t end = 0;
};

/// Returns all ranges of bytes that a routine uses. Ranges of one base are
/// disjoint. Returns none if a base is used for several kinds of memory.
std::optional<std::vector<UsedBytes>> findBytes(const Routine &routine);

/// The properties by which calls of a routine differ. Each combination has its
/// own summary.
struct CallForm {
  /// The events of the step that the call records: after which instructions of
  /// its routine, and on which streams.
  llvm::SmallVector<std::pair<uint32_t, uint32_t>, 2> records;
  /// For each base of the routine's addresses, the first base whose bytes
  /// overlap its own, directly or through other bases, and its distance from
  /// that base. For example, a result may be written to the memory of a value
  /// that it is added to, or of an argument that is not read again.
  llvm::SmallVector<std::pair<uint32_t, int64_t>, 16> places;

  bool operator==(const CallForm &other) const {
    return records == other.records && places == other.places;
  }
};

/// The demands and effects that all calls of one form have. Places are operands
/// of the routine, which are resolved by the scope of a call; they may extend
/// beyond their buffer. Positions on streams are relative to the start of the
/// call.
struct CallSummary {
  /// Bytes that a call reads must have been written through the same buffer.
  /// All writes of bytes that it reads or writes, and all reads of bytes that
  /// it writes, must be known to the sources.
  struct Demand {
    Operand bytes;
    bool isRead = false;
    /// An index into CallSummary::sources.
    uint32_t sources = 0;
  };

  /// Bytes for which the call has the last write, or that it only reads.
  struct Effect {
    Operand bytes;
    bool isWritten = false;
    Use write;
    llvm::SmallVector<Use, 1> reads;
  };

  std::vector<llvm::SmallBitVector> sources;
  std::vector<Demand> demands;
  std::vector<Effect> effects;
  /// The knowledge of each stream at the end of the call.
  std::vector<CallClock> streams;
  /// The knowledge that the recorded events of the step carry, in order.
  std::vector<CallClock> records;
};

/// Summarizes the calls of a routine. Returns none if instructions of the
/// routine conflict with each other, or cannot be distinguished from those of
/// the caller; the calls must then be walked.
std::optional<CallSummary> summarize(const StageProgram &stage,
                                     const Routine &routine,
                                     const CallForm &form);

/// Returns the first two accesses of an instruction that use the same bytes but
/// may not. The first of the two writes.
std::optional<std::pair<size_t, size_t>>
findOverlap(const Instruction &instruction, llvm::ArrayRef<MemoryRange> ranges);

/// Returns whether two accesses use one buffer at the same place.
bool isSameMemory(const MemoryRange &a, const MemoryRange &b);

/// The summaries of a stage's routines. A summary is made when a routine is
/// called for the second time.
class CallSummaries {
public:
  /// Keeps references to all arguments.
  CallSummaries(const StageProgram &stage, const StepWalker &walker,
                StreamClocks &clocks, MemoryMap &device, MemoryMap &host)
      : stage(stage), walker(walker), clocks(clocks), device(device),
        host(host), known(stage.routines.size()) {}

  /// Applies a call to clocks and memory if its demands are met. Otherwise, or
  /// if there is no summary, returns false without changes. The values of
  /// temporaries are dropped, while their memory stays in use.
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
  /// Calls of additional forms are walked.
  static constexpr size_t maxForms = 32;

  std::optional<CallForm> getForm(const Scope &scope);
  /// Finds the bases that share bytes. Returns false if bytes are outside of
  /// memory.
  bool place(const Scope &scope, CallForm &form);
  const CallSummary *find(const Scope &scope);
  bool isMet(const CallSummary::Demand &demand, const Scope &scope);
  void apply(const CallSummary::Effect &effect, const Scope &scope);
  void applyClocks(const CallSummary &summary, const Scope &scope);
  llvm::SmallVector<uint64_t, 8> bind(const CallClock &clock,
                                      const Scope &scope) const;
  /// Returns the joined knowledge of all sources.
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
  /// The forms of each routine, found at its first call.
  std::vector<std::optional<RoutineForms>> known;
  /// The positions of the streams at the start of the call.
  llvm::SmallVector<uint64_t, 8> begins;
  /// The knowledge of each entry of a summary's sources.
  std::vector<llvm::SmallVector<uint64_t, 8>> knowledge;
  /// The bytes of the call, as absolute ranges.
  std::vector<UsedBytes> placed;
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_CALLSUMMARY_H
