//===- ChunkRun.h - The routines of a chunk on terms ------------*- C++ -*-===//

#ifndef MF_LIB_PROGRAM_CHUNKRUN_H
#define MF_LIB_PROGRAM_CHUNKRUN_H

#include "mf/Program/Program.h"
#include "mf/Program/ValueTerms.h"

namespace mf::program {

/// The terms of a stage's statics, with those before the step's tasks.
class StaticTerms {
public:
  StaticTerms(const Program &program, const StageProgram &stage);

  const BufferTerms &get(uint32_t number) const { return statics[number]; }
  /// The term that a static has before anything runs.
  static Term getInitial(const Static &buffer);

private:
  std::vector<BufferTerms> statics;
};

/// Runs routines on the slots of one frame. They alone see what they write to
/// statics.
class ChunkRun {
public:
  /// Refers to all of them.
  ChunkRun(const Program &program, const StaticTerms &statics,
           const EqualTerms &equal)
      : program(program), base(statics), equal(equal) {}

  /// Runs a routine. Arguments that it has more of are empty.
  void run(const Routine &routine, llvm::ArrayRef<TermRange> arguments);
  /// The terms of a slot.
  BufferTerms &getSlot(uint32_t slot) { return slots[slot]; }
  /// The statics that were used, by number.
  const std::map<uint32_t, BufferTerms> &getStatics() const { return statics; }
  BufferTerms &getStatic(uint32_t number);

  /// The launch that made a term first, for errors. Empty unless it was asked
  /// for.
  std::string getMaker(Term term) const {
    auto found = makers.find(term);
    return found == makers.end() ? "" : found->second;
  }
  void noteMakers() { notesMakers = true; }

private:
  TermRange resolve(const InstructionList &list, const Operand &operand,
                    llvm::ArrayRef<TermRange> arguments);
  void runInstruction(const InstructionList &list,
                      const Instruction &instruction,
                      llvm::ArrayRef<TermRange> arguments);
  void note(const InstructionList &list, const Instruction &instruction,
            llvm::ArrayRef<TermRange> outputs);

  const Program &program;
  const StaticTerms &base;
  const EqualTerms &equal;
  std::map<uint32_t, BufferTerms> statics, slots;
  /// Temporaries of the routine that runs.
  std::map<uint32_t, BufferTerms> temporaries;
  /// For arguments that nobody passes.
  BufferTerms none;
  bool notesMakers = false;
  std::unordered_map<Term, std::string> makers;
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_CHUNKRUN_H
