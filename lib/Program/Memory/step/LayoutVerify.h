//===- LayoutVerify.h - Legality of the layouts of a step -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Checks that do not depend on the bases of the tasks.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_MEMORY_STEP_LAYOUTVERIFY_H
#define MF_LIB_PROGRAM_MEMORY_STEP_LAYOUTVERIFY_H

#include "StepPlaces.h"
#include "mf/Program/Memory/StepPlan.h"

namespace mf::memory {

/// Fails unless the plan has an entry for everything in the problem, and no two
/// buffers of a frame, or of the scratch of a routine, share an address while
/// both are live.
llvm::Error verifyLayouts(const StepProblem &problem, const StepPlan &plan,
                          const StepPlaces &timeline);

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_STEP_LAYOUTVERIFY_H
