//===- ChunkRun.h - The routines of a chunk on terms ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_CHUNKRUN_H
#define MF_LIB_PROGRAM_CHUNKRUN_H

#include "mf/Program/Program.h"
#include "mf/Program/ValueTerms.h"

namespace mf::program {

/// The terms of a stage's statics before the first call on a frame.
class StaticTerms {
public:
  StaticTerms(const Program &program, const StageProgram &stage);

  /// Returns the number of the step's instructions that made them.
  size_t getNumInstructions() const { return numInstructions; }

  const BufferTerms &get(uint32_t number) const { return statics[number]; }
  /// Returns the term of a static before anything runs.
  static Term getInitial(const Static &buffer);

private:
  std::vector<BufferTerms> statics;
  size_t numInstructions = 0;
};

/// Runs routines on the slots of one frame, or routines without a frame. Only
/// they see the values that they write to statics.
class ChunkRun {
public:
  /// Keeps references to all arguments.
  ChunkRun(const Program &program, const StaticTerms &statics,
           const EqualTerms &equal)
      : program(program), base(statics), equal(equal) {}

  /// Runs a routine. Arguments that are not given are empty.
  void run(const Routine &routine, llvm::ArrayRef<TermRange> arguments);
  /// Runs an instruction of the step. A call must have no frame.
  void runStep(const StageProgram &stage, const Instruction &instruction);
  /// Returns the bytes of an operand of an instruction outside of routines.
  TermRange resolve(const InstructionList &list, const Operand &operand) {
    return resolve(list, operand, {});
  }
  BufferTerms &getSlot(uint32_t slot) { return slots[slot]; }
  /// Returns the statics that were used, by index.
  const std::map<uint32_t, BufferTerms> &getStatics() const { return statics; }
  BufferTerms &getStatic(uint32_t number);

  /// Returns the launch that first computed a term, for errors. Empty unless
  /// makers are recorded.
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
  /// The temporaries of the routine that is running.
  std::map<uint32_t, BufferTerms> temporaries;
  /// Stands for arguments that are not passed.
  BufferTerms none;
  bool notesMakers = false;
  std::unordered_map<Term, std::string> makers;
};

/// Runs the verifier that `make` returns. If it refuses the program, a second
/// run finds out which launches make wrong terms, so that its error names them.
template <typename Make> llvm::Error verifyNamingMakers(Make make) {
  llvm::Error error = make().verify();
  if (!error)
    return llvm::Error::success();
  llvm::consumeError(std::move(error));
  auto again = make();
  again.noteMakers();
  return again.verify();
}

} // namespace mf::program

#endif // MF_LIB_PROGRAM_CHUNKRUN_H
