//===- StepNumbers.h - What each step changes in host memory ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_STEP_STEPNUMBERS_H
#define MF_LIB_STEP_STEPNUMBERS_H

#include "mf/Exec/Ranks/StepValues.h"
#include "mf/Program/Program.h"

namespace mf::step {

/// Returns the bytes of a buffer of rates, scalars or draws for a step, or none
/// for any other buffer.
std::vector<uint8_t> makeStepBytes(const program::Static &buffer,
                                   const ranks::StepInput &input);

} // namespace mf::step

#endif // MF_LIB_STEP_STEPNUMBERS_H
