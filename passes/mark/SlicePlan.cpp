//===- SlicePlan.cpp - Parts of kept inputs on ranks ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/mark/SlicePlan.h"
#include "llvm/ADT/StringExtras.h"

namespace mf::passes {

SliceDecision planSlice(const ir::MeshSizes &mesh, const ir::Layout &layout,
                        int64_t size) {
  ir::Axes axes;
  for (auto [axis, ranks] : mesh.axes)
    if (axis != "pp" && ranks > 1 && !layout.cutsOver(axis))
      axes.push_back(axis);
  if (axes.empty())
    return {{}, "no two ranks have the same part of it"};
  int64_t copies = mesh.getNumParts(axes);
  std::string over = llvm::join(axes, " and ");
  if (size % copies != 0)
    return {{},
            "its first dimension, " + std::to_string(size) +
                ", does not divide over the " + std::to_string(copies) +
                " ranks of " + over + " that have it",
            /*isWarning=*/true};
  return {axes, "each of " + std::to_string(copies) + " ranks of " + over +
                    " keeps its part"};
}

} // namespace mf::passes
