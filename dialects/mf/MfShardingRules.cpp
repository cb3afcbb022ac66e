//===- MfShardingRules.cpp - The rules of operators of a model ------------===//

#include "dialects/mf/MfOps.h"
#include "dialects/mf/ShapeFactors.h"
#include <numeric>

using namespace mlir;
using namespace mf::ir;

static FactorDims take(const FactorDims &dims, size_t first, size_t count) {
  return FactorDims(dims.begin() + first, dims.begin() + first + count);
}

//===----------------------------------------------------------------------===//
// Elementwise operators
//===----------------------------------------------------------------------===//

/// Operands have the result's trailing dimensions, or one element in them.
static ShardingRule getElementwiseRule(Operation *op, Linearity linearity) {
  ShardingRule rule;
  rule.linearity = linearity;
  FactorDims all =
      addFactors(rule, FactorKind::Pass, getShape(op->getResult(0)));
  for (Value operand : op->getOperands()) {
    ArrayRef<int64_t> shape = getShape(operand);
    FactorDims dims = take(all, all.size() - shape.size(), shape.size());
    for (auto [dim, size] : llvm::enumerate(shape))
      if (size != rule.factors[dims[dim].front()].size)
        dims[dim] = {rule.addFactor(FactorKind::Whole, size)};
    rule.operands.push_back(std::move(dims));
  }
  rule.results.push_back(std::move(all));
  return rule;
}

ShardingRule AddOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::InAll);
}
ShardingRule MulOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::InOne);
}
ShardingRule ScaleOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::InAll);
}
ShardingRule NegOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::InAll);
}
ShardingRule CastOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::InAll);
}
ShardingRule KeepPartOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::InAll);
}
ShardingRule DivOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::None);
}
ShardingRule SiluOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::None);
}
ShardingRule GeluOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::None);
}
ShardingRule FastGeluOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::None);
}
ShardingRule AddScalarOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::None);
}
ShardingRule ExpOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::None);
}
ShardingRule LogOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::None);
}
ShardingRule SigmoidOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::None);
}
ShardingRule CompareScalarOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::None);
}
ShardingRule AtLeastOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::None);
}
ShardingRule FloorDivideOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::None);
}
ShardingRule RemainderOp::getShardingRule() {
  return getElementwiseRule(*this, Linearity::None);
}

//===----------------------------------------------------------------------===//
// Matrix products, norms, attention and loss
//===----------------------------------------------------------------------===//

ShardingRule MatmulOp::getShardingRule() {
  ShardingRule rule;
  rule.linearity = Linearity::InOne;
  ArrayRef<int64_t> lhs = getShape(getLhs()), rhs = getShape(getRhs());
  FactorDims batch =
      addFactors(rule, getContractBatch() ? FactorKind::Sum : FactorKind::Pass,
                 lhs.drop_back(2));
  unsigned m = rule.addFactor(FactorKind::Pass,
                              lhs[lhs.size() - (getTransposeA() ? 1 : 2)]);
  unsigned k = rule.addFactor(FactorKind::Sum,
                              lhs[lhs.size() - (getTransposeA() ? 2 : 1)]);
  unsigned n = rule.addFactor(FactorKind::Pass,
                              rhs[rhs.size() - (getTransposeB() ? 2 : 1)]);
  auto add = [&](SmallVectorImpl<FactorDims> &to, bool hasBatch, unsigned rows,
                 unsigned columns) {
    FactorDims dims = hasBatch ? batch : FactorDims();
    dims.push_back({rows});
    dims.push_back({columns});
    to.push_back(std::move(dims));
  };
  add(rule.operands, true, getTransposeA() ? k : m, getTransposeA() ? m : k);
  add(rule.operands, rhs.size() > 2, getTransposeB() ? n : k,
      getTransposeB() ? k : n);
  add(rule.results, !getContractBatch(), m, n);
  return rule;
}

ShardingRule RmsNormOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> shape = getShape(getInput());
  FactorDims all = addFactors(rule, FactorKind::Pass, shape.drop_back());
  FactorDims rows = all;
  all.push_back({rule.addFactor(FactorKind::Whole, shape.back())});
  rule.operands = {all, {all.back()}};
  rule.results = {all, rows};
  return rule;
}

ShardingRule LayerNormOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> shape = getShape(getInput());
  FactorDims all = addFactors(rule, FactorKind::Pass, shape.drop_back());
  FactorDims rows = all;
  all.push_back({rule.addFactor(FactorKind::Whole, shape.back())});
  rule.operands = {all, {all.back()}, {all.back()}};
  rule.results = {all, rows, rows};
  return rule;
}

ShardingRule SoftmaxOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> shape = getShape(getInput());
  FactorDims all = addFactors(rule, FactorKind::Pass, shape.drop_back());
  all.push_back({rule.addFactor(FactorKind::Whole, shape.back())});
  rule.operands = {all};
  rule.results = {all};
  return rule;
}

/// The halves of a dimension rotate together.
ShardingRule RotaryPositionEmbeddingOp::getShardingRule() {
  ShardingRule rule = getElementwiseRule(*this, Linearity::None);
  rule.factors[rule.results[0].back().front()].kind = FactorKind::Whole;
  return rule;
}

ShardingRule SwiGluOp::getShardingRule() {
  ShardingRule rule;
  FactorDims result = addFactors(rule, FactorKind::Pass, getShape(getResult()));
  FactorDims input = result;
  input.insert(input.end() - 1, {rule.addFactor(FactorKind::Whole, 2)});
  rule.operands = {input};
  rule.results = {result};
  return rule;
}

/// Heads are those of keys times the group of queries that each serves.
ShardingRule FlashAttentionOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> query = getShape(getQuery()), key = getShape(getKey());
  unsigned batch = rule.addFactor(FactorKind::Pass, query[0]);
  unsigned heads = rule.addFactor(FactorKind::Pass, key[1]);
  unsigned group = rule.addFactor(FactorKind::Pass, query[1] / key[1]);
  unsigned rows = rule.addFactor(FactorKind::Pass, query[2]);
  unsigned keys = rule.addFactor(FactorKind::Whole, key[2]);
  unsigned width = rule.addFactor(FactorKind::Whole, query[3]);
  unsigned valueWidth =
      rule.addFactor(FactorKind::Whole, getShape(getValue())[3]);
  rule.operands = {{{batch}, {heads, group}, {rows}, {width}},
                   {{batch}, {heads}, {keys}, {width}},
                   {{batch}, {heads}, {keys}, {valueWidth}}};
  if (getFirstQuery())
    rule.operands.push_back({{rule.addFactor(FactorKind::Whole, 1)}});
  if (getSlopes())
    rule.operands.push_back({{heads, group}});
  FactorDims statistics = {{batch}, {heads, group}, {rows}};
  rule.results = {
      statistics, statistics, {{batch}, {heads, group}, {rows}, {valueWidth}}};
  rule.exchange = {rows, heads};
  if (getCausal() && !getFirstQuery())
    rule.prefix = {rows, keys};
  return rule;
}

void FlashAttentionOp::localize(ArrayRef<Layout> operands,
                                ArrayRef<Layout> results, LocalTables &tables) {
  const Axes &rows = operands[0].cuts[2];
  if (!rows.empty() && getCausal())
    getFirstQueryMutable().assign(
        tables.getFirstIndex(*this, rows, getShape(getQuery())[2]));
}

ShardingRule EmbeddingOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> table = getShape(getTable());
  unsigned vocabulary = rule.addFactor(FactorKind::Sum, table[0]);
  unsigned width = rule.addFactor(FactorKind::Pass, table[1]);
  FactorDims indices =
      addFactors(rule, FactorKind::Pass, getShape(getIndices()));
  FactorDims result = indices;
  result.push_back({width});
  rule.operands = {{{vocabulary}, {width}}, indices};
  if (getFirstRow())
    rule.operands.push_back({{rule.addFactor(FactorKind::Whole, 1)}});
  rule.results = {result};
  return rule;
}

void EmbeddingOp::localize(ArrayRef<Layout> operands, ArrayRef<Layout> results,
                           LocalTables &tables) {
  const Axes &vocabulary = operands[0].cuts[0];
  if (vocabulary.empty())
    return;
  setVocabAxesAttr(Builder(getContext()).getStrArrayAttr(vocabulary));
  getFirstRowMutable().assign(
      tables.getFirstIndex(*this, vocabulary, getShape(getTable())[0]));
}

ShardingRule CrossEntropyOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> logits = getShape(getLogits());
  unsigned rows = rule.addFactor(FactorKind::Own, logits[0]);
  unsigned classes = rule.addFactor(FactorKind::Own, logits[1]);
  rule.operands = {{{rows}, {classes}}, {{rows}}};
  if (Value counted = getCounted())
    rule.operands.push_back(
        {{rows, rule.addFactor(FactorKind::Whole,
                               getShape(counted)[0] / logits[0])}});
  if (getFirstRow())
    rule.operands.push_back({{rule.addFactor(FactorKind::Whole, 1)}});
  rule.results = {{}, {{rows}}, {}};
  return rule;
}

void CrossEntropyOp::localize(ArrayRef<Layout> operands,
                              ArrayRef<Layout> results, LocalTables &tables) {
  Builder builder(getContext());
  const Axes &rows = operands[0].cuts[0], &classes = operands[0].cuts[1];
  if (!rows.empty())
    setTokenAxesAttr(builder.getStrArrayAttr(rows));
  if (classes.empty())
    return;
  setVocabAxesAttr(builder.getStrArrayAttr(classes));
  getFirstRowMutable().assign(
      tables.getFirstIndex(*this, classes, getShape(getLogits())[1]));
}

void CrossEntropyOp::takePiece(WholeOperands &whole) {
  getCountedMutable().assign(whole.getWhole(1));
}

//===----------------------------------------------------------------------===//
// Operators that move elements
//===----------------------------------------------------------------------===//

/// Dimensions that cover the same elements become the factors that both sides
/// have in common; where sizes do not split, the rest is whole.
ShardingRule ReshapeOp::getShardingRule() {
  ShardingRule rule;
  rule.linearity = Linearity::InAll;
  ArrayRef<int64_t> from = getShape(getInput()), to = getShape(getResult());
  FactorDims input(from.size()), result(to.size());
  size_t i = 0, j = 0;
  // The remaining factors of dimensions i and j.
  int64_t left = from.empty() ? 1 : from[0], right = to.empty() ? 1 : to[0];
  while (i < from.size() && j < to.size()) {
    int64_t size = std::gcd(left, right);
    // From here on no factors of the two shapes are known to agree.
    if (size == 0 || (size == 1 && left != 1 && right != 1))
      break;
    unsigned factor = rule.addFactor(FactorKind::Pass, size);
    input[i].push_back(factor);
    result[j].push_back(factor);
    left /= size;
    right /= size;
    if (left == 1 && ++i < from.size())
      left = from[i];
    if (right == 1 && ++j < to.size())
      right = to[j];
  }
  auto addRest = [&](FactorDims &dims, ArrayRef<int64_t> shape, size_t first,
                     int64_t rest) {
    for (size_t dim = first; dim < shape.size(); ++dim)
      dims[dim].push_back(
          rule.addFactor(FactorKind::Whole, dim == first ? rest : shape[dim]));
  };
  addRest(input, from, i, left);
  addRest(result, to, j, right);
  rule.operands = {input};
  rule.results = {result};
  return rule;
}

ShardingRule TransposeOp::getShardingRule() {
  ShardingRule rule;
  rule.linearity = Linearity::InAll;
  FactorDims input = addFactors(rule, FactorKind::Pass, getShape(getInput()));
  FactorDims result;
  for (int64_t dimension : getPerm())
    result.push_back(input[dimension]);
  rule.operands = {input};
  rule.results = {result};
  return rule;
}

/// Dimensions keep their cut where they keep their size.
static ShardingRule getWindowRule(Operation *op) {
  ShardingRule rule;
  rule.linearity = Linearity::InAll;
  FactorDims input, result;
  for (auto [from, to] : llvm::zip_equal(getShape(op->getOperand(0)),
                                         getShape(op->getResult(0)))) {
    FactorKind kind = from == to ? FactorKind::Pass : FactorKind::Whole;
    unsigned factor = rule.addFactor(kind, from);
    input.push_back({factor});
    result.push_back({factor});
  }
  rule.operands = {input};
  rule.results = {result};
  return rule;
}

ShardingRule SliceOp::getShardingRule() { return getWindowRule(*this); }

/// A sum of summands that have a value around them has more of it.
ShardingRule PadOp::getShardingRule() {
  ShardingRule rule = getWindowRule(*this);
  if (getValue())
    rule.linearity = Linearity::None;
  return rule;
}

void SliceOp::localize(ArrayRef<Layout> operands, ArrayRef<Layout> results,
                       LocalTables &tables) {
  setSizes(getShape(getResult()));
}

void SliceOp::takePiece(WholeOperands &whole) {
  setSizes(getShape(getResult()));
}

ShardingRule ConcatOp::getShardingRule() {
  ShardingRule rule;
  rule.linearity = Linearity::InAll;
  FactorDims dims = addFactors(rule, FactorKind::Pass, getShape(getResult()));
  rule.factors[dims[getAxis()].front()].kind = FactorKind::Whole;
  rule.operands.assign(getInputs().size(), dims);
  rule.results = {dims};
  return rule;
}

ShardingRule SplitOp::getShardingRule() {
  ShardingRule rule;
  rule.linearity = Linearity::InAll;
  FactorDims dims = addFactors(rule, FactorKind::Pass, getShape(getInput()));
  rule.factors[dims[getAxis()].front()].kind = FactorKind::Whole;
  rule.operands = {dims};
  rule.results.assign(getParts().size(), dims);
  return rule;
}

ShardingRule RepeatOp::getShardingRule() {
  ShardingRule rule;
  rule.linearity = Linearity::InAll;
  FactorDims dims = addFactors(rule, FactorKind::Pass, getShape(getInput()));
  rule.operands = {dims};
  dims[getAxis()].push_back(
      rule.addFactor(FactorKind::Whole, static_cast<int64_t>(getRepeats())));
  rule.results = {dims};
  return rule;
}

ShardingRule ReduceSumOp::getShardingRule() {
  ShardingRule rule;
  rule.linearity = Linearity::InAll;
  FactorDims input, result;
  for (auto [axis, size] : llvm::enumerate(getShape(getInput()))) {
    bool sums = llvm::is_contained(getAxes(), static_cast<int64_t>(axis));
    unsigned factor =
        rule.addFactor(sums ? FactorKind::Sum : FactorKind::Pass, size);
    input.push_back({factor});
    if (!sums)
      result.push_back({factor});
  }
  rule.operands = {input};
  rule.results = {result};
  return rule;
}
