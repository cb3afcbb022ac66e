//===- LayerPlanner.cpp - Layouts of one layer ----------------------------===//

#include "LayerPlanner.h"
#include "RuleAxes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace llvm;

namespace mf::passes {

using ir::Axes;
using ir::FactorDims;
using ir::FactorKind;
using ir::Layout;

LayerPlanner::Outcome LayerPlanner::fail(const Twine &message, StringRef axis) {
  error.message = message.str();
  error.axis = axis.str();
  error.op = now;
  return Outcome::Failed;
}

/// The version of an operand that is there already and has whole what the
/// operator sums over, so that ranks need not add up; else the operand.
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
    if (!split || (isRankOrdered[value] && factors.size() > 1)) {
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

/// Whether `op` looks at the rows of the stream in other groups, or back.
bool LayerPlanner::regroupsRows(const ShardedOperator &op) const {
  auto hasSeveral = [](const FactorDims &dims) {
    return any_of(
        dims, [](ArrayRef<unsigned> factors) { return factors.size() > 1; });
  };
  if (op.operands.size() != 1 || op.results.size() != 1 ||
      !(hasSeveral(op.rule.operands[0]) || hasSeveral(op.rule.results[0])))
    return false;
  unsigned value = current[op.operands.front()];
  return isStream(op.results.front()) ||
         (isStream(origins[value]) &&
          planned.layouts[value].cuts == stream.cuts);
}

/// Parameters come first, as they are not moved; what is cut as wanted, last.
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
    // Where one lies as the stream does, others become parts of it.
    std::stable_partition(operands.begin(), operands.end(), liesAsStream);
    for (size_t operand : operands)
      if (!chooseFrom(op, operand, axes, isDecided))
        return false;
  }
  putTogetherRows(op, axes);
  exchangeWhole(op, axes);
  if (auto wanted = wantedFactors.find(now.value_or(0));
      now && wanted != wantedFactors.end())
    axes = wanted->second;
  erase_if(regrouped,
           [&](StringRef axis) { return is_contained(getUsed(axes), axis); });
  return true;
}

/// Whether a result has parts of `factor` within each element of a factor that
/// is not cut as far: its elements would lie in the order of ranks.
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

/// Whether a result has both factors in one dimension.
static bool areTogether(const ShardedOperator &op, unsigned one,
                        unsigned other) {
  return any_of(op.rule.results, [&](const FactorDims &dims) {
    return any_of(dims, [&](ArrayRef<unsigned> factors) {
      return is_contained(factors, one) && is_contained(factors, other);
    });
  });
}

/// Rows of the stream in other groups than ranks have them are put together
/// first.
void LayerPlanner::putTogetherRows(const ShardedOperator &op,
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

/// Whether all of a dimension is there already, in another version.
bool LayerPlanner::isThereWhole(unsigned value, size_t dim) const {
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

/// Where an operator needs all of a dimension that axes cut, and these cut no
/// other one, ranks exchange its parts for parts of one further out that need
/// not be whole, rather than all have all of it.
void LayerPlanner::exchangeWhole(const ShardedOperator &op, FactorAxes &axes) {
  auto isWhole = [&](unsigned factor) {
    return op.rule.factors[factor].kind == FactorKind::Whole;
  };
  /// Cuts a dimension in front of `dim` by the axis.
  auto move = [&](const FactorDims &dims, size_t dim, StringRef axis) {
    for (ArrayRef<unsigned> factors : ArrayRef(dims).take_front(dim)) {
      unsigned to = factors.front();
      int64_t parts =
          model.mesh.getNumParts(axes[to]) * model.mesh.getSize(axis);
      if (factors.size() != 1 || op.rule.factors[to].size % parts != 0 ||
          op.rule.factors[to].kind != FactorKind::Pass ||
          areTogether(op, to, dims[dim].front()))
        continue;
      axes[to].push_back(axis);
      return true;
    }
    return false;
  };
  for (auto [number, dims] : enumerate(op.rule.operands)) {
    unsigned value = current[op.operands[number]];
    if (sources[value] != Source::Activation || isRankOrdered[value])
      continue;
    for (auto [dim, cut] : enumerate(planned.layouts[value].cuts)) {
      unsigned factor = dims[dim].front();
      if (all_of(dims[dim], isWhole)) {
        if (isThereWhole(value, dim))
          continue;
        for (StringRef axis : cut)
          if (!is_contained(getUsed(axes), axis))
            move(dims, dim, axis);
      } else if (dims[dim].size() == 1 && isInterleaved(op, factor, axes)) {
        Axes kept;
        for (StringRef axis : axes[factor])
          if (!move(dims, dim, axis))
            kept.push_back(axis);
        axes[factor] = kept;
      }
    }
  }
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
    // What lay as wanted before it was resharded needs no way back.
    unsigned value =
        planned.layouts[operand] == wanted ? operand : current[operand];
    Outcome outcome = bring(value, wanted, number, op.name);
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

/// Rows that all ranks have put together are shared out among them again.
void LayerPlanner::cutRegrouped(unsigned result, Layout &wanted) const {
  if (regrouped.empty())
    return;
  if (isStream(result) && layer.position == LayerPosition::Body) {
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
    // What was exchanged for an operator before goes back as it came.
    if (auto home = homes.find(to_vector(layer.values[result].shape));
        home != homes.end() && !wanted.partial.empty() &&
        all_of(wanted.partial,
               [&](StringRef axis) { return home->second.cutsOver(axis); }))
      wanted.cuts = home->second.cuts;
    cutRegrouped(result, wanted);
    wanted.partial.clear();
    Outcome outcome = bring(current[result], wanted, number + 1, op.name);
    if (outcome != Outcome::Done)
      return outcome;
  }
  return Outcome::Done;
}

LayerPlanner::Outcome LayerPlanner::planOperator(unsigned number) {
  now = number;
  regrouped.clear();
  const ShardedOperator &op = layer.operators[number];
  FactorAxes axes;
  if (!chooseFactors(op, axes))
    return Outcome::Failed;
  FactorAxes exchanged = axes;
  if (!exchangeFactors(op, exchanged))
    return Outcome::Failed;
  // Where one operand's gradient will be partial, so will the result's.
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
