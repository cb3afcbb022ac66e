//===- LayerPlanner.cpp - Layouts of one layer ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayerPlanner.h"
#include "RuleAxes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace llvm;

namespace mf::passes {

using ir::Axes;
using ir::FactorKind;
using ir::Layout;

LayerPlanner::Outcome LayerPlanner::fail(const Twine &message, StringRef axis) {
  error.message = message.str();
  error.axis = axis.str();
  error.op = plannedOp;
  return Outcome::Failed;
}

/// Returns an existing version of an operand that has the whole of the
/// dimension over which the operator sums, so that ranks need not sum. Returns
/// the operand if there is none.
unsigned LayerPlanner::findWhole(const ShardedOperator &op,
                                 size_t operand) const {
  unsigned value = current[op.operands[operand]];
  auto sumsOverRanks = [&](unsigned version) {
    return any_of(
        zip_equal(op.rule.operands[operand], planned.layouts[version].cuts),
        [&](auto dim) {
          auto [factors, cut] = dim;
          return !cut.empty() && any_of(factors, [&](unsigned factor) {
            return op.rule.factors[factor].kind == FactorKind::Sum;
          });
        });
  };
  if (op.operands.size() != 1 || !sumsOverRanks(value))
    return value;
  for (const PlannedReshard &made : planned.reshards)
    if (origins[made.to] == origins[value] &&
        planned.layouts[made.to].cuts.size() ==
            planned.layouts[value].cuts.size() &&
        !sumsOverRanks(made.to))
      return made.to;
  return value;
}

bool LayerPlanner::chooseFrom(const ShardedOperator &op, size_t operand,
                              FactorAxes &axes, std::vector<bool> &isDecided) {
  const unsigned value = findWhole(op, operand);
  const Layout &layout = planned.layouts[value];
  for (auto [dim, factors, cut] :
       enumerate(op.rule.operands[operand], layout.cuts)) {
    SmallVector<int64_t> sizes = getSizes(op.rule, factors);
    bool isWhole = all_of(factors, [&](unsigned factor) {
      return op.rule.factors[factor].kind == FactorKind::Whole;
    });
    if (isWhole) {
      if (regroupsRows(op))
        regrouped.append(cut);
      continue;
    }
    Axes kept = cut;
    std::optional<SmallVector<Axes>> split =
        ir::splitAxes(kept, sizes, model.mesh);
    while (!split && regroupsRows(op)) {
      regrouped.insert(regrouped.begin(), kept.pop_back_val());
      split = ir::splitAxes(kept, sizes, model.mesh);
    }
    bool isOrdered = isRankOrdered[value] && !cut.empty();
    if (!split || (isOrdered && factors.size() > 1)) {
      fail(
          "dimension " + Twine(dim) + ", of " +
              join(map_range(sizes,
                             [](int64_t size) { return std::to_string(size); }),
                   " times ") +
              ", does not divide into " + Twine(model.mesh.getNumParts(cut)) +
              " parts over " + join(cut, " and "),
          cut.back());
      return false;
    }
    for (auto [factor, part] : zip_equal(factors, *split)) {
      if (isDecided[factor] ||
          op.rule.factors[factor].kind == FactorKind::Whole)
        continue;
      isDecided[factor] = true;
      Axes used = getUsed(axes);
      for (StringRef axis : part)
        if (!is_contained(used, axis))
          axes[factor].push_back(axis);
    }
  }
  return true;
}

/// Chooses the axes of the factors. Parameters come first, because they are not
/// moved. Operands that already have the desired layout come last.
bool LayerPlanner::chooseFactors(const ShardedOperator &op, FactorAxes &axes) {
  axes.resize(op.rule.factors.size());
  std::vector<bool> isDecided(axes.size(), false);
  auto liesAsStream = [&](size_t operand) {
    unsigned value = current[op.operands[operand]];
    return isStream(origins[value]) &&
           planned.layouts[value].cuts == stream.cuts;
  };
  for (Source source : {Source::Parameter, Source::Activation, Source::Free}) {
    SmallVector<size_t> operands;
    for (auto [number, operand] : enumerate(op.operands))
      if (sources[operand] == source)
        operands.push_back(number);
    // If one operand has the layout of the stream, the others are cut
    // accordingly.
    llvm::sort(operands, [&](size_t a, size_t b) {
      return std::pair(!liesAsStream(a), a) < std::pair(!liesAsStream(b), b);
    });
    for (size_t operand : operands)
      if (!chooseFrom(op, operand, axes, isDecided))
        return false;
  }
  gatherRegroupedRows(op, axes);
  exchangeWhole(op, axes);
  gatherInterleaved(op, axes);
  if (auto wanted = wantedFactors.find(plannedOp.value_or(0));
      plannedOp && wanted != wantedFactors.end())
    axes = wanted->second;
  erase_if(regrouped,
           [&](StringRef axis) { return is_contained(getUsed(axes), axis); });
  bool isActivation = any_of(op.operands, [&](unsigned operand) {
    return sources[operand] == Source::Activation;
  });
  for (unsigned factor = 0; factor < axes.size(); ++factor)
    if (isActivation && returnsRows() && isInterleaved(op, factor, axes)) {
      fail("parts over " + join(axes[factor], " and ") +
               " would lie within each element of an outer dimension",
           axes[factor].back());
      return false;
    }
  return true;
}

bool LayerPlanner::exchangeFactors(const ShardedOperator &op,
                                   FactorAxes &axes) {
  if (!op.rule.exchange)
    return true;
  auto [from, to] = *op.rule.exchange;
  for (StringRef axis : model.headAxes) {
    if (!is_contained(axes[from], axis))
      continue;
    erase(axes[from], axis);
    axes[to].push_back(axis);
  }
  int64_t parts = model.mesh.getNumParts(axes[to]);
  if (op.rule.factors[to].size % parts == 0)
    return true;
  fail(Twine(op.rule.factors[to].size) +
           " key and value heads do not divide into " + Twine(parts) +
           " parts over " + join(axes[to], " and "),
       axes[to].back());
  return false;
}

LayerPlanner::Outcome LayerPlanner::bringOperands(unsigned number,
                                                  const FactorAxes &axes,
                                                  const Axes &lifted) {
  const ShardedOperator &op = layer.operators[number];
  Axes used = getUsed(axes);
  SmallVector<unsigned> values;
  for (auto [operand, dims] : zip_equal(op.operands, op.rule.operands)) {
    Layout wanted = getLayout(dims, axes);
    if (layer.values[operand].needsGradient) {
      for (StringRef axis : used)
        if (!wanted.cutsOver(axis))
          wanted.reduced.push_back(axis);
      addMissing(wanted.reduced, lifted);
    }
    // A value that had the desired layout before a reshard is used directly.
    unsigned value =
        planned.layouts[operand] == wanted ? operand : current[operand];
    const bool isInOrder = planned.layouts[value].cuts == wanted.cuts ||
                           !mustLieInRankOrder(op, value, dims);
    Outcome outcome = isInOrder ? reshard(value, wanted, number, op.name)
                                : reshardToRankOrder(value, wanted);
    if (outcome != Outcome::Done)
      return outcome;
    values.push_back(value);
  }
  planned.operands.push_back(std::move(values));
  return Outcome::Done;
}

void LayerPlanner::placeResults(const ShardedOperator &op,
                                const FactorAxes &axes, const Axes &lifted) {
  Source source = Source::Activation;
  auto areFrom = [&](ArrayRef<Source> allowed) {
    return all_of(op.operands, [&](unsigned operand) {
      return is_contained(allowed, sources[operand]);
    });
  };
  if (areFrom({Source::Free}))
    source = Source::Free;
  else if (areFrom({Source::Free, Source::Parameter}))
    source = Source::Parameter;
  for (auto [result, dims] : zip_equal(op.results, op.rule.results)) {
    Layout layout = getLayout(dims, axes);
    layout.partial = getSummed(op.rule, dims, axes);
    layout.reduced = lifted;
    planned.layouts[result] = layout;
    sources[result] = source;
    for (ArrayRef<unsigned> factors : dims)
      for (size_t i = 1; i < factors.size(); ++i)
        if (!axes[factors[i]].empty() &&
            model.mesh.getNumParts(axes[factors[i - 1]]) !=
                op.rule.factors[factors[i - 1]].size)
          isRankOrdered[result] = true;
    for (unsigned operand : op.operands)
      if (isRankOrdered[operand] && layout.cuts != Layout(dims.size()).cuts)
        isRankOrdered[result] = true;
  }
}

LayerPlanner::Outcome LayerPlanner::resolveResults(unsigned number,
                                                   const FactorAxes &axes) {
  const ShardedOperator &op = layer.operators[number];
  for (auto [result, dims] : zip_equal(op.results, op.rule.results)) {
    if (!isRead[result])
      continue;
    Layout wanted = planned.layouts[result];
    if (op.rule.exchange)
      wanted.cuts = getLayout(dims, axes).cuts;
    if (!wanted.partial.empty() && isStream(result) &&
        layer.position == LayerPosition::Body)
      wanted.cuts = stream.cuts;
    // A value that was exchanged for an earlier operator returns to its former
    // layout.
    if (auto home = homes.find(to_vector(layer.values[result].shape));
        home != homes.end() && !wanted.partial.empty() &&
        all_of(wanted.partial,
               [&](StringRef axis) { return home->second.cutsOver(axis); }))
      wanted.cuts = home->second.cuts;
    cutRegrouped(result, wanted);
    wanted.partial.clear();
    Outcome outcome = reshard(current[result], wanted, number + 1, op.name);
    if (outcome != Outcome::Done)
      return outcome;
  }
  return Outcome::Done;
}

LayerPlanner::Outcome LayerPlanner::planOperator(unsigned number) {
  plannedOp = number;
  regrouped.clear();
  const ShardedOperator &op = layer.operators[number];
  FactorAxes axes;
  if (!chooseFactors(op, axes))
    return Outcome::Failed;
  FactorAxes exchanged = axes;
  if (!exchangeFactors(op, exchanged))
    return Outcome::Failed;
  // If the gradient of one operand is partial, so is that of the result.
  Axes used = getUsed(exchanged), lifted;
  for (unsigned operand : op.operands)
    for (StringRef axis : planned.layouts[current[operand]].reduced)
      if (!is_contained(used, axis))
        addMissing(lifted, axis);
  Outcome outcome = bringOperands(number, exchanged, lifted);
  if (outcome != Outcome::Done)
    return outcome;
  placeResults(op, exchanged, lifted);
  return resolveResults(number, axes);
}

std::optional<bool> LayerPlanner::plan(ArrayRef<Layout> hidden) {
  Outcome outcome = placeInputs(hidden);
  for (unsigned op = 0; op < layer.operators.size() && outcome == Outcome::Done;
       ++op)
    outcome = planOperator(op);
  if (outcome == Outcome::Done)
    outcome = returnResults();
  if (outcome == Outcome::Failed)
    return std::nullopt;
  return outcome == Outcome::Done;
}

} // namespace mf::passes
