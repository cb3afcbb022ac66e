//===- LayerGraphs.h - Layers of a compiled step as graphs -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SETTINGS_LAYERGRAPHS_H
#define MF_LIB_PLAN_SETTINGS_LAYERGRAPHS_H

#include "lib/Plan/Settings/RecomputeCut.h"
#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Plan/Settings/StepCompiler.h"

namespace mf::planner {

/// Returns the forward of one layer of each kind: the values that its operators
/// read and write, their times on the target, and the values that backward
/// needs. `step` must recompute nothing, because recomputed values look as if
/// they had no readers.
llvm::Expected<std::vector<LayerGraph>>
buildLayerGraphs(const CompiledStep &step,
                 const timeline::StepTimeline &timeline);

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_LAYERGRAPHS_H
