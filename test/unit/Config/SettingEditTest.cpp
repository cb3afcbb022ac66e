//===- SettingEditTest.cpp - Writes memory settings into a YAML -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "SettingEdits.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf;
using testing::HasSubstr;

namespace {

TEST(SettingEditTest, ReplacesElementsOfAList) {
  EXPECT_EQ(editLines("recompute_config:\n"
                      "  recompute: [3,2, 0,  0] # by hand\n"
                      "  mp_comm_recompute: False\n",
                      withRecompute({{3, 1, 1, 0}})),
            ChangedLines({"-  recompute: [3,2, 0,  0] # by hand",
                          "+  recompute: [3,1, 1,  0] # by hand"}));
}

TEST(SettingEditTest, ReplacesAListOfAnotherSizeInItsStyle) {
  EXPECT_EQ(edit("recompute_config: {recompute: [ 3,2 ]}\n",
                 withRecompute({{3, 1, 1, 0}})),
            "recompute_config: {recompute: [ 3,1,1,0 ]}\n");
}

TEST(SettingEditTest, KeepsListsOverLines) {
  EXPECT_EQ(editLines("recompute_config:\n"
                      "  recompute: [  # rows\n"
                      "    [3, 2],  # first\n"
                      "    [1, 0]\n"
                      "  ]\n",
                      withRecompute({{3, 4}, {1, 1}})),
            ChangedLines({"-    [3, 2],  # first", "-    [1, 0]",
                          "+    [3, 4],  # first", "+    [1, 1]"}));
}

TEST(SettingEditTest, KeepsBlockLists) {
  const llvm::StringRef yaml = "recompute_config:\n"
                               "  recompute: # why\n"
                               "  - 3 # three\n"
                               "  - 2\n"
                               "  # between\n"
                               "  - 1 # one\n"
                               "parallel: {}\n";
  EXPECT_EQ(editLines(yaml, withRecompute({{3, 1, 1}})),
            ChangedLines({"-  - 2", "+  - 1"}));
  EXPECT_EQ(editLines(yaml, withRecompute({{4, 1}})),
            ChangedLines({"-  - 3 # three", "-  - 2", "+  - 4 # three",
                          "+  - 1", "-  - 1 # one"}));
  EXPECT_EQ(editLines(yaml, withRecompute({{4, 2, 1, 0}})),
            ChangedLines({"-  - 3 # three", "+  - 4 # three", "+  - 0"}));
  EXPECT_EQ(edit(yaml, withRecompute({{0, 0}})), "recompute_config:\n"
                                                 "  recompute: False # why\n"
                                                 "parallel: {}\n");
}

TEST(SettingEditTest, AddsMissingKeysAndSections) {
  MemorySettings settings = withRecompute({{1, 0}});
  settings.interleave = 2;
  settings.stages = 2;
  EXPECT_EQ(editLines("parallel_config:\n"
                      "    data_parallel: 1  # only one\n"
                      "    # the end\n"
                      "recompute_config:\n"
                      "\n"
                      "model:\n"
                      "    model_config:\n"
                      "        num_layers: 8",
                      settings),
            ChangedLines({"+    pipeline_stage: 2", "+    recompute: [1, 0]",
                          "+        pp_interleave_num: 2",
                          "+parallel:", "+    pipeline_config:",
                          "+        pipeline_interleave: True"}));
}

TEST(SettingEditTest, KeepsLineEnds) {
  MemorySettings settings = withRecompute({{1, 0}});
  settings.batchSize = 2;
  settings.stages = 2;
  EXPECT_EQ(
      editLines("parallel_config:\r\n  data_parallel: 1\r\n"
                "recompute_config:\r\n  recompute: True # all\r\n",
                settings),
      ChangedLines({"+  pipeline_stage: 2\r", "-  recompute: True # all\r",
                    "+  recompute: [1, 0] # all\r", "+runner_config:\r",
                    "+  batch_size: 2\r"}));
}

TEST(SettingEditTest, WritesPatternsAsLines) {
  EXPECT_EQ(editLines("recompute_config:\n"
                      "  select_recompute: [8,4] # operators\n"
                      "  mp_comm_recompute: False\n",
                      withSelect({{"feed_forward\\.mul", {{1, 2}}},
                                  {"add", {{0, 0}}},
                                  {".*\\.norm", {{1, 0}, {0, 1}}}})),
            ChangedLines({"-  select_recompute: [8,4] # operators",
                          "+  select_recompute: # operators",
                          "+    'feed_forward\\.mul': [1, 2]",
                          "+    '.*\\.norm': [[1, 0], [0, 1]]"}));
}

TEST(SettingEditTest, ChangesPatternsOneByOne) {
  const llvm::StringRef yaml = "recompute_config:\n"
                               "  select_recompute:\n"
                               "    'a\\.b': True # all\n"
                               "    \"c\": [ 1, 2 ] # some\n"
                               "    d: [0, 1]\n"
                               "  mp_comm_recompute: False\n";
  EXPECT_EQ(
      editLines(yaml, withSelect({{"c", {{1, 3}}}, {"e\\.f", {{1, 1}}}})),
      ChangedLines({"-    'a\\.b': True # all", "-    \"c\": [ 1, 2 ] # some",
                    "-    d: [0, 1]", "+    \"c\": [ 1, 3 ] # some",
                    "+    'e\\.f': [1, 1]"}));
  EXPECT_EQ(edit(yaml, withSelect({})), "recompute_config:\n"
                                        "  select_recompute: False\n"
                                        "  mp_comm_recompute: False\n");
  EXPECT_EQ(edit(yaml, withSelect({{"g\\.h", {{1, 1}}}})),
            "recompute_config:\n"
            "  select_recompute:\n"
            "    'g\\.h': [1, 1]\n"
            "  mp_comm_recompute: False\n");
}

/// Layers that are recomputed already stay as they are said.
TEST(SettingEditTest, NamesOperatorsOfSettingsWithoutNames) {
  MemorySettings settings = withSelect({{"feed_forward\\.mul", {{4, 1}}}});
  settings.recompute = {{4, 4}};
  EXPECT_EQ(editLines("parallel_config: {pipeline_stage: 2}\n"
                      "model: {model_config: {num_layers: 8}}\n"
                      "recompute_config:\n"
                      "  recompute: True\n"
                      "  select_recompute: [8,4]\n",
                      settings),
            ChangedLines({"-  select_recompute: [8,4]", "+  select_recompute:",
                          "+    'feed_forward\\.mul': [4, 1]"}));
}

TEST(SettingEditTest, RefusesSettingsThatNoYamlCanHave) {
  const llvm::StringRef yaml =
      "parallel_config: {pipeline_stage: 2, seq_split_num: 2}\n"
      "model: {model_config: {num_layers: 9, offset: [1, 0]}}\n";
  const std::pair<MemorySettings, const char *> cases[] = {
      {withRecompute({}), "settings: expected at least one row of recompute"},
      {withRecompute({{1, 2}, {1}}),
       "settings: expected a table of recompute with as many values in each "
       "row"},
      {withRecompute({{1, -2}}),
       "settings: expected layers of recompute from 0 on, but got -2"},
      {withRecompute({{1, 2, 3}}),
       "expected at most one value per pipeline stage (2) for the new "
       "recompute, but got 3, [1, 2, 3]"},
      {withSelect({{"a", {{1, 2}}}, {"a", {{1, 2}}}}),
       "settings: expected each pattern of select_recompute once, but got 'a' "
       "twice"},
      {withSelect({{"a\nb", {{1, 2}}}}),
       "settings: expected a pattern of select_recompute without control "
       "characters, but got 'a\\nb'"},
      {withStages(0),
       "settings: expected pipeline_stage of at least 1, but got 0"},
      {withRecompute({{1, 0}}),
       "with the new settings: full recompute does not work with seq_split_num "
       "> 1; set recompute to False, or seq_split_num to 1"}};
  for (const auto &[settings, message] : cases)
    EXPECT_EQ(edit(yaml, settings), std::string("a.yaml: ") + message);
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

/// Two stages of four layers each.
std::string withStagesOfFour(llvm::StringRef rest) {
  return ("parallel_config: {pipeline_stage: 2}\n"
          "model: {model_config: {num_layers: 8}}\n" +
          rest)
      .str();
}

TEST(SettingEditTest, SwitchesSwapOn) {
  const std::string yaml = withStagesOfFour("recompute_config:\n"
                                            "  recompute: [2, 1]\n"
                                            "  select_recompute:\n"
                                            "    'a\\.b': True\n");
  const std::string swapped =
      edit(yaml, withSwap({{"", 1, {0, 1}},
                           {"", 2, {2}},
                           {"", 1, {4, 1, 2}},
                           {".*\\.flash_attention", 3, {5}}}));
  EXPECT_EQ(swapped, withStagesOfFour("recompute_config:\n"
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
                                      "      layers: [5]\n"));
  EXPECT_EQ(
      editLines(swapped, withSwap({{"", 4, {0, 1}}})),
      ChangedLines({"-    - backward_prefetch: 1", "-      layers: [0, 1, 4]",
                    "-    - backward_prefetch: 2", "-      layers: [2]",
                    "-  op_swap:", "-    - op_name: '.*\\.flash_attention'",
                    "-      backward_prefetch: 3", "-      layers: [5]",
                    "+    - backward_prefetch: 4", "+      layers: [0, 1]",
                    "+  op_swap: []"}));
  EXPECT_EQ(edit("swap_config: {swap: True}\n", withSwap({})),
            "swap_config: {swap: False}\n");
}

TEST(SettingEditTest, LeavesSwappedLayersOut) {
  const std::string yaml = withStagesOfFour("recompute_config:\n"
                                            "  recompute: [2, 1]\n"
                                            "  select_recompute: {'a': [4, 1]}"
                                            "\n");
  MemorySettings settings = withSwap({{"", 1, {0, 4}}});
  settings.leavesOutSwapped = true;
  EXPECT_THAT(edit(yaml, settings),
              HasSubstr("  recompute: [1]\n"
                        "  select_recompute: {'a': [1, 2, 3]}\n"));
  settings.swap->front().layers = {0, 1, 2, 3, 4};
  EXPECT_THAT(edit(yaml, settings), HasSubstr("  recompute: False\n"
                                              "  select_recompute: False\n"));
}

TEST(SettingEditTest, SwitchesSwapOff) {
  auto switchOff = [](llvm::StringRef select) {
    return edit(withStagesOfFour(("recompute_config:\n"
                                  "  recompute: [0, 1, 4]\n"
                                  "  select_recompute: " +
                                  select +
                                  "\n"
                                  "swap_config: {swap: True, layer_swap: []}\n")
                                     .str()),
                withSwap({}));
  };
  EXPECT_EQ(switchOff("{'a\\.b': [0, 4, 5], 'c': [7]}"),
            "a.yaml:5:21: switching swap off changes what this says: lists "
            "count layers with swap off; expected a new value among the "
            "settings");
  EXPECT_EQ(switchOff("{'a\\.b': [0, 4, 5]}"),
            withStagesOfFour("recompute_config:\n"
                             "  recompute: [2, 1]\n"
                             "  select_recompute: {'a\\.b': [1, 2]}\n"
                             "swap_config: {swap: False, layer_swap: []}\n"));
}

} // namespace
