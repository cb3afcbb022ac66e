//===- VerifySchedules.h - Proof that all stages can run --------*- C++ -*-===//

#ifndef MF_PASSES_SCHEDULE_VERIFYSCHEDULES_H
#define MF_PASSES_SCHEDULE_VERIFYSCHEDULES_H

#include "passes/schedule/ModelChunks.h"

namespace mf::passes {

/// Verifies the `mf.schedule`s of a model together: one per stage; each run
/// once, on its chunk's stage, behind the runs that it reads; values and
/// messages between the right runs; and no stages that wait for one another.
/// Errors name two runs and point at them.
mlir::LogicalResult verifySchedules(ir::ModelOp model, ModelChunks &chunks);

} // namespace mf::passes

#endif // MF_PASSES_SCHEDULE_VERIFYSCHEDULES_H
