//===- LayerGraphs.h - Layers of a compiled step as graphs -----*- C++ -*-===//

#ifndef MF_PLANNER_LAYERGRAPHS_H
#define MF_PLANNER_LAYERGRAPHS_H

#include "mf/Target/Target.h"
#include "planner/RecomputeCut.h"
#include "planner/StepCompiler.h"

namespace mf::planner {

/// The forward of one layer of each kind: what its operators read, write and
/// take on the target, and what backward needs. `step` should keep everything:
/// what it recomputes looks as if nobody needed it.
llvm::Expected<std::vector<LayerGraph>>
buildLayerGraphs(const CompiledStep &step, const target::Target &target);

} // namespace mf::planner

#endif // MF_PLANNER_LAYERGRAPHS_H
