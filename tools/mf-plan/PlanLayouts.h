//===- PlanLayouts.h - mf-plan train.yaml --devices=64 ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_PLAN_PLANLAYOUTS_H
#define MF_TOOLS_MF_PLAN_PLANLAYOUTS_H

#include "PlanOptions.h"
#include "tools/terminal/Interrupt.h"

namespace mf::tools {

/// Plans the training YAML for --devices, including the layout, and prints and
/// writes the requested outputs. The search ends early when `stop` is set.
llvm::Error planLayouts(const PlanOptions &options, const Interrupt &stop);

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_PLANLAYOUTS_H
