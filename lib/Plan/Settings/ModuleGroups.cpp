//===- ModuleGroups.cpp - Layers as modules that are recomputed -----------===//

#include "lib/Plan/Settings/ModuleGroups.h"
#include "llvm/ADT/StringRef.h"

using namespace mf;
using namespace mf::planner;

/// Returns the first names of a path, without that of the operator; empty if
/// there are fewer.
static std::string getModule(llvm::StringRef path, size_t depth) {
  llvm::StringRef rest = path;
  rest.consume_front("transformer_layer.");
  for (size_t names = 0; names < depth; ++names) {
    const size_t dot = rest.find('.');
    if (dot == llvm::StringRef::npos)
      return {};
    rest = rest.drop_front(dot + 1);
  }
  return path.drop_back(rest.size() + 1).str();
}

LayerGraph planner::groupByModules(LayerGraph graph, size_t depth) {
  for (LayerGraph::Operator &op : graph.operators) {
    op.module = getModule(op.name, depth);
    op.mayRepeat &= !op.module.empty();
  }
  return graph;
}
