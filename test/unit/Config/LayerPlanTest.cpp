//===- LayerPlanTest.cpp - Recompute and swap of each layer ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayerPlans.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf;
using testing::HasSubstr;

namespace {

TEST(LayerPlanTest, MarksOfOperatorsAndCellsCombine) {
  Planned planned = plan(
      withLayers(1, "recompute_config:\n  select_recompute: ['attention']\n"
                    "  select_recompute_exclude: ['attention\\.wo\\.matmul']\n"
                    "  select_comm_recompute: True\n"));
  const LayerEffects &layer = planned.plan.layers[0];
  EXPECT_TRUE(layer.isRecomputed("attention.wq.matmul"));
  EXPECT_FALSE(layer.isRecomputed("attention.wo.matmul"));
  EXPECT_FALSE(layer.isRecomputed("attention_norm.norm"));
  EXPECT_EQ(layer.getCommRecompute("attention_norm.norm"), true);
  EXPECT_EQ(layer.getCommRecompute("add"), std::nullopt);
}

TEST(LayerPlanTest, RecomputedCellsRepeatTheirCommunication) {
  using Choice = CommunicationChoice;
  std::string cell =
      "recompute_config:\n  select_recompute: ['attention']\n"
      "  select_recompute_exclude: ['attention\\.wo\\.matmul']\n"
      "  select_comm_recompute: ['ffn_norm\\.norm', "
      "'attention\\.wq\\.matmul']\n"
      "  select_comm_recompute_exclude: ['attention\\.wk\\.matmul']\n";
  Planned repeated = plan(withLayers(1, cell));
  const LayerEffects &layer = repeated.plan.layers[0];
  EXPECT_EQ(layer.getCommunicationChoice("attention.wv.matmul"),
            Choice::Repeat);
  // Its result is kept, but it is in the Cell.
  EXPECT_EQ(layer.getCommunicationChoice("attention.wo.matmul"),
            Choice::Repeat);
  EXPECT_EQ(layer.getCommunicationChoice("attention.wk.matmul"),
            Choice::Exclude);
  EXPECT_EQ(layer.getCommunicationChoice("ffn_norm.norm"), Choice::Repeat);
  EXPECT_EQ(layer.getCommunicationChoice("add"), std::nullopt);
  EXPECT_EQ(layer.getCommunicationSetting("add"), nullptr);
  EXPECT_EQ(layer.getCommunicationSetting("attention.wv.matmul")->path,
            "attention");

  Planned kept = plan(withLayers(1, cell + "  mp_comm_recompute: False\n"));
  const LayerEffects &keeping = kept.plan.layers[0];
  EXPECT_EQ(keeping.getCommunicationChoice("attention.wv.matmul"),
            Choice::Keep);
  EXPECT_EQ(keeping.getCommunicationChoice("attention.wq.matmul"),
            Choice::Repeat);
  EXPECT_EQ(keeping.getCommunicationChoice("attention.wk.matmul"),
            Choice::Exclude);
}

TEST(LayerPlanTest, AListOfRecomputedLayersSaysTheSameAsAll) {
  Planned planned = plan(withLayers(
      2, "recompute_config: {recompute: [1], mp_comm_recompute: False,"
         " recompute_slice_activation: True}\n"));
  EXPECT_EQ(planned.plan.layers[0].getCommunicationChoice("add"),
            CommunicationChoice::Keep);
  EXPECT_TRUE(planned.plan.layers[0].sliceActivation);
  EXPECT_EQ(planned.plan.layers[1].getCommunicationChoice("add"), std::nullopt);
  EXPECT_FALSE(planned.plan.layers[1].sliceActivation);
}

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

TEST(LayerPlanTest, AConsumerThatIsRecomputedIsNamed) {
  Planned planned =
      plan(withLayers(1, "recompute_config: {select_recompute: {add: [0]}}\n"
                         "swap_config: {swap: True}\n"));
  SwapConflicts conflicts;
  conflicts.add(planned.plan.layers[0],
                "attention.flash_attention.flash_attention", "add",
                planned.plan.layers[0].getRecomputeSetting("add"));
  DiagnosticList diagnostics;
  conflicts.report(diagnostics);
  EXPECT_THAT(diagnostics.str(),
              HasSubstr("swapped by op_swap '.*\\.flash_attention' and read "
                        "by add, which is recomputed by select_recompute "
                        "'add'; recompute wins"));
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

TEST(LayerPlanTest, TheTableJoinsEqualLayers) {
  Planned planned = plan(
      "parallel_config: {pipeline_stage: 2}\n" +
      withLayers(8, "recompute_config:\n  recompute: [2, 0]\n"
                    "  select_recompute: {add: [3, 0], attention: [3, 0]}\n"));
  EXPECT_EQ(planned.table(), "layers  stage  chunk  gets\n"
                             "0-1     0      0      full recompute\n"
                             "2       0      0      recompute add, attention/\n"
                             "3       0      0      nothing\n"
                             "4-7     1      0      nothing\n");
}

TEST(LayerPlanTest, JsonHoldsTheSameFacts) {
  Planned planned =
      plan(withLayers(4, "swap_config: {swap: True, layer_swap: "
                         "{backward_prefetch: 2, layers: [1]}}\n"));
  const llvm::json::Array layers = planned.plan.toJson();
  ASSERT_EQ(layers.size(), 4U);
  const llvm::json::Object &layer = *layers[1].getAsObject();
  EXPECT_EQ(layer.getInteger("layer"), 1);
  EXPECT_EQ((*layer.getArray("swap"))[0].getAsObject()->getInteger("prefetch"),
            2);
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

TEST(LayerPlanTest, EqualTreesOf96LayersGetTheSame) {
  std::string yaml = withLayers(
      96, "recompute_config:\n  select_recompute: ['feed_forward\\.mul', "
          "'.*\\..*\\.(matmul|reshape)', 'attention\\.w[qkv]\\.cast']\n"
          "  select_comm_recompute: True\n");
  std::vector<CellTree> trees(96, getTree("llama"));
  DiagnosticList diagnostics;
  TrainingConfig config = parseTrainingConfig(yaml, "t.yaml", diagnostics);
  StageMap stages =
      *StageMap::create(getStageMapOptions(config, diagnostics), diagnostics);
  ResolvedLayers resolved;
  LayerPlan plan = planAll(
      config, stages, legacySelection,
      [&](int64_t layer) -> const CellTree & {
        return trees[static_cast<size_t>(layer)];
      },
      resolved, diagnostics);
  EXPECT_EQ(diagnostics.str(), "");
  for (const LayerEffects &layer : plan.layers)
    EXPECT_EQ(layer.recompute.size(), 18U);
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
