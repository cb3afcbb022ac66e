//===- MfExpertRules.cpp - Sharding rules of routers and experts ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"
#include "dialects/mf/ShapeFactors.h"

using namespace mlir;
using namespace mf::ir;

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
