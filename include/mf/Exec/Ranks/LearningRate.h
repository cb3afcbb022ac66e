//===- LearningRate.h - The schedule of a program -------------*- C++ -*-===//

#ifndef MF_RANKS_LEARNINGRATE_H
#define MF_RANKS_LEARNINGRATE_H

#include "mf/Exec/Data/LrSchedule.h"
#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"

namespace mf::ranks {

/// The learning rate by step that a program's `lr_schedule` describes.
/// `totalSteps` stands for a total_steps that is absent or negative: the steps
/// of the whole run. Fails on values of another type than the key's and on
/// schedules that do not exist.
llvm::Expected<mf::LrSchedule>
makeLrSchedule(const program::LearningRateRule &schedule, int64_t totalSteps);

} // namespace mf::ranks

#endif // MF_RANKS_LEARNINGRATE_H
