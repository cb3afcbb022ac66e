//===- LayerRows.cpp - Rows that ranks exchange or gather -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayerPlanner.h"
#include "RuleAxes.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mf::passes {

using ir::Axes;
using ir::FactorDims;
using ir::FactorKind;
using ir::Layout;

/// Returns whether `op` views the rows of the stream in other groups, or
/// converts them back.
bool LayerPlanner::regroupsRows(const ShardedOperator &op) const {
  auto hasSeveral = [](const FactorDims &dims) {
    return any_of(
        dims, [](ArrayRef<unsigned> factors) { return factors.size() > 1; });
  };
  if (op.operands.size() != 1 || op.results.size() != 1 ||
      !(hasSeveral(op.rule.operands[0]) || hasSeveral(op.rule.results[0])))
    return false;
  unsigned value = current[op.operands.front()];
  return hasStreamRows(op.results.front()) ||
         (hasStreamRows(origins[value]) &&
          planned.layouts[value].cuts == stream.cuts);
}

/// Returns whether a result would have parts of `factor` within each element of
/// an outer factor that is not fully cut. Its elements would be in the order of
/// ranks.
bool LayerPlanner::isInterleaved(const ShardedOperator &op, unsigned factor,
                                 const FactorAxes &axes) const {
  if (axes[factor].empty())
    return false;
  return any_of(op.rule.results, [&](const FactorDims &dims) {
    return any_of(dims, [&](ArrayRef<unsigned> factors) {
      const auto *place = find(factors, factor);
      return place != factors.begin() && place != factors.end() &&
             model.mesh.getNumParts(axes[*std::prev(place)]) !=
                 op.rule.factors[*std::prev(place)].size;
    });
  });
}

/// Returns whether the layer passes rows on, possibly in addition to losses. If
/// it only returns a loss, their order does not matter.
bool LayerPlanner::returnsRows() const {
  return layer.position == LayerPosition::Body &&
         any_of(layer.results,
                [&](unsigned result) { return isStream(result); });
}

/// Returns whether a result has both factors in one dimension.
static bool areTogether(const ShardedOperator &op, unsigned one,
                        unsigned other) {
  return any_of(op.rule.results, [&](const FactorDims &dims) {
    return any_of(dims, [&](ArrayRef<unsigned> factors) {
      return is_contained(factors, one) && is_contained(factors, other);
    });
  });
}

/// Gathers rows of the stream first if they are grouped differently than ranks
/// hold them.
void LayerPlanner::gatherRegroupedRows(const ShardedOperator &op,
                                       FactorAxes &axes) {
  if (!regroupsRows(op))
    return;
  for (ArrayRef<unsigned> factors : op.rule.operands.front()) {
    bool isInOrder =
        factors.size() < 2 ||
        none_of(
            factors,
            [&](unsigned each) { return isInterleaved(op, each, axes); });
    if (isInOrder)
      continue;
    for (unsigned factor : factors) {
      regrouped.append(axes[factor]);
      axes[factor].clear();
    }
  }
}

/// Returns whether another version has the whole of a dimension.
bool LayerPlanner::hasWholeVersion(unsigned value, size_t dim) const {
  auto isWhole = [&](unsigned version) {
    const Layout &layout = planned.layouts[version];
    return layout.cuts.size() == planned.layouts[value].cuts.size() &&
           layout.cuts[dim].empty() && layout.partial.empty();
  };
  return isWhole(origins[value]) ||
         any_of(planned.reshards, [&](const PlannedReshard &made) {
           return origins[made.to] == origins[value] && isWhole(made.to);
         });
}

/// Moves an axis from `factor` to the first of the dimensions `dims` that it
/// may cut. Returns false if there is none.
bool LayerPlanner::moveAxis(const ShardedOperator &op, FactorAxes &axes,
                            ArrayRef<FactorDims::value_type> dims,
                            unsigned factor, StringRef axis) const {
  for (ArrayRef<unsigned> factors : dims) {
    // Parts of an inner factor are blocks only within single elements.
    const unsigned *to = find_if(factors, [&](unsigned candidate) {
      return model.mesh.getNumParts(axes[candidate]) !=
             op.rule.factors[candidate].size;
    });
    if (to == factors.end())
      continue;
    int64_t parts =
        model.mesh.getNumParts(axes[*to]) * model.mesh.getSize(axis);
    if (op.rule.factors[*to].size % parts != 0 ||
        op.rule.factors[*to].kind != FactorKind::Pass ||
        (areTogether(op, *to, factor) && !returnsRows()))
      continue;
    axes[*to].push_back(axis);
    return true;
  }
  return false;
}

/// Handles an operator that needs the whole of a dimension which is cut by axes
/// that cut no other dimension. Instead of gathering it on all ranks, ranks
/// exchange its parts for parts of an outer dimension that need not be whole.
/// For the stream this is the dimension that the axis cuts between layers,
/// otherwise the first possible one.
void LayerPlanner::exchangeWhole(const ShardedOperator &op, FactorAxes &axes) {
  auto isWhole = [&](unsigned factor) {
    return op.rule.factors[factor].kind == FactorKind::Whole;
  };
  for (auto [number, dims] : enumerate(op.rule.operands)) {
    unsigned value = current[op.operands[number]];
    if (sources[value] != Source::Activation || isRankOrdered[value])
      continue;
    auto move = [&, &dims = dims](size_t dim, StringRef axis) {
      ArrayRef<FactorDims::value_type> outer = ArrayRef(dims).take_front(dim);
      const unsigned factor = dims[dim].front();
      if (hasStreamRows(origins[value]))
        for (auto [place, cut] : enumerate(stream.cuts))
          if (place < dim && is_contained(cut, axis) &&
              moveAxis(op, axes, outer.slice(place, 1), factor, axis))
            return true;
      return moveAxis(op, axes, outer, factor, axis);
    };
    for (auto [dim, cut] : enumerate(planned.layouts[value].cuts)) {
      unsigned factor = dims[dim].front();
      if (all_of(dims[dim], isWhole)) {
        // Blocks of rows that are split or joined stay with their ranks.
        const bool joins =
            op.rule.isLinear() && op.operands.size() + op.results.size() > 2;
        if (joins || hasWholeVersion(value, dim))
          continue;
        for (StringRef axis : cut)
          if (!is_contained(getUsed(axes), axis))
            move(dim, axis);
      } else if (dims[dim].size() == 1 && isInterleaved(op, factor, axes)) {
        Axes kept;
        for (StringRef axis : axes[factor])
          if (!move(dim, axis))
            kept.push_back(axis);
        axes[factor] = kept;
      }
    }
  }
}

/// Gathers parts that remain within each element of an outer dimension, because
/// there are too few elements to exchange parts for.
void LayerPlanner::gatherInterleaved(const ShardedOperator &op,
                                     FactorAxes &axes) {
  if (!regroupsRows(op) || !returnsRows())
    return;
  for (unsigned factor = 0; factor < axes.size(); ++factor)
    if (isInterleaved(op, factor, axes)) {
      regrouped.append(axes[factor]);
      axes[factor].clear();
    }
  gatherUnordered(op, axes);
}

/// Gathers parts of joined dimensions that would not lie in the order of the
/// mesh, in which the rows of experts are exchanged. Parts that are gathered
/// already are cut again within the others.
void LayerPlanner::gatherUnordered(const ShardedOperator &op,
                                   FactorAxes &axes) {
  for (ArrayRef<unsigned> factors : op.rule.results.front()) {
    Axes joined;
    for (unsigned factor : factors)
      joined.append(axes[factor]);
    Axes cut = joined;
    cut.append(regrouped);
    if (factors.size() < 2 || model.mesh.isInOrder(cut))
      continue;
    regrouped = sortAsMesh(cut, model.mesh);
    for (unsigned factor : factors)
      axes[factor].clear();
  }
}

/// Returns whether the elements of `value` correspond to those of another
/// operand, whose elements are in the order of ranks.
bool LayerPlanner::mustLieInRankOrder(const ShardedOperator &op, unsigned value,
                                      const FactorDims &dims) const {
  if (isRankOrdered[value])
    return false;
  auto isAlone = [](const FactorDims &others, unsigned factor) {
    return any_of(others, [&](ArrayRef<unsigned> factors) {
      return factors == ArrayRef(factor);
    });
  };
  for (auto [operand, others] : zip_equal(op.operands, op.rule.operands)) {
    const unsigned other = current[operand];
    if (!isRankOrdered[other])
      continue;
    for (auto [factors, cut] : zip_equal(others, planned.layouts[other].cuts))
      if (!cut.empty() && factors.size() == 1 && isAlone(dims, factors.front()))
        return true;
  }
  return false;
}

/// Makes the producer of `value` cut inner factors by the axes that do not cut
/// it yet, so that its elements are in the order of ranks like those of the
/// other operand.
LayerPlanner::Outcome LayerPlanner::reshardToRankOrder(unsigned value,
                                                       const Layout &wanted) {
  const std::optional<unsigned> producer =
      value < layer.values.size() ? producers[value] : std::nullopt;
  if (producer) {
    const ShardedOperator &op = layer.operators[*producer];
    FactorAxes axes(op.rule.factors.size());
    const FactorDims &dims =
        op.rule.results[find(op.results, value) - op.results.begin()];
    bool divides = true;
    for (auto [factors, cut, have] :
         zip_equal(dims, wanted.cuts, planned.layouts[value].cuts)) {
      // Axes that cut it already stay where they are.
      std::optional<SmallVector<Axes>> split =
          ir::splitAxes(have, getSizes(op.rule, factors), model.mesh);
      ArrayRef<StringRef> inner = cut;
      if (split && inner.take_front(have.size()) == ArrayRef(have)) {
        for (auto [factor, part] : zip_equal(factors, *split))
          axes[factor] = part;
        inner = inner.drop_front(have.size());
      }
      Axes &last = axes[factors.back()];
      last.append(inner.begin(), inner.end());
      divides &=
          op.rule.factors[factors.back()].kind == FactorKind::Pass &&
          op.rule.factors[factors.back()].size % model.mesh.getNumParts(last) ==
              0;
    }
    if (divides && wantedFactors.try_emplace(*producer, axes).second)
      return Outcome::Again;
  }
  const Axes used = getUsed(wanted.cuts);
  return fail("expected an operand whose parts over " + join(used, " and ") +
                  " lie in the order of ranks",
              used.back());
}

/// Cuts rows again that were gathered on all ranks.
void LayerPlanner::cutRegrouped(unsigned result, Layout &wanted) const {
  if (regrouped.empty())
    return;
  if (hasStreamRows(result) && layer.position == LayerPosition::Body) {
    wanted.cuts = stream.cuts;
    return;
  }
  ArrayRef<int64_t> shape = layer.values[result].shape;
  for (StringRef axis : regrouped) {
    Axes *cut = find_if(wanted.cuts, [&](const Axes &other) {
      int64_t size = shape[&other - wanted.cuts.begin()];
      return size %
                 (model.mesh.getNumParts(other) * model.mesh.getSize(axis)) ==
             0;
    });
    if (cut != wanted.cuts.end())
      cut->push_back(axis);
  }
}

} // namespace mf::passes
