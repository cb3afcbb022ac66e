//===- HostStatics.h - Host values of a step on ranks -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_HOSTSTATICS_H
#define MF_LIB_EXEC_RUNNER_HOSTSTATICS_H

#include "RankExecutor.h"

namespace mf::runner {

/// Writes those parts of `input` to the statics of the rank in host memory that
/// the statics are for. Fails with a LocatedError if they do not hold the
/// step's tokens or labels.
llvm::Error writeInput(const program::Program &program, RankExecutor &rank,
                       const ranks::StepInput &input);

/// Reads the reports of ranks, which must be of one program.
ranks::StepReports
readReports(llvm::ArrayRef<std::unique_ptr<RankExecutor>> ranks);

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_HOSTSTATICS_H
