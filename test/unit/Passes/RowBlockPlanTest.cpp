//===- RowBlockPlanTest.cpp - Operators that run block by block -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/shard/RowBlockPlan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf::passes;
using mf::ir::FactorDims;
using mf::ir::FactorKind;
using testing::HasSubstr;

namespace {

/// A layer of operators on [batch, sequence, 8], added one by one.
class LayerMaker {
public:
  explicit LayerMaker(const std::string &name) {
    layer.name = name;
    layer.values.push_back({{2, 8, 8}, true, {}});
  }

  unsigned addWeight() {
    layer.values.push_back({{8, 8}, true, 0});
    return layer.values.size() - 1;
  }
  /// A product, row by row, with a weight.
  unsigned project(const std::string &name, unsigned input) {
    ShardedOperator op = makeOperator(name, {input, addWeight()});
    unsigned batch = op.rule.addFactor(FactorKind::Pass, 2);
    unsigned rows = op.rule.addFactor(FactorKind::Pass, 8);
    unsigned summed = op.rule.addFactor(FactorKind::Sum, 8);
    unsigned columns = op.rule.addFactor(FactorKind::Pass, 8);
    op.rule.operands = {{{batch}, {rows}, {summed}}, {{columns}, {summed}}};
    op.rule.results = {{{batch}, {rows}, {columns}}};
    return add(std::move(op), {2, 8, 8});
  }
  /// Each element by itself.
  unsigned map(const std::string &name, const std::vector<unsigned> &inputs) {
    ShardedOperator op = makeOperator(name, inputs);
    FactorDims dims;
    for (int64_t size : {2, 8, 8})
      dims.push_back({op.rule.addFactor(FactorKind::Pass, size)});
    op.rule.operands.assign(inputs.size(), dims);
    op.rule.results = {dims};
    return add(std::move(op), {2, 8, 8});
  }
  /// Rows of the first input, by all rows of the second.
  unsigned mix(const std::string &name, unsigned query, unsigned keys) {
    ShardedOperator op = makeOperator(name, {query, keys});
    unsigned batch = op.rule.addFactor(FactorKind::Pass, 2);
    unsigned rows = op.rule.addFactor(FactorKind::Pass, 8);
    unsigned all = op.rule.addFactor(FactorKind::Whole, 8);
    unsigned width = op.rule.addFactor(FactorKind::Whole, 8);
    op.rule.operands = {{{batch}, {rows}, {width}}, {{batch}, {all}, {width}}};
    op.rule.results = {{{batch}, {rows}, {width}}};
    return add(std::move(op), {2, 8, 8});
  }
  /// [batch, sequence, 8] to [batch * sequence, 8] or back.
  unsigned flatten(const std::string &name, unsigned input) {
    ShardedOperator op = makeOperator(name, {input});
    unsigned batch = op.rule.addFactor(FactorKind::Pass, 2);
    unsigned rows = op.rule.addFactor(FactorKind::Pass, 8);
    unsigned width = op.rule.addFactor(FactorKind::Pass, 8);
    op.rule.operands = {{{batch}, {rows}, {width}}};
    op.rule.results = {{{batch, rows}, {width}}};
    return add(std::move(op), {16, 8});
  }
  ShardedLayer finish(unsigned result) {
    layer.results = {result};
    return layer;
  }

private:
  static ShardedOperator makeOperator(const std::string &name,
                                      std::vector<unsigned> operands) {
    ShardedOperator op;
    op.name = name;
    op.operands.assign(operands.begin(), operands.end());
    return op;
  }
  unsigned add(ShardedOperator op, std::vector<int64_t> shape) {
    unsigned result = layer.values.size();
    layer.values.push_back({{shape.begin(), shape.end()}, true, {}});
    op.results = {result};
    layer.operators.push_back(std::move(op));
    return result;
  }

  ShardedLayer layer;
};

/// x + out(scale(attention(turn(query(norm(x)))))).
ShardedLayer makeLayer(const std::string &name) {
  LayerMaker maker(name);
  unsigned norm = maker.map("norm", {0});
  unsigned query = maker.project("query", norm);
  unsigned turned = maker.map("turn", {query});
  unsigned attention = maker.mix("attention", turned, turned);
  unsigned scaled = maker.map("scale", {attention});
  unsigned out = maker.project("out", scaled);
  return maker.finish(maker.map("add", {0, out}));
}

ShardedModel makeModel(int numLayers) {
  ShardedModel model;
  model.mesh.axes = {{"pp", 1}, {"cp", 2}, {"mp", 2}};
  model.batch = 2;
  model.sequence = 8;
  ShardedParameter weight;
  weight.name = "w";
  weight.shape = {8, 8};
  model.parameters.push_back(weight);
  for (int i = 0; i < numLayers; ++i)
    model.layers.push_back(makeLayer("layer" + std::to_string(i)));
  return model;
}

std::string printPlan(const ShardedModel &model, int64_t blocks) {
  std::string text;
  std::optional<RowBlockPlan> plan = planRowBlocks(model, blocks, text);
  if (!plan)
    return text;
  llvm::raw_string_ostream os(text);
  plan->print(model, os);
  return text;
}

TEST(RowBlockPlanTest, CutsUpToTheLastAndFromTheFirstWeight) {
  EXPECT_EQ(printPlan(makeModel(3), 2), "2 blocks of 4 rows\n"
                                        "layer0: takes rows, gives blocks\n"
                                        "  out\n"
                                        "  add\n"
                                        "layer1: takes blocks, gives blocks\n"
                                        "  norm\n"
                                        "  query\n"
                                        "  out\n"
                                        "  add\n"
                                        "layer2: takes blocks, gives rows\n"
                                        "  norm\n"
                                        "  query\n");
}

TEST(RowBlockPlanTest, LeavesASingleLayerWhole) {
  EXPECT_EQ(printPlan(makeModel(1), 2), "2 blocks of 4 rows\n");
}

TEST(RowBlockPlanTest, CutsAllOfALayerThatMixesNoRows) {
  ShardedModel model = makeModel(3);
  LayerMaker maker("layer1");
  model.layers[1] = maker.finish(maker.map("add", {0, maker.map("norm", {0})}));
  EXPECT_THAT(printPlan(model, 2),
              HasSubstr("layer1: takes blocks, gives blocks\n"
                        "  norm\n"
                        "  add\n"
                        "layer2"));
}

TEST(RowBlockPlanTest, FollowsRowsThroughReshapes) {
  ShardedModel model = makeModel(2);
  LayerMaker maker("layer0");
  unsigned flat = maker.flatten("flatten", 0);
  model.layers[0] = maker.finish(0);
  std::string error;
  std::optional<RowBlockPlan> plan = planRowBlocks(model, 4, error);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->runs, 2);
  std::optional<RowPlace> rows = plan->layers[0].rows[flat];
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->dim, 0U);
  EXPECT_EQ(rows->outer, 2);
  EXPECT_EQ(rows->size, 8);
  EXPECT_EQ(rows->inner, 1);
}

TEST(RowBlockPlanTest, LeavesWholeWhatNeedsATableByRow) {
  ShardedModel model = makeModel(3);
  // The weight of the norm has rows.
  ShardedLayer &layer = model.layers[1];
  layer.operators[0].operands.push_back(layer.operators[1].operands[1]);
  layer.operators[0].rule.operands.push_back(
      {layer.operators[0].rule.operands[0][1],
       layer.operators[0].rule.operands[0][2]});
  EXPECT_THAT(printPlan(model, 2),
              HasSubstr("layer1: takes blocks, gives blocks\n"
                        "  query\n"
                        "  out\n"
                        "  add\n"));
}

TEST(RowBlockPlanTest, SaysWhatDoesNotDivide) {
  EXPECT_EQ(printPlan(makeModel(2), 3),
            "8 rows do not divide into 3 blocks on each of 2 context-parallel "
            "ranks");
  ShardedModel model = makeModel(2);
  model.layers[1].values[0].shape = {2, 4, 8};
  EXPECT_EQ(printPlan(model, 2), "'layer1' is not of one hidden input and one "
                                 "result of 8 rows");
}

} // namespace
