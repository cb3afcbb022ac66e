//===- LearningRate.h - The schedule of a program -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_RANKS_LEARNINGRATE_H
#define MF_EXEC_RANKS_LEARNINGRATE_H

#include "mf/Program/Program.h"
#include "mf/Support/LrSchedule.h"
#include "llvm/Support/Error.h"

namespace mf::ranks {

/// Returns the learning rate by step that a program's `lr_schedule` describes.
/// `totalSteps`, the steps of the whole run, replaces a total_steps that is
/// absent or negative. Fails on values of the wrong type and on unknown
/// schedules.
llvm::Expected<mf::LrSchedule>
makeLrSchedule(const program::LearningRateRule &schedule, int64_t totalSteps);

} // namespace mf::ranks

#endif // MF_EXEC_RANKS_LEARNINGRATE_H
