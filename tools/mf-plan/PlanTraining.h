//===- PlanTraining.h - mf-plan train.yaml ---------------------*- C++ -*-===//

#ifndef MF_TOOLS_MF_PLAN_PLANTRAINING_H
#define MF_TOOLS_MF_PLAN_PLANTRAINING_H

#include "PlanOptions.h"
#include <atomic>

namespace mf::tools {

/// Plans the training YAML, and prints and writes what is asked for. The search
/// ends early when `stop` is set.
llvm::Error planTraining(const PlanOptions &options,
                         const std::atomic<bool> &stop);

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_PLANTRAINING_H
