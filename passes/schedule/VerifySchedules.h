//===- VerifySchedules.h - Proof that all stages can run --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_SCHEDULE_VERIFYSCHEDULES_H
#define MF_PASSES_SCHEDULE_VERIFYSCHEDULES_H

#include "passes/schedule/ModelChunks.h"

namespace mf::passes {

/// Verifies all `mf.schedule`s of a model together: there is one per stage;
/// each run occurs once, on its chunk's stage, after the runs that it reads
/// from; values and messages are passed between the right runs; and no stages
/// wait for one another. Errors name two runs and refer to them in notes.
mlir::LogicalResult verifySchedules(ir::ModelOp model, ModelChunks &chunks);

} // namespace mf::passes

#endif // MF_PASSES_SCHEDULE_VERIFYSCHEDULES_H
