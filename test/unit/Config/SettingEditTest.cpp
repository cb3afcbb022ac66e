//===- SettingEditTest.cpp - Writes memory settings into a YAML -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "SettingEdits.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "gtest/gtest.h"

using namespace mf;

namespace {

TEST(SettingEditTest, ReplacesElementsOfAList) {
  EXPECT_EQ(edit("recompute_config:\n"
                 "  recompute: [3,2, 0,  0] # by hand\n"
                 "  mp_comm_recompute: False\n",
                 withRecompute({{3, 1, 1, 0}})),
            "recompute_config:\n"
            "  recompute: [3,1, 1,  0] # by hand\n"
            "  mp_comm_recompute: False\n");
}

TEST(SettingEditTest, ReplacesAListOfAnotherSizeInItsStyle) {
  EXPECT_EQ(edit("recompute_config: {recompute: [ 3,2 ]}\n",
                 withRecompute({{3, 1, 1, 0}})),
            "recompute_config: {recompute: [ 3,1,1,0 ]}\n");
}

TEST(SettingEditTest, KeepsListsOverLines) {
  EXPECT_EQ(edit("recompute_config:\n"
                 "  recompute: [  # rows\n"
                 "    [3, 2],  # first\n"
                 "    [1, 0]\n"
                 "  ]\n",
                 withRecompute({{3, 4}, {1, 1}})),
            "recompute_config:\n"
            "  recompute: [  # rows\n"
            "    [3, 4],  # first\n"
            "    [1, 1]\n"
            "  ]\n");
}

TEST(SettingEditTest, KeepsBlockLists) {
  const llvm::StringRef yaml = "recompute_config:\n"
                               "  recompute: # why\n"
                               "  - 3 # three\n"
                               "  - 2\n"
                               "  # between\n"
                               "  - 1 # one\n"
                               "parallel: {}\n";
  EXPECT_EQ(edit(yaml, withRecompute({{3, 1, 1}})), "recompute_config:\n"
                                                    "  recompute: # why\n"
                                                    "  - 3 # three\n"
                                                    "  - 1\n"
                                                    "  # between\n"
                                                    "  - 1 # one\n"
                                                    "parallel: {}\n");
  EXPECT_EQ(edit(yaml, withRecompute({{4, 1}})), "recompute_config:\n"
                                                 "  recompute: # why\n"
                                                 "  - 4 # three\n"
                                                 "  - 1\n"
                                                 "  # between\n"
                                                 "parallel: {}\n");
  EXPECT_EQ(edit(yaml, withRecompute({{4, 2, 1, 0}})), "recompute_config:\n"
                                                       "  recompute: # why\n"
                                                       "  - 4 # three\n"
                                                       "  - 2\n"
                                                       "  # between\n"
                                                       "  - 1 # one\n"
                                                       "  - 0\n"
                                                       "parallel: {}\n");
  EXPECT_EQ(edit(yaml, withRecompute({{0, 0}})), "recompute_config:\n"
                                                 "  recompute: False # why\n"
                                                 "parallel: {}\n");
}

TEST(SettingEditTest, AddsMissingKeysAndSections) {
  MemorySettings settings = withRecompute({{1, 0}});
  settings.interleave = 2;
  settings.stages = 2;
  EXPECT_EQ(edit("parallel_config:\n"
                 "    data_parallel: 1  # only one\n"
                 "    # the end\n"
                 "recompute_config:\n"
                 "\n"
                 "model:\n"
                 "    model_config:\n"
                 "        num_layers: 8",
                 settings),
            "parallel_config:\n"
            "    data_parallel: 1  # only one\n"
            "    pipeline_stage: 2\n"
            "    # the end\n"
            "recompute_config:\n"
            "    recompute: [1, 0]\n"
            "\n"
            "model:\n"
            "    model_config:\n"
            "        num_layers: 8\n"
            "        pp_interleave_num: 2\n"
            "parallel:\n"
            "    pipeline_config:\n"
            "        pipeline_interleave: True");
}

TEST(SettingEditTest, KeepsLineEnds) {
  MemorySettings settings = withRecompute({{1, 0}});
  settings.batchSize = 2;
  settings.stages = 2;
  EXPECT_EQ(edit("parallel_config:\r\n  data_parallel: 1\r\n"
                 "recompute_config:\r\n  recompute: True # all\r\n",
                 settings),
            "parallel_config:\r\n  data_parallel: 1\r\n  pipeline_stage: 2\r\n"
            "recompute_config:\r\n  recompute: [1, 0] # all\r\n"
            "runner_config:\r\n  batch_size: 2\r\n");
}

TEST(SettingEditTest, WritesPatternsAsLines) {
  EXPECT_EQ(edit("recompute_config:\n"
                 "  select_recompute: [8,4] # operators\n"
                 "  mp_comm_recompute: False\n",
                 withSelect({{"feed_forward\\.mul", {{1, 2}}},
                             {"add", {{0, 0}}},
                             {".*\\.norm", {{1, 0}, {0, 1}}}})),
            "recompute_config:\n"
            "  select_recompute: # operators\n"
            "    'feed_forward\\.mul': [1, 2]\n"
            "    '.*\\.norm': [[1, 0], [0, 1]]\n"
            "  mp_comm_recompute: False\n");
}

TEST(SettingEditTest, ChangesPatternsOneByOne) {
  const llvm::StringRef yaml = "recompute_config:\n"
                               "  select_recompute:\n"
                               "    'a\\.b': True # all\n"
                               "    \"c\": [ 1, 2 ] # some\n"
                               "    d: [0, 1]\n"
                               "  mp_comm_recompute: False\n";
  EXPECT_EQ(edit(yaml, withSelect({{"c", {{1, 3}}}, {"e\\.f", {{1, 1}}}})),
            "recompute_config:\n"
            "  select_recompute:\n"
            "    \"c\": [ 1, 3 ] # some\n"
            "    'e\\.f': [1, 1]\n"
            "  mp_comm_recompute: False\n");
  EXPECT_EQ(edit(yaml, withSelect({})), "recompute_config:\n"
                                        "  select_recompute: False\n"
                                        "  mp_comm_recompute: False\n");
  EXPECT_EQ(edit(yaml, withSelect({{"g\\.h", {{1, 1}}}})),
            "recompute_config:\n"
            "  select_recompute:\n"
            "    'g\\.h': [1, 1]\n"
            "  mp_comm_recompute: False\n");
}

TEST(SettingEditTest, NamesOperatorsOfSettingsWithoutNames) {
  const llvm::StringRef yaml = "parallel_config: {pipeline_stage: 2}\n"
                               "model: {model_config: {num_layers: 8}}\n"
                               "recompute_config:\n"
                               "  recompute: True\n"
                               "  select_recompute: [8,4]\n";
  MemorySettings settings =
      withSelect({{"feed_forward\\.mul", {{4, 1}}},
                  {"feed_forward\\.w1\\.activation\\.silu", {{4, 1}}}});
  settings.recompute = {{4, 4}};
  EXPECT_EQ(edit(yaml, settings),
            "parallel_config: {pipeline_stage: 2}\n"
            "model: {model_config: {num_layers: 8}}\n"
            "recompute_config:\n"
            "  recompute: True\n"
            "  select_recompute:\n"
            "    'feed_forward\\.mul': [4, 1]\n"
            "    'feed_forward\\.w1\\.activation\\.silu': [4, 1]\n");
}

TEST(SettingEditTest, RefusesSettingsThatNoYamlCanHave) {
  const llvm::StringRef yaml =
      "parallel_config: {pipeline_stage: 2, seq_split_num: 2}\n"
      "model: {model_config: {num_layers: 9, offset: [1, 0]}}\n";
  EXPECT_EQ(edit(yaml, withRecompute({})),
            "a.yaml: settings: expected at least one row of recompute");
  EXPECT_EQ(edit(yaml, withRecompute({{1, 2}, {1}})),
            "a.yaml: settings: expected a table of recompute with as "
            "many values in each row");
  EXPECT_EQ(edit(yaml, withRecompute({{1, -2}})),
            "a.yaml: settings: expected layers of recompute from 0 on, "
            "but got -2");
  EXPECT_EQ(edit(yaml, withRecompute({{1, 2, 3}})),
            "a.yaml: expected at most one value per pipeline stage (2) "
            "for the new recompute, but got 3, [1, 2, 3]");
  EXPECT_EQ(edit(yaml, withSelect({{"a", {{1, 2}}}, {"a", {{1, 2}}}})),
            "a.yaml: settings: expected each pattern of "
            "select_recompute once, but got 'a' twice");
  EXPECT_EQ(edit(yaml, withSelect({{"a\nb", {{1, 2}}}})),
            "a.yaml: settings: expected a pattern of select_recompute "
            "without control characters, but got 'a\\nb'");
  EXPECT_EQ(edit(yaml, withStages(0)),
            "a.yaml: settings: expected pipeline_stage of at least 1, "
            "but got 0");
  EXPECT_EQ(edit(yaml, withRecompute({{1, 0}})),
            "a.yaml: with the new settings: full recompute does "
            "not work with seq_split_num > 1; set recompute to False, or "
            "seq_split_num to 1");
  MemorySettings settings;
  settings.offset = {{1, 1}};
  EXPECT_EQ(edit(yaml, settings),
            "a.yaml:2:47: expected the values of 'offset' [1, 1] to add "
            "up to 1, what remains of 9 layers over 2 mini stages "
            "(pipeline_stage 2 * pp_interleave_num 1), but they add up to 2; "
            "[1, 0] would do");
  EXPECT_EQ(edit("a: [", withStages(2)),
            "a.yaml:1:1: invalid YAML: end of sequence flow not found");
}

// Settings count the layer that predicts later tokens if the offset does.
TEST(SettingEditTest, CountsLayersForLaterTokensAsTheOffsetDoes) {
  const auto makeYaml = [](llvm::StringRef offset) {
    return ("parallel_config: {pipeline_stage: 2}\n"
            "model: {model_config: {model_type: deepseek_v3, "
            "num_hidden_layers: 4, num_nextn_predict_layers: 1, offset: " +
            offset +
            "}}\n"
            "recompute_config: {recompute: True}\n")
        .str();
  };
  auto read = [&](llvm::StringRef offset) {
    DiagnosticList diagnostics;
    return llvm::cantFail(readSettings(
        parseTrainingConfig(makeYaml(offset), "a.yaml", diagnostics)));
  };
  // Three layers and one, with the fifth behind them; and three and two.
  EXPECT_EQ(read("[1, -1]").offset, (StageTable{{1, -1}}));
  EXPECT_EQ(read("[1, -1]").recompute, (StageTable{{3, 1}}));
  EXPECT_EQ(read("[1, 0]").offset, (StageTable{{1, 0}}));
  EXPECT_EQ(read("[1, 0]").recompute, (StageTable{{3, 2}}));
  MemorySettings settings = withRecompute({{1, 2}});
  settings.offset = {{0, 0}};
  const std::string edited = edit(makeYaml("[1, -1]"), settings);
  EXPECT_NE(edited.find("offset: [0, 0]"), std::string::npos) << edited;
  EXPECT_NE(edited.find("recompute: [1, 2]"), std::string::npos) << edited;
}

TEST(SettingEditTest, SwitchesSwapOn) {
  const llvm::StringRef yaml = "parallel_config: {pipeline_stage: 2}\n"
                               "model: {model_config: {num_layers: 8}}\n"
                               "recompute_config:\n"
                               "  recompute: [2, 1]\n"
                               "  select_recompute:\n"
                               "    'a\\.b': True\n";
  const std::string swapped =
      edit(yaml, withSwap({{"", 1, {0, 1}},
                           {"", 2, {2}},
                           {"", 1, {4, 1, 2}},
                           {".*\\.flash_attention", 3, {5}}}));
  EXPECT_EQ(swapped, "parallel_config: {pipeline_stage: 2}\n"
                     "model: {model_config: {num_layers: 8}}\n"
                     "recompute_config:\n"
                     "  recompute: [0, 1, 4]\n"
                     "  select_recompute:\n"
                     "    'a\\.b': [0, 1, 2, 3, 4, 5, 6, 7]\n"
                     "swap_config:\n"
                     "  swap: True\n"
                     "  layer_swap:\n"
                     "    - backward_prefetch: 1\n"
                     "      layers: [0, 1, 4]\n"
                     "    - backward_prefetch: 2\n"
                     "      layers: [2]\n"
                     "  op_swap:\n"
                     "    - op_name: '.*\\.flash_attention'\n"
                     "      backward_prefetch: 3\n"
                     "      layers: [5]\n");
  EXPECT_EQ(edit(swapped, withSwap({{"", 4, {0, 1}}})),
            "parallel_config: {pipeline_stage: 2}\n"
            "model: {model_config: {num_layers: 8}}\n"
            "recompute_config:\n"
            "  recompute: [0, 1, 4]\n"
            "  select_recompute:\n"
            "    'a\\.b': [0, 1, 2, 3, 4, 5, 6, 7]\n"
            "swap_config:\n"
            "  swap: True\n"
            "  layer_swap:\n"
            "    - backward_prefetch: 4\n"
            "      layers: [0, 1]\n"
            "  op_swap: []\n");
  EXPECT_EQ(edit("swap_config: {swap: True}\n", withSwap({})),
            "swap_config: {swap: False}\n");
}

TEST(SettingEditTest, LeavesSwappedLayersOut) {
  const llvm::StringRef yaml = "parallel_config: {pipeline_stage: 2}\n"
                               "model: {model_config: {num_layers: 8}}\n"
                               "recompute_config:\n"
                               "  recompute: [2, 1]\n"
                               "  select_recompute: {'a': [4, 1]}\n";
  MemorySettings settings = withSwap({{"", 1, {0, 4}}});
  settings.leavesOutSwapped = true;
  EXPECT_EQ(edit(yaml, settings), "parallel_config: {pipeline_stage: 2}\n"
                                  "model: {model_config: {num_layers: 8}}\n"
                                  "recompute_config:\n"
                                  "  recompute: [1]\n"
                                  "  select_recompute: {'a': [1, 2, 3]}\n"
                                  "swap_config:\n"
                                  "  swap: True\n"
                                  "  layer_swap:\n"
                                  "    - backward_prefetch: 1\n"
                                  "      layers: [0, 4]\n");
  settings.swap->front().layers = {0, 1, 2, 3, 4};
  EXPECT_EQ(edit(yaml, settings), "parallel_config: {pipeline_stage: 2}\n"
                                  "model: {model_config: {num_layers: 8}}\n"
                                  "recompute_config:\n"
                                  "  recompute: False\n"
                                  "  select_recompute: False\n"
                                  "swap_config:\n"
                                  "  swap: True\n"
                                  "  layer_swap:\n"
                                  "    - backward_prefetch: 1\n"
                                  "      layers: [0, 1, 2, 3, 4]\n");
}

TEST(SettingEditTest, SwitchesSwapOff) {
  EXPECT_EQ(edit("parallel_config: {pipeline_stage: 2}\n"
                 "model: {model_config: {num_layers: 8}}\n"
                 "recompute_config:\n"
                 "  recompute: [0, 1, 4]\n"
                 "  select_recompute: {'a\\.b': [0, 4, 5], 'c': [7]}\n"
                 "swap_config: {swap: True, layer_swap: []}\n",
                 withSwap({})),
            "a.yaml:5:21: switching swap off changes what this says: "
            "lists count layers with swap off; expected a new value among the "
            "settings");
  EXPECT_EQ(edit("parallel_config: {pipeline_stage: 2}\n"
                 "model: {model_config: {num_layers: 8}}\n"
                 "recompute_config:\n"
                 "  recompute: [0, 1, 4]\n"
                 "  select_recompute: {'a\\.b': [0, 4, 5]}\n"
                 "swap_config: {swap: True, layer_swap: []}\n",
                 withSwap({})),
            "parallel_config: {pipeline_stage: 2}\n"
            "model: {model_config: {num_layers: 8}}\n"
            "recompute_config:\n"
            "  recompute: [2, 1]\n"
            "  select_recompute: {'a\\.b': [1, 2]}\n"
            "swap_config: {swap: False, layer_swap: []}\n");
}

} // namespace
