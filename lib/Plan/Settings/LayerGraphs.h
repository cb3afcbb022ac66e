//===- LayerGraphs.h - Layers of a compiled step as graphs -----*- C++ -*-===//

#ifndef MF_PLANNER_LAYERGRAPHS_H
#define MF_PLANNER_LAYERGRAPHS_H

#include "lib/Plan/Settings/RecomputeCut.h"
#include "mf/Perf/Target/Target.h"
#include "mf/Plan/Settings/StepCompiler.h"

namespace mf::planner {

/// The forward of one layer of each kind: the values that its operators read
/// and write, their times on the target, and the values that backward needs.
/// `step` should recompute nothing: recomputed values look as if nobody needed
/// them.
llvm::Expected<std::vector<LayerGraph>>
buildLayerGraphs(const CompiledStep &step, const target::Target &target);

} // namespace mf::planner

#endif // MF_PLANNER_LAYERGRAPHS_H
