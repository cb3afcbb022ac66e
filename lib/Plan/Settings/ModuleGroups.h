//===- ModuleGroups.h - Layers as modules that are recomputed ---*- C++ -*-===//

#ifndef MF_LIB_PLAN_SETTINGS_MODULEGROUPS_H
#define MF_LIB_PLAN_SETTINGS_MODULEGROUPS_H

#include "lib/Plan/Settings/RecomputeCut.h"

namespace mf::planner {

/// Returns the layer for a YAML whose patterns name whole modules. Operators
/// belong to modules of `depth` names, such as `mlp` or `mlp.experts`.
/// Operators in no such module are never recomputed. `transformer_layer`, the
/// layer within a layer that predicts later tokens, does not count as a name.
LayerGraph groupByModules(LayerGraph graph, size_t depth);

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_MODULEGROUPS_H
