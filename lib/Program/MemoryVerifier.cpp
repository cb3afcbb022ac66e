//===- MemoryVerifier.cpp - Verifies all accesses to memory ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "CallSummary.h"
#include "mf/Program/Description.h"
#include "mf/Program/StepWalker.h"
#include "mf/Program/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include <memory>

namespace mf::program {

/// Returns whether the host provides the contents of a static on the device for
/// each step.
static bool isCopiedByStep(const Static &buffer) {
  switch (buffer.role) {
  case Role::Tokens:
  case Role::Labels:
  case Role::LearningRate:
  case Role::StepNumber:
  case Role::LossScale:
  case Role::Draw:
    return buffer.space == Space::Device;
  default:
    return false;
  }
}

namespace {

class MemoryVerifier {
public:
  /// Summaries do not keep the contents of temporaries, so errors may differ.
  MemoryVerifier(const Program &program, const StageProgram &stage,
                 CallProof calls)
      : program(program), stage(stage), table(stage), walker(stage, table),
        clocks(stage) {
    if (calls == CallProof::Summarized)
      summaries.emplace(stage, walker, clocks, device, host);
  }

  llvm::Error verify() {
    if (initialize() && walk() && finish())
      return llvm::Error::success();
    return llvm::Error(std::move(error));
  }

private:
  /// The host has written all statics except reports, which it reads, and
  /// statics that the step computes itself or copies from the host.
  bool initialize() {
    for (uint32_t i = 0; i < stage.statics.size(); ++i) {
      const Static &buffer = stage.statics[i];
      if (buffer.bytes == 0 || buffer.role == Role::Report ||
          isOfStep(buffer.role) || isCopiedByStep(buffer))
        continue;
      const MemoryRange access = table.getMemory(table.getStatic(i));
      if (!getMap(buffer.space)
               .write(access.offset, access.offset + access.bytes,
                      access.instance, Use(),
                      [&](int64_t, const Segment &segment) {
                        return fail(
                            buffer.location,
                            table.getName(access.instance) + " lies where " +
                                table.getName(segment.instance) + " is");
                      }))
        return false;
    }
    return true;
  }

  bool walk() {
    auto visitOne = [&](const Scope &scope, const Instruction &visited,
                        uint32_t number) {
      return visit(scope, visited, number);
    };
    for (auto [position, visited] : llvm::enumerate(stage.step.instructions)) {
      if (!visit(walker.getStep(), visited, position))
        return false;
      if (visited.work != Work::Call)
        continue;
      const Scope scope = walker.enter(position);
      if (!(summaries && summaries->pass(scope)) &&
          !walker.walkCall(scope, visitOne))
        return false;
    }
    return true;
  }

  bool visit(const Scope &scope, const Instruction &visited, uint32_t number) {
    instruction = &visited;
    current.stream = visited.stream;
    current.position = scope.call ? scope.callPosition : number;
    current.instruction = visited.work == Work::Call ? callItself : number;
    current.streamPosition = clocks.begin(scope, visited);
    ranges.clear();
    for (const MemoryAccess &access : visited.accesses)
      ranges.push_back(walker.resolve(scope, access.operand));
    if (!checkOverlap() || !checkAccesses())
      return false;
    clocks.end(scope, visited);
    return true;
  }

  /// Checks the end of the step: the host reads reports, and the next step
  /// reads the statics.
  bool finish() {
    for (uint32_t i = 0; i < stage.statics.size(); ++i) {
      const Static &buffer = stage.statics[i];
      if (buffer.bytes == 0 || isOfStep(buffer.role) ||
          isCopiedByStep(buffer) ||
          (buffer.role == Role::Report && buffer.space == Space::Device))
        continue;
      const MemoryRange access = table.getMemory(table.getStatic(i));
      int64_t position = access.offset;
      const bool isWhole =
          getMap(buffer.space)
              .read(access.offset, access.offset + access.bytes, Use(),
                    [&](int64_t begin, const Segment &segment) {
                      if (segment.instance != access.instance) {
                        fail(
                            buffer.location,
                            table.getName(access.instance) +
                                " does not keep its value for the next step: " +
                                describe(segment.write) + " writes " +
                                table.getName(segment.instance) +
                                " to its memory");
                        addNote(segment.write, "that is here");
                        return false;
                      }
                      if (begin > position)
                        return false;
                      position = segment.end;
                      return true;
                    });
      if (error)
        return false;
      if (!isWhole || position < access.offset + access.bytes)
        return fail(buffer.location, table.getName(access.instance) +
                                         " is not written by the step");
    }
    return true;
  }

  bool checkBounds(const MemoryRange &access) {
    const int64_t capacity =
        access.space == Space::Device ? stage.arenaBytes : stage.hostBytes;
    if (access.offset >= 0 && access.bytes <= capacity &&
        access.offset <= capacity - access.bytes)
      return true;
    return failUse(access, "uses",
                   "bytes " + llvm::Twine(access.offset) + " to " +
                       llvm::Twine(access.offset + access.bytes) +
                       " are outside of its memory of " +
                       llvm::Twine(capacity) + " bytes");
  }

  /// Checks that memory which an instruction writes overlaps other memory that
  /// it uses only if both are the same memory and its signature allows that.
  bool checkOverlap() {
    const auto found = findOverlap(*instruction, ranges);
    if (!found)
      return true;
    const auto [written, used] = *found;
    const MemoryAccess &access = instruction->accesses[used];
    const bool mayShare =
        used < 32 &&
        (instruction->accesses[written].sharedAccesses >> used & 1);
    return failUse(ranges[written], "writes",
                   (mayShare || !isSameMemory(ranges[written], ranges[used])
                        ? "it overlaps "
                        : "it may not be the memory of ") +
                       table.getName(ranges[used].instance) +
                       ", which the same operation " +
                       (writesMemory(access.access) ? "writes" : "reads"));
  }

  /// An instruction reads its inputs before it writes.
  bool checkAccesses() {
    for (auto [access, range] : llvm::zip(instruction->accesses, ranges))
      if (readsMemory(access.access) && range.bytes > 0 &&
          (!checkBounds(range) || !read(range)))
        return false;
    for (auto [access, range] : llvm::zip(instruction->accesses, ranges))
      if (writesMemory(access.access) && range.bytes > 0 &&
          (!checkBounds(range) || !write(range)))
        return false;
    return true;
  }

  bool read(const MemoryRange &access) {
    const int64_t end = access.offset + access.bytes;
    int64_t position = access.offset;
    const bool isFine =
        getMap(access.space)
            .read(access.offset, end, current,
                  [&](int64_t begin, const Segment &segment) {
                    if (begin > position)
                      return false;
                    if (segment.instance != access.instance) {
                      failUse(access, "reads",
                              describe(segment.write) + " wrote " +
                                  table.getName(segment.instance) +
                                  " to the same memory before");
                      addNote(segment.write, "that is here");
                      return false;
                    }
                    if (!isOrdered(segment.write))
                      return failOrder(access, "reads", segment.write, "writes",
                                       segment.instance);
                    position = segment.end;
                    return true;
                  });
    if (isFine && position >= end)
      return true;
    if (!error)
      failUse(access, "reads",
              "nothing wrote its bytes " +
                  llvm::Twine(position - access.offset) + " to " +
                  llvm::Twine(access.bytes) + " before");
    return false;
  }

  bool write(const MemoryRange &access) {
    return getMap(access.space)
        .write(access.offset, access.offset + access.bytes, access.instance,
               current, [&](int64_t, const Segment &segment) {
                 for (const Use &reader : segment.reads)
                   if (!isOrdered(reader))
                     return failOrder(access, "writes", reader, "reads",
                                      segment.instance);
                 return isOrdered(segment.write) ||
                        failOrder(access, "writes", segment.write, "writes",
                                  segment.instance);
               });
  }

  bool isOrdered(const Use &before) const {
    return before.stream == Use::host ||
           clocks.isOrdered(before.stream, before.streamPosition,
                            current.stream);
  }

  bool fail(uint32_t location, const llvm::Twine &message) {
    error = std::make_unique<LocatedError>(location, message);
    return false;
  }

  /// Fails at the visited instruction, which `verb`s a buffer.
  bool failUse(const MemoryRange &access, llvm::StringRef verb,
               const llvm::Twine &reason) {
    return fail(instruction->location, describe(current) + " " + verb + " " +
                                           table.getName(access.instance) +
                                           ", but " + reason);
  }

  bool failOrder(const MemoryRange &access, llvm::StringRef verb,
                 const Use &before, llvm::StringRef otherVerb,
                 uint64_t otherInstance) {
    std::string other = otherInstance == access.instance
                            ? std::string("it")
                            : table.getName(otherInstance) + " in its memory";
    failUse(access, verb,
            "no event orders this after " + describe(before) + ", which " +
                otherVerb + " " + other);
    addNote(before, "that is here");
    return false;
  }

  std::string describe(const Use &use) const {
    if (use.stream == Use::host)
      return "the host";
    return program::describe(program, stage, use.position, use.instruction);
  }

  void addNote(const Use &use, const llvm::Twine &text) {
    if (use.stream != Use::host)
      error->addNote(
          getInstruction(stage, use.position, use.instruction).location, text);
  }

  MemoryMap &getMap(Space space) {
    return space == Space::Device ? device : host;
  }

  const Program &program;
  const StageProgram &stage;
  InstanceTable table;
  StepWalker walker;
  StreamClocks clocks;
  MemoryMap device, host;
  std::optional<CallSummaries> summaries;
  /// The visited instruction.
  Use current;
  const Instruction *instruction = nullptr;
  /// The ranges of its accesses.
  llvm::SmallVector<MemoryRange, 8> ranges;
  std::unique_ptr<LocatedError> error;
};

} // namespace

llvm::Error verifyMemory(const Program &program, const StageProgram &stage,
                         CallProof calls) {
  llvm::Error error = MemoryVerifier(program, stage, calls).verify();
  if (!error || calls == CallProof::Walked)
    return error;
  llvm::consumeError(std::move(error));
  return verifyMemory(program, stage, CallProof::Walked);
}

uint64_t countInstructions(const StageProgram &stage) {
  uint64_t count = 0;
  for (const Instruction &instruction : stage.step.instructions) {
    const Call *call = stage.step.getCall(instruction);
    count += call ? stage.routines[call->routine].body.instructions.size() : 1;
  }
  return count;
}

} // namespace mf::program
