//===- RowBlockPlan.cpp - Operators that run block by block ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "RowBlockPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mf::passes {

using ir::FactorDims;
using ir::FactorKind;
using ir::ShardingRule;

namespace {

/// A factor of a rule that includes the rows.
struct RowFactor {
  unsigned factor;
  int64_t outer, inner;

  bool operator==(const RowFactor &other) const {
    return factor == other.factor && outer == other.outer &&
           inner == other.inner;
  }
};

} // namespace

static int64_t multiplySizes(const ShardingRule &rule,
                             ArrayRef<unsigned> factors) {
  int64_t product = 1;
  for (unsigned factor : factors)
    product *= rule.factors[factor].size;
  return product;
}

/// Returns the factor of dimension `place.dim` that contains all rows.
static std::optional<RowFactor> findFactor(const ShardingRule &rule,
                                           const FactorDims &dims,
                                           const RowPlace &place) {
  ArrayRef<unsigned> factors = dims[place.dim];
  for (auto [number, factor] : enumerate(factors)) {
    int64_t outer = multiplySizes(rule, factors.take_front(number));
    int64_t inner = multiplySizes(rule, factors.drop_front(number + 1));
    if (outer == 0 || inner == 0 || place.outer % outer != 0 ||
        place.inner % inner != 0)
      continue;
    RowFactor found{factor, place.outer / outer, place.inner / inner};
    if (found.outer * place.size * found.inner == rule.factors[factor].size)
      return found;
  }
  return std::nullopt;
}

static std::optional<RowPlace> findPlace(const ShardingRule &rule,
                                         const FactorDims &dims,
                                         const RowFactor &rows, int64_t size) {
  for (auto [dim, factors] : enumerate(dims)) {
    const unsigned *at = find(factors, rows.factor);
    if (at == factors.end())
      continue;
    size_t number = at - factors.begin();
    ArrayRef<unsigned> all = factors;
    return RowPlace{
        static_cast<unsigned>(dim),
        multiplySizes(rule, all.take_front(number)) * rows.outer, size,
        rows.inner * multiplySizes(rule, all.drop_front(number + 1))};
  }
  return std::nullopt;
}

namespace {

/// Plans one layer.
class RowBlockPlanner {
public:
  RowBlockPlanner(const ShardedModel &model, const ShardedLayer &layer)
      : model(model), layer(layer) {}

  RowBlockLayer plan(bool isFirst, bool isLast) {
    planned.takesBlocks = !isFirst;
    planned.givesBlocks = !isLast;
    planned.rows.resize(layer.values.size());
    planned.rows[0] = RowPlace{1, 1, model.sequence, 1};
    isBehind.assign(layer.values.size(), false);
    readWeights();
    for (const ShardedOperator &op : layer.operators)
      follow(op);
    chooseOperators(isFirst, isLast);
    return std::move(planned);
  }

private:
  void readWeights() {
    isWeight.assign(layer.values.size(), false);
    for (auto [number, value] : enumerate(layer.values))
      if (value.parameter)
        isWeight[number] = !model.parameters[*value.parameter].isTable;
    for (const ShardedOperator &op : layer.operators) {
      auto isConstant = [&](unsigned value) {
        return isWeight[value] || layer.values[value].parameter;
      };
      if (any(op.operands, isWeight) && all_of(op.operands, isConstant))
        for (unsigned result : op.results)
          isWeight[result] = true;
    }
  }

  /// Computes where the rows of an operator's results are.
  void follow(const ShardedOperator &op) {
    bool hasRows = false, behind = false;
    for (auto [operand, dims] : zip_equal(op.operands, op.rule.operands)) {
      if (!planned.rows[operand])
        continue;
      hasRows = true;
      behind = behind || isBehind[operand];
      std::optional<RowFactor> found =
          findFactor(op.rule, dims, *planned.rows[operand]);
      if (!found || op.rule.factors[found->factor].kind != FactorKind::Pass)
        continue;
      for (auto [result, resultDims] : zip_equal(op.results, op.rule.results))
        if (!planned.rows[result])
          planned.rows[result] =
              findPlace(op.rule, resultDims, *found, model.sequence);
    }
    bool cuts = findCut(op).has_value();
    mayCut.push_back(cuts);
    for (unsigned result : op.results)
      isBehind[result] = behind || (hasRows && !cuts);
  }

  /// Returns the factor by which an operator may be cut; none if it needs other
  /// rows than those that it computes.
  std::optional<RowFactor> findCut(const ShardedOperator &op) const {
    std::optional<RowFactor> rows;
    if (op.rule.dependsOnPlace)
      return std::nullopt;
    for (auto [operand, dims] : zip_equal(op.operands, op.rule.operands)) {
      if (!planned.rows[operand])
        continue;
      std::optional<RowFactor> found =
          findFactor(op.rule, dims, *planned.rows[operand]);
      if (!found || op.rule.factors[found->factor].kind != FactorKind::Pass ||
          (rows && !(*rows == *found)))
        return std::nullopt;
      rows = found;
    }
    if (!rows)
      return std::nullopt;
    auto hasRows = [&](const FactorDims &dims) {
      return any_of(dims, [&](ArrayRef<unsigned> factors) {
        return is_contained(factors, rows->factor);
      });
    };
    for (auto [operand, dims] : zip_equal(op.operands, op.rule.operands))
      if (!planned.rows[operand] && hasRows(dims))
        return std::nullopt;
    return all_of(op.rule.results, hasRows) ? rows : std::nullopt;
  }

  bool isAllowed(const ShardedOperator &op, bool isFirst, bool isLast) const {
    bool behind = any(op.operands, isBehind);
    return (behind || !isFirst) && (!behind || !isLast);
  }

  /// Selects all operators from one that takes blocks or reads a weight to one
  /// that returns blocks or reads a weight. These run by blocks.
  void chooseOperators(bool isFirst, bool isLast) {
    size_t count = layer.operators.size();
    std::vector<bool> fromBlocks(layer.values.size(), false),
        toBlocks(layer.values.size(), false), begins(count), ends(count);
    fromBlocks[0] = planned.takesBlocks;
    toBlocks[layer.results.front()] = planned.givesBlocks;
    for (auto [number, op] : enumerate(layer.operators)) {
      mayCut[number] = mayCut[number] && isAllowed(op, isFirst, isLast);
      begins[number] = mayCut[number] && (any(op.operands, isWeight) ||
                                          any(op.operands, fromBlocks));
      for (unsigned result : op.results)
        fromBlocks[result] = begins[number];
    }
    for (size_t number = count; number-- > 0;) {
      const ShardedOperator &op = layer.operators[number];
      ends[number] = mayCut[number] &&
                     (any(op.operands, isWeight) || any(op.results, toBlocks));
      if (ends[number])
        for (unsigned operand : op.operands)
          toBlocks[operand] = true;
    }
    for (size_t number = 0; number < count; ++number)
      planned.isCut.push_back(begins[number] && ends[number]);
  }

  bool any(ArrayRef<unsigned> values, const std::vector<bool> &flags) const {
    return any_of(values, [&](unsigned value) { return flags[value]; });
  }

  const ShardedModel &model;
  const ShardedLayer &layer;
  RowBlockLayer planned;
  /// For each value, `isWeight` tells whether it is computed from trained
  /// parameters alone, and `isBehind` whether it depends on an operator that
  /// mixes rows.
  std::vector<bool> isWeight, isBehind;
  std::vector<bool> mayCut;
};

} // namespace

/// Returns whether a body layer takes and returns a single stream of whole
/// sequences.
static bool hasOneStream(const ShardedModel &model, const ShardedLayer &layer) {
  auto isStream = [&](unsigned value) {
    ArrayRef<int64_t> shape = layer.values[value].shape;
    return shape.size() == 3 && shape[0] == model.batch &&
           shape[1] == model.sequence;
  };
  return layer.numHidden == 1 && layer.results.size() == 1 && isStream(0) &&
         isStream(layer.results.front());
}

std::optional<RowBlockPlan> planRowBlocks(const ShardedModel &model,
                                          int64_t blocks, std::string &error) {
  RowBlockPlan plan;
  plan.blocks = blocks;
  plan.runs = model.mesh.getNumParts(getMeshAxes("cp", model.mesh));
  plan.layers.resize(model.layers.size());
  SmallVector<size_t> body;
  for (auto [number, layer] : enumerate(model.layers))
    if (layer.position == LayerPosition::Body)
      body.push_back(number);
  for (size_t number : body)
    if (!hasOneStream(model, model.layers[number])) {
      error = "'" + model.layers[number].name +
              "' is not of one hidden input and one result of " +
              std::to_string(model.sequence) + " rows";
      return std::nullopt;
    }
  if (model.sequence % (plan.runs * blocks) != 0) {
    error = std::to_string(model.sequence) + " rows do not divide into " +
            std::to_string(blocks) + " blocks on each of " +
            std::to_string(plan.runs) + " context-parallel ranks";
    return std::nullopt;
  }
  for (size_t number : body)
    if (body.size() > 1)
      plan.layers[number] =
          RowBlockPlanner(model, model.layers[number])
              .plan(number == body.front(), number == body.back());
  return plan;
}

void RowBlockPlan::print(const ShardedModel &model, raw_ostream &os) const {
  os << blocks << " blocks of " << model.sequence / blocks << " rows\n";
  for (auto [layer, planned] : zip_equal(model.layers, layers)) {
    if (planned.rows.empty())
      continue;
    os << layer.name << ": takes " << (planned.takesBlocks ? "blocks" : "rows")
       << ", gives " << (planned.givesBlocks ? "blocks" : "rows") << '\n';
    for (auto [op, isCut] : zip_equal(layer.operators, planned.isCut))
      if (isCut)
        os << "  " << op.name << '\n';
  }
}

} // namespace mf::passes
