//===- ModuleGroups.h - Layers as modules that run again --------*- C++ -*-===//

#ifndef MF_PLANNER_MODULEGROUPS_H
#define MF_PLANNER_MODULEGROUPS_H

#include "lib/Plan/Settings/RecomputeCut.h"

namespace mf::planner {

/// The same layer for a YAML whose patterns name whole modules: operators
/// belong to modules of `depth` names, `mlp` or `mlp.experts`, and those that
/// are in no such module do not run again. The layer within a layer that
/// predicts later tokens, `transformer_layer`, does not count as a name.
LayerGraph groupByModules(LayerGraph graph, size_t depth);

} // namespace mf::planner

#endif // MF_PLANNER_MODULEGROUPS_H
