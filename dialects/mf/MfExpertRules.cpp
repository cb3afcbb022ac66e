//===- MfExpertRules.cpp - Routers and experts on parts of tensors --------===//

#include "dialects/mf/MfOps.h"
#include "dialects/mf/ShapeFactors.h"

using namespace mlir;
using namespace mf::ir;

static FactorDims with(FactorDims dims,
                       std::initializer_list<unsigned> factors) {
  for (unsigned factor : factors)
    dims.push_back({factor});
  return dims;
}

//===----------------------------------------------------------------------===//
// Routers
//===----------------------------------------------------------------------===//

/// All operands and results have the same leading dimensions, which may be cut;
/// of the last one each has its own, whole.
static ShardingRule getRowRule(Operation *op) {
  ShardingRule rule;
  FactorDims rows = addFactors(rule, FactorKind::Pass,
                               getShape(op->getOperand(0)).drop_back());
  auto add = [&](Value value) {
    return with(rows,
                {rule.addFactor(FactorKind::Whole, getShape(value).back())});
  };
  for (Value operand : op->getOperands())
    rule.operands.push_back(add(operand));
  for (Value result : op->getResults())
    rule.results.push_back(add(result));
  return rule;
}

ShardingRule TopKOp::getShardingRule() { return getRowRule(*this); }
ShardingRule GatherElementsOp::getShardingRule() { return getRowRule(*this); }
ShardingRule SortOp::getShardingRule() { return getRowRule(*this); }

ShardingRule OneHotOp::getShardingRule() {
  ShardingRule rule;
  FactorDims all = addFactors(rule, FactorKind::Pass, getShape(getIndices()));
  rule.operands = {all};
  rule.results = {with(
      all, {rule.addFactor(FactorKind::Whole, getShape(getResult()).back())})};
  return rule;
}

ShardingRule CumsumOp::getShardingRule() {
  ShardingRule rule;
  rule.linearity = Linearity::InAll;
  FactorDims all = addFactors(rule, FactorKind::Pass, getShape(getInput()));
  rule.factors[all[getAxis()].front()].kind = FactorKind::Whole;
  rule.operands = {all};
  rule.results = {all};
  return rule;
}

/// Places are given within a row of the router.
ShardingRule TopKRouterOp::getShardingRule() {
  ShardingRule rule;
  unsigned rows = rule.addFactor(FactorKind::Pass, getShape(getExperts())[0]);
  auto add = [&](Value value) {
    FactorDims dims = {{rows}};
    dims.append(
        addFactors(rule, FactorKind::Whole, getShape(value).drop_front()));
    return dims;
  };
  rule.operands = {add(getExperts())};
  rule.results = {add(getDispatch()), add(getCombine())};
  return rule;
}

ShardingRule TrackLoadOp::getShardingRule() {
  ShardingRule rule;
  FactorDims input = addFactors(rule, FactorKind::Pass, getShape(getInput()));
  unsigned experts = rule.addFactor(FactorKind::Whole, getShape(getBias())[0]);
  // Choices are cut like the values that they chose from.
  FactorDims choices;
  for (auto [dim, size] : llvm::enumerate(getShape(getExperts()))) {
    bool isAlike = dim < input.size() && getShape(getInput())[dim] == size;
    choices.push_back({isAlike ? input[dim].front()
                               : rule.addFactor(FactorKind::Whole, size)});
  }
  rule.operands = {input, {{experts}}, choices};
  rule.results = {input};
  return rule;
}

ShardingRule RecordOp::getShardingRule() {
  ShardingRule rule;
  FactorDims input = addFactors(rule, FactorKind::Pass, getShape(getInput()));
  FactorDims value = {input.front()};
  value.append(
      addFactors(rule, FactorKind::Whole, getShape(getValue()).drop_front()));
  rule.operands = {input, value, value};
  rule.results = {input};
  return rule;
}

//===----------------------------------------------------------------------===//
// Rows of tokens
//===----------------------------------------------------------------------===//

/// Rows [..., rows, width] and a place or key for each, or for each row of the
/// result.
static ShardingRule getPlacesRule(Value rows, Value places, Operation *op) {
  ShardingRule rule;
  ArrayRef<int64_t> shape = getShape(rows);
  FactorDims leading = addFactors(rule, FactorKind::Pass, shape.drop_back(2));
  unsigned width = rule.addFactor(FactorKind::Pass, shape.back());
  unsigned from = rule.addFactor(FactorKind::Whole, shape[shape.size() - 2]);
  unsigned to = rule.addFactor(FactorKind::Whole, getShape(places).back());
  rule.operands = {with(leading, {from, width}), with(leading, {to})};
  rule.results = {with(leading, {to, width})};
  if (op->getNumResults() > 1)
    rule.results.push_back(with(leading, {to}));
  return rule;
}

ShardingRule GatherRowsOp::getShardingRule() {
  return getPlacesRule(getInput(), getIndices(), *this);
}
ShardingRule TokenPermuteOp::getShardingRule() {
  return getPlacesRule(getTokens(), getKeys(), *this);
}
ShardingRule TokenUnpermuteOp::getShardingRule() {
  return getPlacesRule(getInput(), getPlaces(), *this);
}

/// Ranks have the rows and the weights of their own experts.
template <typename Op> static ShardingRule getProductRule(Op op) {
  ShardingRule rule;
  rule.linearity = Linearity::InOne;
  ArrayRef<int64_t> input = getShape(op.getInput());
  ArrayRef<int64_t> weight = getShape(op.getWeight());
  bool transposed = op.getTransposeWeight();
  unsigned group = rule.addFactor(FactorKind::Pass, input[0]);
  unsigned rank = rule.addFactor(FactorKind::Pass, input[1]);
  unsigned rows = rule.addFactor(FactorKind::Whole, input[2]);
  unsigned k = rule.addFactor(FactorKind::Sum, input[3]);
  unsigned experts = rule.addFactor(FactorKind::Whole, weight[1]);
  unsigned n = rule.addFactor(FactorKind::Pass, weight[transposed ? 2 : 3]);
  rule.operands = {
      {{group}, {rank}, {rows}, {k}},
      {{rank}, {experts}, {transposed ? n : k}, {transposed ? k : n}},
      {{group}, {rank}, {experts}}};
  rule.results = {{{group}, {rank}, {rows}, {n}}};
  return rule;
}

ShardingRule ExpertMatmulOp::getShardingRule() { return getProductRule(*this); }
ShardingRule GroupedMatmulOp::getShardingRule() {
  return getProductRule(*this);
}

ShardingRule ExchangeTokensOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> input = getShape(getInput());
  FactorDims leading = addFactors(rule, FactorKind::Pass, input.take_front(2));
  auto addRows = [&](Value value) {
    return with(leading,
                {rule.addFactor(FactorKind::Whole, getShape(value)[2])});
  };
  unsigned width = rule.addFactor(FactorKind::Pass, input[3]);
  FactorDims counts = leading;
  counts.append(
      addFactors(rule, FactorKind::Whole, getShape(getSend()).drop_front(2)));
  rule.operands = {with(addRows(getInput()), {width}), counts, counts};
  rule.results = {with(addRows(getResult()), {width})};
  return rule;
}

void ExchangeTokensOp::localize(ArrayRef<Layout> operands,
                                ArrayRef<Layout> results, LocalTables &tables) {
  if (const Axes &ranks = operands[0].cuts[1]; !ranks.empty())
    setAxesAttr(Builder(getContext()).getStrArrayAttr(ranks));
}
