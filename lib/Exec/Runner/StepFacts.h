//===- StepFacts.h - Properties of a program's step -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_STEPFACTS_H
#define MF_LIB_EXEC_RUNNER_STEPFACTS_H

#include "mf/Program/Program.h"

namespace mf::runner {

/// Returns whether a stage has a static of this role.
bool hasStatic(const program::Program &program, program::Role role);

/// Returns whether the host writes (or reads) a static of this role.
bool usesHostStatic(const program::Program &program, program::Role role);

/// Returns the sequences of a micro-batch on all ranks together.
int64_t countBatchRows(const program::Program &program);

/// Returns the FLOPs of all kernels of all ranks in a step, recomputation
/// included.
double countFlops(const program::Program &program);

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_STEPFACTS_H
