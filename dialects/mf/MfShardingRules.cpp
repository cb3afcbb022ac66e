//===- MfShardingRules.cpp - Sharding rules of operators ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"
#include "dialects/mf/ShapeFactors.h"
#include <numeric>

using namespace mlir;
using namespace mf::ir;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Returns the rule of a view with the dimensions of its operand.
static ShardingRule getViewRule(Value input) {
  ShardingRule rule;
  rule.linearity = {mf::Linearity::Together};
  rule.operands = {addFactors(rule, FactorKind::Pass, getShape(input))};
  rule.results = rule.operands;
  return rule;
}

FailureOr<ShardingRule> KeepPartOp::getShardingRule() {
  return getViewRule(getInput());
}

FailureOr<ShardingRule> StopGradientOp::getShardingRule() {
  return getViewRule(getInput());
}

//===----------------------------------------------------------------------===//
// Attention, vocabularies and loss
//===----------------------------------------------------------------------===//

/// The number of heads is that of key heads times the queries that share each
/// of them.
FailureOr<ShardingRule> FlashAttentionOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> query = getShape(getQuery()), key = getShape(getKey());
  unsigned batch = rule.addFactor(FactorKind::Pass, query[0]);
  unsigned heads = rule.addFactor(FactorKind::Pass, key[1]);
  unsigned group = rule.addFactor(FactorKind::Pass, query[1] / key[1]);
  // The position of a part's first row counts from the first key. A table of
  // first rows has it only if there are as many rows as keys.
  const bool mayCutRows = !getCausal() || getFirstQuery() || query[2] == key[2];
  unsigned rows = rule.addFactor(
      mayCutRows ? FactorKind::Pass : FactorKind::Whole, query[2]);
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
  if (getDropMask()) {
    rule.operands.push_back({{batch}, {heads, group}, {rows}, {keys}});
    rule.dependsOnPlace = true;
  }
  if (getStarts())
    rule.operands.push_back({{batch}, {rows}});
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

namespace {

/// The factors of queries [batch, queries, heads, width]. All ranks have all
/// heads, which share keys. Queries may be those of blocks.
struct HybridFactors {
  HybridFactors(ShardingRule &rule, ArrayRef<int64_t> query,
                std::optional<int64_t> blocks = std::nullopt)
      : batch(rule.addFactor(FactorKind::Pass, query[0])),
        heads(rule.addFactor(FactorKind::Whole, query[2])),
        width(rule.addFactor(FactorKind::Whole, query[3])) {
    if (blocks)
      rows.push_back(rule.addFactor(FactorKind::Pass, *blocks));
    rows.push_back(
        rule.addFactor(FactorKind::Pass, query[1] / blocks.value_or(1)));
  }

  unsigned batch, heads, width;
  SmallVector<unsigned, 1> rows;
};

} // namespace

/// Gives an operator on part of the queries the position of the first one.
template <typename AttentionOp>
static void setFirstQuery(AttentionOp op, const Layout &query,
                          LocalTables &tables) {
  const Axes &rows = query.cuts[1];
  if (!rows.empty())
    op.getFirstQueryMutable().assign(
        tables.getFirstIndex(op, rows, getShape(op.getQuery())[1]));
}

FailureOr<ShardingRule> HybridAttentionOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> keys = getShape(getKeys());
  const bool hasBlocks = keys.size() == 4;
  const HybridFactors query(rule, getShape(getQuery()),
                            hasBlocks ? std::optional(keys[1]) : std::nullopt);
  auto addRows = [&](Value rows) {
    rule.operands.push_back(
        {{query.batch},
         {rule.addFactor(FactorKind::Whole, getShape(rows)[1])},
         {query.width}});
  };
  rule.operands = {{{query.batch}, query.rows, {query.heads}, {query.width}}};
  if (hasBlocks)
    rule.operands.push_back({{query.batch},
                             {query.rows.front()},
                             {rule.addFactor(FactorKind::Whole, keys[2])},
                             {query.width}});
  else
    addRows(getKeys());
  rule.operands.push_back({{query.heads}});
  if (getFirstQuery())
    rule.operands.push_back({{rule.addFactor(FactorKind::Whole, 1)}});
  if (Value entries = getEntries())
    addRows(entries);
  if (Value indices = getIndices())
    rule.operands.push_back(
        {{query.batch},
         query.rows,
         {rule.addFactor(FactorKind::Whole, getShape(indices)[2])}});
  rule.results = {{{query.batch}, query.rows, {query.heads}, {query.width}},
                  {{query.batch}, query.rows, {query.heads}}};
  return rule;
}

void HybridAttentionOp::localize(ArrayRef<Layout> operands,
                                 ArrayRef<Layout> results,
                                 LocalTables &tables) {
  setFirstQuery(*this, operands[0], tables);
}

FailureOr<ShardingRule> LightningIndexerOp::getShardingRule() {
  ShardingRule rule;
  const HybridFactors query(rule, getShape(getQuery()));
  const unsigned entries =
                     rule.addFactor(FactorKind::Whole, getShape(getKeys())[1]),
                 chosen = rule.addFactor(FactorKind::Whole,
                                         getShape(getValues())[2]);
  rule.operands = {{{query.batch}, query.rows, {query.heads}, {query.width}},
                   {{query.batch}, {entries}, {query.width}},
                   {{query.batch}, query.rows, {query.heads}}};
  if (getFirstQuery())
    rule.operands.push_back({{rule.addFactor(FactorKind::Whole, 1)}});
  const FactorDims rows = {{query.batch}, query.rows, {chosen}};
  rule.results = {rows, rows};
  return rule;
}

void LightningIndexerOp::localize(ArrayRef<Layout> operands,
                                  ArrayRef<Layout> results,
                                  LocalTables &tables) {
  setFirstQuery(*this, operands[0], tables);
}

/// The rule is that of the kernel for ranks that hold parts of the vocabulary,
/// because an operator on the whole vocabulary can become one on a part.
FailureOr<ShardingRule> EmbeddingOp::getShardingRule() {
  return getShardingRuleOf("mfEmbeddingPart", *this);
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

FailureOr<ShardingRule> CrossEntropyOp::getShardingRule() {
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
  if (!rows.empty() && getOwnMeans())
    getCount().setType(RankedTensorType::get({1}, builder.getF32Type()));
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

/// Groups of dimensions that cover the same elements on both sides become
/// common factors. All dimensions from the first sizes on that do not divide
/// each other stay whole.
FailureOr<ShardingRule> ReshapeOp::getShardingRule() {
  ShardingRule rule;
  rule.linearity = {Linearity::Together};
  ArrayRef<int64_t> from = getShape(getInput()), to = getShape(getResult());
  FactorDims input(from.size()), result(to.size());
  size_t i = 0, j = 0;
  // The parts of dimensions i and j that are not assigned to factors yet.
  int64_t left = from.empty() ? 1 : from[0], right = to.empty() ? 1 : to[0];
  while (i < from.size() && j < to.size()) {
    int64_t size = std::gcd(left, right);
    // From here on, the factors of the two shapes are not known to agree.
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

void SliceOp::localize(ArrayRef<Layout> operands, ArrayRef<Layout> results,
                       LocalTables &tables) {
  setSizes(getShape(getResult()));
}

void SliceOp::takePiece(WholeOperands &whole) {
  setSizes(getShape(getResult()));
}

FailureOr<ShardingRule> SplitOp::getShardingRule() {
  ShardingRule rule;
  rule.linearity = {Linearity::Together};
  FactorDims dims = addFactors(rule, FactorKind::Pass, getShape(getInput()));
  rule.factors[dims[getAxis()].front()].kind = FactorKind::Whole;
  rule.operands = {dims};
  rule.results.assign(getParts().size(), dims);
  return rule;
}

FailureOr<ShardingRule> RepeatOp::getShardingRule() {
  ShardingRule rule;
  rule.linearity = {Linearity::Together};
  FactorDims dims = addFactors(rule, FactorKind::Pass, getShape(getInput()));
  rule.operands = {dims};
  dims[getAxis()].push_back(
      rule.addFactor(FactorKind::Whole, static_cast<int64_t>(getRepeats())));
  rule.results = {dims};
  return rule;
}

//===----------------------------------------------------------------------===//
// Routers
//===----------------------------------------------------------------------===//

FailureOr<ShardingRule> TrackLoadOp::getShardingRule() {
  ShardingRule rule;
  FactorDims input = addFactors(rule, FactorKind::Pass, getShape(getInput()));
  unsigned experts = rule.addFactor(FactorKind::Whole, getShape(getBias())[0]);
  // Choices are cut like the values among which they were made.
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

FailureOr<ShardingRule> RecordOp::getShardingRule() {
  ShardingRule rule;
  FactorDims input = addFactors(rule, FactorKind::Pass, getShape(getInput()));
  FactorDims value = {input.front()};
  value.append(
      addFactors(rule, FactorKind::Whole, getShape(getValue()).drop_front()));
  rule.operands = {input, value, value};
  rule.results = {input};
  return rule;
}

FailureOr<ShardingRule> TrackLargestOp::getShardingRule() {
  ShardingRule rule;
  FactorDims input = addFactors(rule, FactorKind::Pass, getShape(getInput()));
  FactorDims values(ArrayRef(input).drop_back());
  rule.operands = {input, {input[1]}, values};
  rule.results = {input};
  return rule;
}

//===----------------------------------------------------------------------===//
// Rows of tokens
//===----------------------------------------------------------------------===//

/// Places do not depend on the width, which may be cut over ranks.
FailureOr<ShardingRule> TokenPermuteOp::getShardingRule() {
  FailureOr<ShardingRule> rule = getKernelShardingRule(*this);
  if (failed(rule))
    return failure();
  const unsigned width =
      rule->addFactor(FactorKind::Pass, getShape(getTokens()).back());
  rule->operands[0].back() = {width};
  rule->results[0].back() = {width};
  return rule;
}

/// A rank may hold only the rows of its own experts, which the kernel for a
/// single rank does not support.
FailureOr<ShardingRule> ExchangeTokensOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> shape = getShape(getInput());
  const unsigned groups = rule.addFactor(FactorKind::Pass, shape[0]);
  const unsigned ranks = rule.addFactor(FactorKind::Pass, shape[1]);
  const unsigned width = rule.addFactor(FactorKind::Pass, shape[3]);
  auto addRows = [&](Value rows) {
    return FactorDims{{groups},
                      {ranks},
                      {rule.addFactor(FactorKind::Whole, getShape(rows)[2])},
                      {width}};
  };
  auto addCounts = [&](Value counts) {
    FactorDims dims = {{groups}, {ranks}};
    dims.append(addFactors(rule, FactorKind::Whole,
                           getShape(counts).drop_front(dims.size())));
    return dims;
  };
  rule.operands = {addRows(getInput()), addCounts(getSend()),
                   addCounts(getReceive())};
  rule.results = {addRows(getResult())};
  return rule;
}

void ExchangeTokensOp::localize(ArrayRef<Layout> operands,
                                ArrayRef<Layout> results, LocalTables &tables) {
  if (const Axes &ranks = operands[0].cuts[1]; !ranks.empty())
    setAxesAttr(Builder(getContext()).getStrArrayAttr(ranks));
}
