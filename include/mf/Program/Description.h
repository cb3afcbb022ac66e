//===- Description.h - Descriptions of instructions in messages -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PROGRAM_DESCRIPTION_H
#define MF_PROGRAM_DESCRIPTION_H

#include "mf/Program/Program.h"

namespace mf::program {

/// The value of `instruction` that selects a call itself rather than an
/// instruction of its routine.
inline constexpr uint32_t callItself = ~uint32_t{0};

/// Returns the instruction at `position` of the step or, if this is a call, the
/// one at `instruction` of the called routine.
const Instruction &getInstruction(const StageProgram &stage, uint32_t position,
                                  uint32_t instruction);

/// Describes an instruction by its operator, task and stream, for example:
/// aclnnMul ('a.mul', task 'forward' of micro-batch 1, stream 'compute').
std::string describe(const Program &program, const StageProgram &stage,
                     uint32_t position, uint32_t instruction);

} // namespace mf::program

#endif // MF_PROGRAM_DESCRIPTION_H
