//===- Description.h - Descriptions of instructions in messages -*- C++ -*-===//

#ifndef MF_PROGRAM_DESCRIPTION_H
#define MF_PROGRAM_DESCRIPTION_H

#include "mf/Program/Program.h"

namespace mf::program {

/// Stands for a call itself, not for one of its routine's instructions.
inline constexpr uint32_t callItself = ~uint32_t{0};

/// The instruction at `position` of the step or, if this is a call,
/// `instruction` of its routine.
const Instruction &getInstruction(const StageProgram &stage, uint32_t position,
                                  uint32_t instruction);

/// Its operator, task and stream, as in: aclnnMul ('a.mul', task 'forward' of
/// micro-batch 1, stream 'compute').
std::string describe(const Program &program, const StageProgram &stage,
                     uint32_t position, uint32_t instruction);

} // namespace mf::program

#endif // MF_PROGRAM_DESCRIPTION_H
