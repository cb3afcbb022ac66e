//===- AlikeLayers.cpp - Layers that can share a plan ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "AlikeLayers.h"
#include "llvm/ADT/STLExtras.h"
#include <tuple>

using namespace llvm;

namespace mf::passes {

using ir::ShardingFactor;
using ir::ShardingRule;

static bool areEqual(const ShardingRule &one, const ShardingRule &other) {
  auto getFacts = [](const ShardingRule &rule) {
    return std::tie(rule.operands, rule.results, rule.linearity, rule.exchange,
                    rule.prefix, rule.dependsOnPlace);
  };
  auto areEqualFactors = [](const ShardingFactor &left,
                            const ShardingFactor &right) {
    return left.kind == right.kind && left.size == right.size;
  };
  return getFacts(one) == getFacts(other) &&
         llvm::equal(one.factors, other.factors, areEqualFactors);
}

static bool areEqual(const ShardedOperator &one, const ShardedOperator &other) {
  return one.name == other.name && one.operands == other.operands &&
         one.results == other.results && areEqual(one.rule, other.rule);
}

static bool areEqual(const ShardedParameter &one,
                     const ShardedParameter &other) {
  auto getFacts = [](const ShardedParameter &parameter) {
    return std::tie(parameter.shape, parameter.isTable, parameter.cuts,
                    parameter.mayStayWhole);
  };
  return getFacts(one) == getFacts(other);
}

static bool areEqual(const ShardedLayer &one, const ShardedLayer &other) {
  auto getFacts = [](const ShardedLayer &layer) {
    return std::tie(layer.position, layer.numArguments, layer.numHidden,
                    layer.data, layer.results, layer.numPast, layer.numFuture);
  };
  return getFacts(one) == getFacts(other) &&
         llvm::equal(
             one.operators, other.operators,
             [](const ShardedOperator &left, const ShardedOperator &right) {
               return areEqual(left, right);
             });
}

/// Returns whether two values of layers are equal. Parameters are compared by
/// their index among `parameters`, the parameters that the layer reads.
static bool areEqual(const ShardedValue &one, ArrayRef<unsigned> parameters,
                     const ShardedValue &other,
                     ArrayRef<unsigned> otherParameters) {
  auto getPlace = [](const ShardedValue &value, ArrayRef<unsigned> order) {
    return value.parameter ? find(order, *value.parameter) - order.begin() : -1;
  };
  return one.shape == other.shape && one.needsGradient == other.needsGradient &&
         one.isInteger == other.isInteger &&
         getPlace(one, parameters) == getPlace(other, otherParameters);
}

bool AlikeLayers::areAlike(const ShardedModel &model, unsigned one,
                           unsigned other) const {
  const ShardedLayer &left = model.layers[one], &right = model.layers[other];
  if (left.values.size() != right.values.size() ||
      parameters[one].size() != parameters[other].size() ||
      !areEqual(left, right))
    return false;
  for (auto [mine, yours] : zip_equal(left.values, right.values))
    if (!areEqual(mine, parameters[one], yours, parameters[other]))
      return false;
  return all_of(zip_equal(parameters[one], parameters[other]),
                [&](const auto &pair) {
                  return areEqual(model.parameters[std::get<0>(pair)],
                                  model.parameters[std::get<1>(pair)]);
                });
}

AlikeLayers::AlikeLayers(const ShardedModel &model) {
  // The first layer of each kind.
  std::vector<unsigned> firsts;
  for (unsigned number = 0; number < model.layers.size(); ++number) {
    std::vector<unsigned> &read = parameters.emplace_back();
    for (const ShardedValue &value : model.layers[number].values)
      if (value.parameter && !is_contained(read, *value.parameter))
        read.push_back(*value.parameter);
    auto known = find_if(
        firsts, [&](unsigned first) { return areAlike(model, first, number); });
    kinds.push_back(known - firsts.begin());
    if (known == firsts.end())
      firsts.push_back(number);
  }
}

} // namespace mf::passes
