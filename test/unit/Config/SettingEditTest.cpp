//===- SettingEditTest.cpp - A YAML with other settings -------------------===//

#include "mf/Config/SettingEdit.h"
#include "gtest/gtest.h"

using namespace mf;

namespace {

/// The edited text, or the error.
std::string edit(llvm::StringRef yaml, const MemorySettings &settings,
                 std::optional<NameFamily> names = std::nullopt) {
  auto edited = applySettings(yaml, "a.yaml", settings, names);
  return edited ? *edited : llvm::toString(edited.takeError());
}

MemorySettings withRecompute(StageTable table) {
  MemorySettings settings;
  settings.recompute = std::move(table);
  return settings;
}

MemorySettings withSelect(std::vector<OperatorCounts> operators) {
  MemorySettings settings;
  settings.selectRecompute = std::move(operators);
  return settings;
}

MemorySettings withSwap(std::vector<SwapItem> items) {
  MemorySettings settings;
  settings.swap = std::move(items);
  return settings;
}

TEST(SettingEdit, ReplacesElementsOfAList) {
  EXPECT_EQ(edit("recompute_config:\n"
                 "  recompute: [3,2, 0,  0] # by hand\n"
                 "  mp_comm_recompute: False\n",
                 withRecompute({{3, 1, 1, 0}})),
            "recompute_config:\n"
            "  recompute: [3,1, 1,  0] # by hand\n"
            "  mp_comm_recompute: False\n");
}

TEST(SettingEdit, ReplacesAListOfAnotherSizeInItsStyle) {
  EXPECT_EQ(edit("recompute_config: {recompute: [ 3,2 ]}\n",
                 withRecompute({{3, 1, 1, 0}})),
            "recompute_config: {recompute: [ 3,1,1,0 ]}\n");
}

TEST(SettingEdit, KeepsListsOverLines) {
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

TEST(SettingEdit, KeepsBlockLists) {
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

TEST(SettingEdit, AddsMissingKeysAndSections) {
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

TEST(SettingEdit, KeepsLineEnds) {
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

TEST(SettingEdit, WritesPatternsAsLines) {
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

TEST(SettingEdit, ChangesPatternsOneByOne) {
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

TEST(SettingEdit, SwitchesSwapOn) {
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

TEST(SettingEdit, SwitchesSwapOff) {
  EXPECT_EQ(edit("parallel_config: {pipeline_stage: 2}\n"
                 "model: {model_config: {num_layers: 8}}\n"
                 "recompute_config:\n"
                 "  recompute: [0, 1, 4]\n"
                 "  select_recompute: {'a\\.b': [0, 4, 5], 'c': [7]}\n"
                 "swap_config: {swap: True, layer_swap: []}\n",
                 withSwap({})),
            "a.yaml:5:21: error: switching swap off changes what this says: "
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

MemorySettings withStages(int64_t stages) {
  MemorySettings settings;
  settings.stages = stages;
  return settings;
}

TEST(SettingEdit, SaysWhatToDoAboutAliases) {
  EXPECT_EQ(edit("runner_config: {batch_size: &n 2}\n"
                 "parallel_config:\n"
                 "  pipeline_stage: *n\n",
                 withStages(4)),
            "a.yaml:3:19: error: 'parallel_config.pipeline_stage' is the alias "
            "'*n', which cannot be changed in place; expected the value "
            "itself, write it here instead of the alias\n"
            "a.yaml:1:29: note: the value that it stands for");
  EXPECT_EQ(edit("a: &p {pipeline_stage: 2}\n"
                 "parallel_config: *p\n",
                 withStages(4)),
            "a.yaml:2:18: error: 'parallel_config' is the alias '*p', which "
            "cannot be changed in place; expected the value itself, write it "
            "here instead of the alias\n"
            "a.yaml:1:4: note: the value that it stands for");
  EXPECT_EQ(edit("parallel_config:\n"
                 "  pipeline_stage: &n 2\n"
                 "  model_parallel: *n\n",
                 withStages(4)),
            "a.yaml:3:19: error: 'parallel_config.model_parallel' is an alias "
            "of a setting that becomes 4; expected the value itself, write it "
            "here instead of the alias");
  // What it says already may stay.
  EXPECT_EQ(edit("runner_config: {batch_size: &n 4}\n"
                 "parallel_config: {pipeline_stage: *n}\n",
                 withStages(4)),
            "runner_config: {batch_size: &n 4}\n"
            "parallel_config: {pipeline_stage: *n}\n");
}

TEST(SettingEdit, LetsAliasesOfAValueFollow) {
  EXPECT_EQ(edit("parallel_config:\n"
                 "  pipeline_stage: &n 2\n"
                 "callbacks:\n"
                 "  - x: *n\n",
                 withStages(4)),
            "parallel_config:\n"
            "  pipeline_stage: &n 4\n"
            "callbacks:\n"
            "  - x: *n\n");
}

TEST(SettingEdit, OverridesMerges) {
  EXPECT_EQ(edit("a: &p {pipeline_stage: 2}\n"
                 "parallel_config:\n"
                 "  <<: *p\n",
                 withStages(4)),
            "a: &p {pipeline_stage: 2}\n"
            "parallel_config:\n"
            "  <<: *p\n"
            "  pipeline_stage: 4\n");
}

} // namespace
