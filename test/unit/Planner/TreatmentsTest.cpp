//===- TreatmentsTest.cpp - Ways to treat layers, and their YAML ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/Treatments.h"
#include "PlannerTesting.h"
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::planner;

namespace {

constexpr size_t swapped = 0, full = 1, selected = 2, none = 3;

struct TreatmentsTest : testing::Test {
  std::vector<LayerTreatment> treatments = makeFourTreatments(2);

  MemorySettings makeSettings(const Assignment &assignment, int64_t stages,
                              const std::vector<size_t> &kinds,
                              size_t numFollowers = 0) const {
    const auto chunks = static_cast<int64_t>(assignment.layersOfChunk.size());
    const PlanContext context = makeContext(kinds, stages, chunks / stages);
    return planner::makeSettings(assignment, context.schedule.pipeline,
                                 context.layers, numFollowers, treatments);
  }
};

constexpr int64_t mib = 1 << 20;

/// Operators of 1, 2 and 3 ms in a row; backward needs what each reads and
/// writes.
LayerGraph makeGraph(int64_t bytes) {
  LayerGraph graph;
  graph.values.push_back({bytes, {}, true, false});
  for (size_t op = 0; op < 3; ++op) {
    graph.operators.push_back(
        {"op" + std::to_string(op), op == 2, 1e-3 * double(1 + op), {op}});
    graph.values.push_back({bytes, {op}, true, false});
  }
  return graph;
}

TEST_F(TreatmentsTest, NameModulesWhereTheYamlDoes) {
  LayerGraph graph;
  graph.values.push_back({mib, {}, true, false});
  const char *names[] = {"norm.norm", "mlp.up.matmul", "mlp.silu",
                         "transformer_layer.mlp.down.matmul", "add"};
  for (size_t op = 0; op < std::size(names); ++op) {
    graph.operators.push_back({names[op], false, 1e-3 * double(1 + op), {op}});
    graph.values.push_back({6 * mib, {op}, true, false});
  }
  const std::vector<ModelLayer> layers = makeContext({0, 0, 0}, 1).layers;
  const std::vector<LayerTreatment> made = makeTreatments(
      {graph}, layers, 6, CopyRates{2e4 * mib, 4e4 * mib}, LayerWords::Modules);
  // Swap counts layers, and the last layer has none behind it.
  EXPECT_TRUE(made.front().countsLayers);
  EXPECT_EQ(made.front().prefetch, 1);
  treatments = made;
  const MemorySettings settings = makeSettings({{3}, {0, 0, 0}}, 1, {0, 0, 0});
  EXPECT_EQ(settings.swap, (std::vector<SwapItem>{{"", 1, {0}}, {"", 1, {1}}}));
  std::set<std::string> modules;
  for (const LayerTreatment &treatment : made) {
    EXPECT_TRUE(treatment.communication[0].empty());
    modules.insert(treatment.operators[0].begin(),
                   treatment.operators[0].end());
  }
  EXPECT_GT(modules.size(), 1U);
  for (const std::string &module : modules)
    EXPECT_TRUE(module == "norm" || module == "mlp" || module == "mlp.up" ||
                module == "transformer_layer.mlp" ||
                module == "transformer_layer.mlp.down")
        << module;
}

TEST_F(TreatmentsTest, OperatorsWithoutNamesAreNeverRepeated) {
  LayerGraph graph;
  graph.values.push_back({6 * mib, {}, true, false});
  // Sharding has inserted the second one within the module of the others.
  const char *names[] = {"mlp.up.matmul", "mlp.up.weight.gather", "mlp.silu",
                         "norm.norm", "add.add"};
  for (size_t op = 0; op < std::size(names); ++op) {
    graph.operators.push_back(
        {names[op], op == 1, 1e-3 * double(1 + op), {op}});
    graph.operators.back().mayRepeat = op != 1;
    graph.values.push_back({6 * mib, {op}, true, false});
  }
  const std::vector<ModelLayer> layers = makeContext({0}, 1).layers;
  for (const LayerWords words : {LayerWords::Operators, LayerWords::Modules}) {
    size_t numRepeated = 0;
    for (const LayerTreatment &treatment :
         makeTreatments({graph}, layers, 4, {}, words)) {
      EXPECT_TRUE(treatment.communication[0].empty());
      numRepeated += treatment.operators[0].size();
    }
    EXPECT_GT(numRepeated, 0U);
  }
}

} // namespace

TEST_F(TreatmentsTest, TablesCountFirstLayersOfChunks) {
  const Assignment assignment = {
      {3, 1, 2, 2}, {full, selected, none, full, full, full, selected, none}};
  const MemorySettings settings =
      makeSettings(assignment, 2, std::vector<size_t>(8, 0));
  EXPECT_EQ(settings.offset, (StageTable{{1, -1}, {0, 0}}));
  EXPECT_EQ(settings.recompute, (StageTable{{1, 1}, {2, 0}}));
  // Up to the last layer that wants it: what comes before it is recomputed
  // anyway.
  const StageTable counts = {{2, 0}, {0, 1}};
  EXPECT_EQ(settings.selectRecompute,
            (std::vector<OperatorCounts>{
                {"ffn_norm", counts}, {"feed_forward\\.(mul|silu)", counts}}));
  EXPECT_EQ(settings.selectCommRecompute,
            (std::vector<OperatorCounts>{{"attention\\.wo\\.matmul", counts}}));
  EXPECT_TRUE(settings.leavesOutSwapped);
  EXPECT_EQ(settings.swap, (std::vector<SwapItem>{}));
}

TEST_F(TreatmentsTest, KindsHaveOperatorsOfTheirOwn) {
  treatments[selected].operators[1] = {"ffn_norm"};
  treatments[selected].communication[1].clear();
  const MemorySettings settings = makeSettings(
      {{2, 2}, {selected, selected, selected, none}}, 2, {0, 1, 1, 1});
  EXPECT_EQ(
      settings.selectRecompute,
      (std::vector<OperatorCounts>{{"ffn_norm", {{2, 1}}},
                                   {"feed_forward\\.(mul|silu)", {{1, 0}}}}));
  EXPECT_EQ(
      settings.selectCommRecompute,
      (std::vector<OperatorCounts>{{"attention\\.wo\\.matmul", {{1, 0}}}}));
}

// Tables leave out a layer that has what the layer before it has, which may be
// on another stage. Operators that only the follower has are named for both.
TEST_F(TreatmentsTest, TablesDoNotCountFollowers) {
  treatments[selected].operators[1] = {"transformer_layer.mul"};
  for (const std::vector<int64_t> &dealt :
       {std::vector<int64_t>{2, 3}, {4, 1}}) {
    const MemorySettings settings = makeSettings(
        {dealt, {full, none, full, selected, selected}}, 2, {0, 0, 0, 0, 1}, 1);
    const bool isAlone = dealt[1] == 1;
    const StageTable last = isAlone ? StageTable{{4, 0}} : StageTable{{0, 2}};
    EXPECT_EQ(settings.offset,
              (isAlone ? StageTable{{2, -2}} : StageTable{{0, 0}}));
    EXPECT_EQ(settings.recompute,
              (isAlone ? StageTable{{3, 0}} : StageTable{{1, 1}}));
    EXPECT_EQ(settings.selectRecompute,
              (std::vector<OperatorCounts>{{"ffn_norm", last},
                                           {"feed_forward\\.(mul|silu)", last},
                                           {"transformer_layer\\.mul", last}}));
  }
  EXPECT_EQ(
      makeSettings({{2, 1}, {none, swapped, swapped}}, 2, {0, 0, 1}, 1).swap,
      (std::vector<SwapItem>{{"", 3, {1}}}));
}

TEST_F(TreatmentsTest, SwappedLayersAreNamedOneByOne) {
  const MemorySettings settings =
      makeSettings({{3, 2}, {swapped, swapped, selected, swapped, none}}, 2,
                   std::vector<size_t>(5, 0));
  EXPECT_EQ(settings.swap,
            (std::vector<SwapItem>{{"", 3, {0}}, {"", 3, {1}}, {"", 3, {3}}}));
  EXPECT_EQ(settings.selectRecompute->back().layers, (StageTable{{3, 0}}));
  EXPECT_EQ(settings.recompute, (StageTable{{0, 0}}));
}

TEST_F(TreatmentsTest, LevelsOfExpertsStandBeforeTheExpertsThemselves) {
  const std::vector<ModelLayer> layers = makeContext({0, 0, 1}, 1).layers;
  LayerGraph dense = makeGraph(6 * mib), experts = makeGraph(6 * mib);
  // The middle one is dearer than the first.
  experts.operators[1].name = "ffn.morph";
  experts.experts = 1;
  auto make = [&](bool withLevels) {
    return makeTreatments({experts, dense}, layers, 3, {},
                          LayerWords::Operators, withLevels);
  };
  const std::vector<LayerTreatment> without = make(false), made = make(true);
  ASSERT_EQ(made.size(), without.size() + 2);
  const auto level1 = llvm::find_if(made, [](const LayerTreatment &treatment) {
    return treatment.name == "level 1";
  });
  ASSERT_NE(level1, made.end());
  EXPECT_EQ(level1[1].name, "level 0");
  EXPECT_EQ(level1[0].operators[0].count("ffn.level1"), 1U);
  EXPECT_EQ(level1[1].operators[0].count("ffn.level0"), 1U);
  // Layers without experts have no levels.
  for (const std::string &name : level1[0].operators[1])
    EXPECT_EQ(name.find("level"), std::string::npos) << name;
  // Selections behind the levels leave the experts alone, those before do not.
  for (const LayerTreatment &treatment : made)
    if (!treatment.isFull)
      EXPECT_EQ(treatment.operators[0].count("ffn.morph") > 0,
                &treatment < &*level1)
          << treatment.name;
}

TEST_F(TreatmentsTest, GoFromSwapOverEverLessRecomputeToNone) {
  const std::vector<ModelLayer> layers = makeContext({0, 0, 1}, 1).layers;
  const std::vector<LayerTreatment> made =
      makeTreatments({makeGraph(6 * mib), makeGraph(12 * mib)}, layers, 3,
                     CopyRates{2e3 * mib, 4e3 * mib}, LayerWords::Operators);
  ASSERT_GE(made.size(), 4U);
  // Four values of 6 MiB, at 2 MiB/ms and at 4 MiB/ms.
  EXPECT_DOUBLE_EQ(made.front().copyOut[0], 12e-3);
  EXPECT_DOUBLE_EQ(made.front().copyIn[0], 6e-3);
  EXPECT_DOUBLE_EQ(made.front().copyIn[1], 12e-3);
  // The copy takes as long as three operators.
  EXPECT_EQ(made.front().prefetch, 3);
  EXPECT_TRUE(made[1].isFull);
  EXPECT_EQ(made.back().name, "none");
  size_t before = 4;
  for (size_t index = 2; index + 1 < made.size(); ++index) {
    const size_t repeated =
        made[index].operators[0].size() + made[index].communication[0].size();
    EXPECT_LT(repeated, before);
    EXPECT_GT(repeated, 0U);
    EXPECT_EQ(made[index].operators[0].count("op2"), 0U);
    before = repeated;
  }
  // Without a link there is no swap.
  EXPECT_TRUE(makeTreatments({makeGraph(6 * mib), makeGraph(12 * mib)}, layers,
                             3, {}, LayerWords::Operators)
                  .front()
                  .isFull);
}
