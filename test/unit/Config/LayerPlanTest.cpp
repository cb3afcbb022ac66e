//===- LayerPlanTest.cpp - Recompute and swap of each layer ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayerPlans.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "gtest/gtest.h"

using namespace mf;

namespace {

TEST(LayerPlanTest, LaterSwapSettingsOverwriteAndRecomputeWins) {
  Planned planned = plan(
      withLayers(2, "recompute_config:\n  select_recompute: {add: [1]}\n"
                    "swap_config:\n  swap: True\n"
                    "  layer_swap: [{backward_prefetch: 3, layers: True}]\n"
                    "  op_swap:\n"
                    "    - {op_name: 'attention\\.wq', backward_prefetch: 5,"
                    " layers: True}\n"));
  const LayerEffects &layer = planned.plan.layers[1];
  EXPECT_EQ(layer.getSwapPrefetch("feed_forward.mul"), 3);
  EXPECT_EQ(layer.getSwapPrefetch("attention.wq.matmul"), 5);
  EXPECT_EQ(layer.getSwapPrefetch("add"), std::nullopt);
  EXPECT_EQ(planned.plan.layers[0].getSwapPrefetch("add"), 3);
  EXPECT_EQ(planned.diagnostics.str(),
            "t.yaml:6:16: warning: layer 1, add: swapped by layer_swap and "
            "recomputed by select_recompute 'add'; recompute wins\n"
            "t.yaml:3:22: note: recomputed by this\n");
}

TEST(LayerPlanTest, TheModelsOwnMarksAreBelowTheUsers) {
  CellTree tree = getTree("llama_noflash");
  setModelPresets(tree, /*selectRecompute=*/true, /*useFlashAttention=*/false);
  Planned planned =
      plan(withLayers(1, "recompute_config:\n  select_recompute_exclude: "
                         "['attention\\.softmax']\n"),
           tree);
  const LayerEffects &layer = planned.plan.layers[0];
  EXPECT_TRUE(layer.isRecomputed("attention_norm.cast"));
  EXPECT_FALSE(layer.isRecomputed("attention_norm.rcast"));
  EXPECT_TRUE(layer.isRecomputed("attention.batch_matmul"));
  EXPECT_TRUE(layer.isRecomputed("attention.apply_rotary_emb.mul"));
  EXPECT_FALSE(layer.isRecomputed("attention.softmax"));
}

TEST(LayerPlanTest, PrefixesOfOperatorsAreCells) {
  CellTree tree =
      CellTree::fromOperators({"attention.wq.matmul", "add", "attention.mul"});
  ASSERT_NE(tree.find("attention.wq"), nullptr);
  EXPECT_TRUE(tree.find("attention")->isCell);
  EXPECT_FALSE(tree.find("add")->isCell);
  EXPECT_EQ(tree.find("attention")->children.size(), 2U);
  EXPECT_EQ(tree.find("nothing"), nullptr);
}

TEST(LayerPlanTest, ASettingOfACellLeavesOutWhatAnotherOneCalls) {
  CellTree tree = CellTree::fromOperators(
      {"attn_hc.norm", "attn_hc.output_cell.mix",
       "attention.core_attention.softmax",
       "attention.core_attention.indexer.topk",
       "attention.core_attention.indexer.linear_wq_b.matmul"});
  setModelPresets(tree, /*selectRecompute=*/false, /*useFlashAttention=*/true);
  auto getRecomputed = [&](const std::string &patterns) {
    const Planned planned =
        plan(withLayers(1, "recompute_config: {select_recompute: [" + patterns +
                               "]}\n"),
             tree, ModelFamily::Mcore);
    std::vector<std::string> paths;
    for (const CellTree::Entry &entry : tree.getEntries())
      if (!entry.isCell && planned.plan.layers[0].isRecomputed(entry.path))
        paths.push_back(entry.path);
    return paths;
  };
  using testing::ElementsAre;
  EXPECT_THAT(getRecomputed("attn_hc"), ElementsAre("attn_hc.norm"));
  EXPECT_THAT(getRecomputed("'attn_hc\\.output_cell'"),
              ElementsAre("attn_hc.output_cell.mix"));
  EXPECT_THAT(getRecomputed("'attention\\.core_attention\\.indexer'"),
              ElementsAre("attention.core_attention.indexer.topk"));
  EXPECT_THAT(
      getRecomputed("'attention\\.core_attention'"),
      ElementsAre("attention.core_attention.softmax",
                  "attention.core_attention.indexer.topk",
                  "attention.core_attention.indexer.linear_wq_b.matmul"));
}

} // namespace
