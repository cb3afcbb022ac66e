//===- MemoryVerifier.cpp - Every access ordered and in its place ---------===//

#include "Description.h"
#include "MemoryMap.h"
#include "StepWalker.h"
#include "StreamClocks.h"
#include "mf/Program/KernelTraits.h"
#include "mf/Program/Verifier.h"
#include <memory>

namespace mf::program {

namespace {

class MemoryVerifier {
public:
  MemoryVerifier(const Program &program, const Rank &rank)
      : program(program), rank(rank), table(rank), walker(rank, table),
        clocks(rank) {
    for (const KernelSpec &kernel : program.kernels)
      kernelReadsOutputs.push_back(readsOutputs(kernel.name));
  }

  llvm::Error verify();

private:
  bool initialize();
  bool visit(const Scope &scope, const Instruction &instruction,
             uint32_t number);
  bool finish();

  bool checkBounds(const Access &access);
  bool checkOverlap();
  bool read(const Access &access);
  bool write(const Access &access);
  bool isOrdered(const Use &before) const;

  bool fail(uint32_t location, const llvm::Twine &message);
  /// Fails at the instruction being visited, which `verb`s a buffer.
  bool failUse(const Access &access, llvm::StringRef verb,
               const llvm::Twine &reason);
  bool failOrder(const Access &access, llvm::StringRef verb, const Use &before,
                 llvm::StringRef otherVerb, uint64_t otherInstance);
  std::string describe(const Use &use) const;
  void addNote(const Use &use, const llvm::Twine &text);

  MemoryMap &getMap(Space space) {
    return space == Space::Device ? device : host;
  }

  const Program &program;
  const Rank &rank;
  InstanceTable table;
  StepWalker walker;
  StreamClocks clocks;
  std::vector<bool> kernelReadsOutputs;
  MemoryMap device, host;
  /// The instruction being visited.
  Use current;
  const Instruction *instruction = nullptr;
  llvm::SmallVector<Access, 8> reads, writes;
  std::unique_ptr<LocatedError> error;
};

} // namespace

llvm::Error MemoryVerifier::verify() {
  const bool isFine =
      initialize() &&
      walker.walk(
          [&](const Scope &scope, const Instruction &visited, uint32_t number) {
            return visit(scope, visited, number);
          }) &&
      finish();
  if (isFine)
    return llvm::Error::success();
  return llvm::Error(std::move(error));
}

/// The host has written all statics but reports, which are for it to read.
bool MemoryVerifier::initialize() {
  for (uint32_t i = 0; i < rank.statics.size(); ++i) {
    const Static &buffer = rank.statics[i];
    if (buffer.bytes == 0 || buffer.role == Role::Report)
      continue;
    const Access access = table.getMemory(table.getStatic(i));
    if (!getMap(buffer.space)
             .write(
                 access.offset, access.offset + access.bytes, access.instance,
                 Use(), [&](int64_t, const Segment &segment) {
                   return fail(buffer.location,
                               table.getName(access.instance) + " lies where " +
                                   table.getName(segment.instance) + " is");
                 }))
      return false;
  }
  return true;
}

bool MemoryVerifier::visit(const Scope &scope, const Instruction &visited,
                           uint32_t number) {
  instruction = &visited;
  current.stream = *getStream(rank, visited);
  current.position = scope.call ? scope.callPosition : number;
  current.instruction = number;
  current.streamPosition = clocks.advance(current.stream);
  if (const auto *record = std::get_if<Record>(&visited.action)) {
    clocks.record(scope, *record);
    return true;
  }
  if (const auto *wait = std::get_if<Wait>(&visited.action)) {
    clocks.wait(scope, *wait);
    return true;
  }
  reads.clear();
  writes.clear();
  forEachOperand(
      visited, [&](uint32_t kernel) { return kernelReadsOutputs[kernel]; },
      [&](const Operand &operand, bool isWrite) {
        if (operand.bytes > 0)
          (isWrite ? writes : reads).push_back(walker.resolve(scope, operand));
      });
  if (!checkOverlap())
    return false;
  for (const Access &access : reads)
    if (!checkBounds(access) || !read(access))
      return false;
  for (const Access &access : writes)
    if (!checkBounds(access) || !write(access))
      return false;
  return true;
}

/// The host reads reports, and the next step finds the statics.
bool MemoryVerifier::finish() {
  for (uint32_t i = 0; i < rank.statics.size(); ++i) {
    const Static &buffer = rank.statics[i];
    if (buffer.bytes == 0 ||
        (buffer.role == Role::Report && buffer.space == Space::Device))
      continue;
    const Access access = table.getMemory(table.getStatic(i));
    int64_t position = access.offset;
    const bool isWhole =
        getMap(buffer.space)
            .read(access.offset, access.offset + access.bytes, Use(),
                  [&](int64_t begin, const Segment &segment) {
                    if (segment.instance != access.instance) {
                      fail(buffer.location,
                           table.getName(access.instance) +
                               " does not keep its value for the next "
                               "step: " +
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

bool MemoryVerifier::checkBounds(const Access &access) {
  const int64_t capacity =
      access.space == Space::Device ? rank.arenaBytes : rank.hostBytes;
  if (access.offset >= 0 && access.bytes <= capacity &&
      access.offset <= capacity - access.bytes)
    return true;
  return failUse(access, "uses",
                 "bytes " + llvm::Twine(access.offset) + " to " +
                     llvm::Twine(access.offset + access.bytes) +
                     " are outside of its memory of " + llvm::Twine(capacity) +
                     " bytes");
}

static bool overlap(const Access &a, const Access &b) {
  return a.space == b.space && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

bool MemoryVerifier::checkOverlap() {
  const bool isLaunch = std::holds_alternative<Launch>(instruction->action);
  for (size_t i = 0; i < writes.size(); ++i) {
    const Access &target = writes[i];
    for (const Access &source : reads) {
      const bool isSame = target.instance == source.instance &&
                          target.offset == source.offset &&
                          target.bytes == source.bytes;
      const bool mayBeSame =
          isLaunch || std::holds_alternative<AllReduce>(instruction->action);
      if (overlap(target, source) && !(isSame && mayBeSame))
        return failUse(target, "writes",
                       "it overlaps " + table.getName(source.instance) +
                           ", which the same operation reads");
    }
    for (size_t j = 0; j < i; ++j)
      if (overlap(target, writes[j]))
        return failUse(target, "writes",
                       "it overlaps " + table.getName(writes[j].instance) +
                           ", which the same operation writes");
  }
  return true;
}

bool MemoryVerifier::isOrdered(const Use &before) const {
  return before.stream == Use::host ||
         clocks.isOrdered(before.stream, before.streamPosition, current.stream);
}

bool MemoryVerifier::read(const Access &access) {
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
            "nothing wrote its bytes " + llvm::Twine(position - access.offset) +
                " to " + llvm::Twine(access.bytes) + " before");
  return false;
}

bool MemoryVerifier::write(const Access &access) {
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

bool MemoryVerifier::fail(uint32_t location, const llvm::Twine &message) {
  error = std::make_unique<LocatedError>(location, message);
  return false;
}

bool MemoryVerifier::failUse(const Access &access, llvm::StringRef verb,
                             const llvm::Twine &reason) {
  return fail(instruction->location, describe(current) + " " + verb + " " +
                                         table.getName(access.instance) +
                                         ", but " + reason);
}

bool MemoryVerifier::failOrder(const Access &access, llvm::StringRef verb,
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

std::string MemoryVerifier::describe(const Use &use) const {
  if (use.stream == Use::host)
    return "the host";
  return program::describe(program, rank, use.position, use.instruction);
}

void MemoryVerifier::addNote(const Use &use, const llvm::Twine &text) {
  if (use.stream != Use::host)
    error->addNote(getInstruction(rank, use.position, use.instruction).location,
                   text);
}

llvm::Error verifyMemory(const Program &program, const Rank &rank) {
  return MemoryVerifier(program, rank).verify();
}

uint64_t countInstructions(const Rank &rank) {
  uint64_t count = 0;
  for (const Instruction &instruction : rank.step.instructions) {
    const auto *call = std::get_if<Call>(&instruction.action);
    count += call ? rank.routines[call->routine].body.instructions.size() : 1;
  }
  return count;
}

llvm::Error verifyProgram(const Program &program) {
  for (const Rank &rank : program.ranks)
    if (llvm::Error error = verifyMemory(program, rank))
      return error;
  return verifyProgress(program);
}

} // namespace mf::program
