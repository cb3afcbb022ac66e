//===- RuleAxes.cpp - Axes of an operator's factors -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "RuleAxes.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mf::passes {

using ir::Axes;
using ir::FactorDims;
using ir::FactorKind;
using ir::Layout;

bool addMissing(Axes &axes, ArrayRef<StringRef> added) {
  size_t before = axes.size();
  for (StringRef axis : added)
    if (!is_contained(axes, axis))
      axes.push_back(axis);
  sort(axes);
  return axes.size() != before;
}

Axes sortAsMesh(ArrayRef<StringRef> axes, const ir::MeshSizes &mesh) {
  Axes sorted;
  for (auto [axis, size] : mesh.axes)
    if (is_contained(axes, axis))
      sorted.push_back(axis);
  return sorted;
}

Axes getUsed(ArrayRef<Axes> axes) {
  Axes used;
  for (const Axes &factor : axes)
    addMissing(used, factor);
  return used;
}

Layout getLayout(const FactorDims &dims, ArrayRef<Axes> axes) {
  Layout layout(dims.size());
  for (auto [cut, factors] : zip_equal(layout.cuts, dims))
    for (unsigned factor : factors)
      cut.append(axes[factor]);
  return layout;
}

SmallVector<int64_t> getSizes(const ir::ShardingRule &rule,
                              ArrayRef<unsigned> factors) {
  return map_to_vector(
      factors, [&](unsigned factor) { return rule.factors[factor].size; });
}

static bool hasFactor(const FactorDims &dims, unsigned factor) {
  return any_of(dims, [&](ArrayRef<unsigned> factors) {
    return is_contained(factors, factor);
  });
}

Axes getSummed(const ir::ShardingRule &rule, const FactorDims &dims,
               ArrayRef<Axes> axes) {
  Axes summed;
  for (auto [number, factor] : enumerate(rule.factors))
    if (factor.kind == FactorKind::Sum && !hasFactor(dims, number))
      addMissing(summed, axes[number]);
  return summed;
}

} // namespace mf::passes
