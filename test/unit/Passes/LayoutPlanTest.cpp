//===- LayoutPlanTest.cpp - Layouts of a model's tensors on ranks ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/shard/LayoutPlan.h"
#include "passes/shard/ReshardCollective.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf::passes;
using mf::ir::Axes;
using mf::ir::FactorKind;
using mf::ir::Layout;
using testing::ElementsAre;
using testing::SizeIs;

namespace {

Layout makeLayout(std::initializer_list<Axes> cuts, Axes partial = {},
                  Axes reduced = {}) {
  Layout layout(cuts.size());
  std::copy(cuts.begin(), cuts.end(), layout.cuts.begin());
  layout.partial = std::move(partial);
  layout.reduced = std::move(reduced);
  return layout;
}

TEST(ReshardCollectiveTest, DoesNotDoTheImpossible) {
  Layout reduced = makeLayout({{}}, {}, {"mp"}), rows = makeLayout({{"mp"}}),
         partial = makeLayout({{}}, {"mp"});
  EXPECT_FALSE(getReshardPath(reduced, rows));
  EXPECT_FALSE(getReshardPath(makeLayout({{}}), partial));
  EXPECT_FALSE(getReshardPath(reduced, makeLayout({{}})));
}

TEST(ReshardCollectiveTest, TakesSeveralSteps) {
  // Among the axes that cut rows, cp_ds goes to heads and cp_co is gathered.
  auto steps = getReshardPath(makeLayout({{"mp"}, {"cp_co", "cp_ds"}}),
                              makeLayout({{"mp", "cp_ds"}, {}}, {}, {"cp_co"}));
  ASSERT_TRUE(steps);
  EXPECT_THAT(*steps,
              ElementsAre(makeLayout({{"mp", "cp_ds"}, {"cp_co"}}),
                          makeLayout({{"mp", "cp_ds"}, {}}, {}, {"cp_co"})));
}

TEST(ReshardCollectiveTest, ExchangesWhatIsBehindAxesThatAreGathered) {
  auto steps = getReshardPath(makeLayout({{}, {"dp_0", "dp_1", "mp"}}),
                              makeLayout({{"dp_1"}, {"dp_0"}}, {}, {"mp"}));
  ASSERT_TRUE(steps);
  EXPECT_THAT(*steps,
              ElementsAre(makeLayout({{}, {"dp_0", "dp_1"}}, {}, {"mp"}),
                          makeLayout({{"dp_1"}, {"dp_0"}}, {}, {"mp"})));
}

TEST(MeshSizesTest, KnowsFactorsOfAnAxis) {
  mf::ir::MeshSizes mesh;
  mesh.axes = {{"pp", 2}, {"dp", 1}, {"cp_co", 2}, {"cp_ds", 4}, {"mp", 2}};
  EXPECT_THAT(getMeshAxes("cp", mesh), ElementsAre("cp_co", "cp_ds"));
  EXPECT_THAT(getMeshAxes("mp", mesh), ElementsAre("mp"));
  EXPECT_THAT(getMeshAxes("dp", mesh), SizeIs(0));
}

TEST(MeshSizesTest, SplitsAxesOverFactors) {
  mf::ir::MeshSizes mesh;
  mesh.axes = {{"pp", 1}, {"cp", 2}, {"mp", 4}};
  // All of the first factor before the next one.
  EXPECT_THAT(*mf::ir::splitAxes({"mp", "cp"}, {4, 8}, mesh),
              ElementsAre(Axes{"mp"}, Axes{"cp"}));
  EXPECT_FALSE(mf::ir::splitAxes({"mp"}, {2, 8}, mesh));
}

/// [batch, sequence, 8] times a weight that mp cuts along `dim`.
ShardedModel makeModel(size_t dim, bool sequenceParallel) {
  ShardedModel model;
  model.mesh.axes = {{"pp", 1}, {"dp", 2}, {"mp", 2}};
  model.batch = 2;
  model.sequence = 4;
  model.sequenceParallel = sequenceParallel;
  ShardedParameter weight;
  weight.name = "w";
  weight.shape = {8, 8};
  weight.cuts.resize(2);
  weight.cuts[dim] = {"mp"};
  model.parameters.push_back(weight);
  ShardedLayer layer;
  layer.name = "layer";
  layer.values = {
      {{2, 4, 8}, true, {}}, {{8, 8}, true, 0}, {{2, 4, 8}, true, {}}};
  ShardedOperator matmul;
  matmul.name = "matmul";
  for (int64_t size : {2, 4, 8, 8})
    matmul.rule.addFactor(FactorKind::Pass, size);
  matmul.rule.factors[2].kind = FactorKind::Sum;
  matmul.rule.operands = {{{0}, {1}, {2}}, {{3}, {2}}};
  matmul.rule.results = {{{0}, {1}, {3}}};
  matmul.operands = {0, 1};
  matmul.results = {2};
  layer.operators.push_back(matmul);
  layer.results = {2};
  model.layers.push_back(layer);
  return model;
}

std::string printPlan(const ShardedModel &model) {
  LayoutError error;
  std::optional<LayoutPlan> plan = planLayouts(model, error);
  if (!plan)
    return error.message;
  std::string text;
  llvm::raw_string_ostream os(text);
  plan->print(model, os);
  return text;
}

TEST(LayoutPlanTest, CutsRowsOfAWeight) {
  EXPECT_EQ(printPlan(makeModel(1, true)),
            "parameters\n"
            "  w: [[], [mp]] reduced [dp]\n"
            "layer\n"
            "  argument 0: [[], [], []]\n"
            "  reshard layer: [[], [], []] -> [[dp], [], []]\n"
            "  reshard layer: [[dp], [], []] -> [[dp], [mp], []]\n"
            "  reshard matmul: [[dp], [mp], []] -> [[dp], [], [mp]]\n"
            "  reshard matmul: [[dp], [], []] partial [mp] -> [[dp], [mp], "
            "[]]\n"
            "  result: [[dp], [mp], []]\n");
}

TEST(LayoutPlanTest, GathersForAPartialGradientAtOnce) {
  ShardedModel model = makeModel(0, true);
  model.layers.push_back(model.layers.front());
  model.layers.back().name = "head";
  model.layers.back().position = LayerPosition::Head;
  EXPECT_THAT(printPlan(model),
              testing::HasSubstr(
                  "head\n"
                  "  argument 0: [[dp], [mp], []]\n"
                  "  reshard head: [[dp], [mp], []] -> [[dp], [], []] reduced "
                  "[mp]\n"
                  "  reshard head: [[dp], [], [mp]] -> [[dp], [], []]\n"));
}

TEST(AlikeLayersTest, ToldApartByWhatTheyComputeAndRead) {
  ShardedModel model = makeModel(0, true);
  // The same layer on another weight, one whose weight is cut otherwise, and
  // one whose operator has another rule.
  model.parameters.resize(3, model.parameters.front());
  model.parameters[2].cuts = {{}, {"mp"}};
  model.layers.resize(4, model.layers.front());
  model.layers[1].values[1].parameter = 1;
  model.layers[2].values[1].parameter = 2;
  model.layers[3].operators[0].rule.factors[2].kind = FactorKind::Own;
  AlikeLayers kinds(model);
  EXPECT_EQ(kinds.getKind(0), kinds.getKind(1));
  EXPECT_NE(kinds.getKind(0), kinds.getKind(2));
  EXPECT_NE(kinds.getKind(0), kinds.getKind(3));
  EXPECT_THAT(kinds.getParameters(1), ElementsAre(1u));
}

TEST(AlikeLayersTest, APlanThatIsTakenOverNamesItsOwnLayer) {
  ShardedModel model = makeModel(0, true);
  model.parameters.push_back(model.parameters.front());
  model.layers.push_back(model.layers.front());
  model.layers[1].name = "second";
  model.layers[1].values[1].parameter = 1;
  // Both layers get the stream as layers hand it on.
  model.layers.insert(model.layers.begin(), model.layers.front());
  model.layers[0].name = "zeroth";
  for (const char *name : {"layer", "second"})
    EXPECT_THAT(printPlan(model),
                testing::HasSubstr(std::string("  reshard ") + name +
                                   ": [[dp], [], [mp]] -> [[dp], [mp], []]\n"));
}

} // namespace
