//===- SettingReadTest.cpp - Memory settings of a YAML --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/SettingEdit.h"
#include "gtest/gtest.h"

using namespace mf;

namespace {

llvm::Expected<MemorySettings> tryToRead(llvm::StringRef yaml) {
  DiagnosticList diagnostics;
  const TrainingConfig config =
      parseTrainingConfig(yaml, "a.yaml", diagnostics);
  EXPECT_FALSE(diagnostics.hasErrors()) << diagnostics.str();
  return readSettings(config);
}

MemorySettings read(llvm::StringRef yaml) {
  auto settings = tryToRead(yaml);
  if (settings)
    return *settings;
  ADD_FAILURE() << llvm::toString(settings.takeError());
  return {};
}

TEST(SettingReadTest, GivesTablesByChunkAndStage) {
  const MemorySettings settings =
      read("parallel_config: {pipeline_stage: 2}\n"
           "parallel: {pipeline_config: {pipeline_interleave: True}}\n"
           "model:\n"
           "  model_config:\n"
           "    num_layers: 9\n"
           "    pp_interleave_num: 2\n"
           "    offset: [[1, 0], [-1, 1]]\n"
           "recompute_config:\n"
           "  recompute: [3, True]\n"
           "  select_recompute: ['a\\.b', 'c']\n"
           "  select_comm_recompute: [[1, 9], True]\n");
  EXPECT_EQ(settings.offset, StageTable({{1, 0}, {-1, 1}}));
  EXPECT_EQ(settings.recompute, StageTable({{2, 2}, {1, 3}}));
  const StageTable all = {{3, 2}, {1, 3}};
  const std::vector<OperatorCounts> select = {{"a\\.b", all}, {"c", all}};
  EXPECT_EQ(settings.selectRecompute, select);
  const std::vector<OperatorCounts> comm = {{".*\\.norm", {{1, 2}, {1, 3}}}};
  EXPECT_EQ(settings.selectCommRecompute, comm);
}

TEST(SettingReadTest, GivesColumnsByStageWhereChunksGoBack) {
  const llvm::StringRef yaml =
      "parallel_config: {pipeline_stage: 2, micro_batch_num: 4}\n"
      "parallel:\n"
      "  pipeline_config:\n"
      "    pipeline_interleave: True\n"
      "    pipeline_scheduler: zero_bubble_v\n"
      "model:\n"
      "  model_config:\n"
      "    num_layers: 8\n"
      "    pp_interleave_num: 2\n"
      "    offset: [[1, 0], [-1, 0]]\n"
      "recompute_config:\n"
      "  recompute: [[1, 2], [0, 1]]\n";
  const MemorySettings settings = read(yaml);
  EXPECT_EQ(settings.offset, StageTable({{1, 0}, {-1, 0}}));
  EXPECT_EQ(settings.recompute, StageTable({{1, 2}, {0, 1}}));
  // Layers 0 1 2 | 3 4, and back from the last stage 5 6 | 7.
  MemorySettings swapped;
  swapped.swap = {{"", 1, {7}}};
  auto edited = applySettings(yaml, "a.yaml", swapped);
  ASSERT_TRUE(bool(edited)) << llvm::toString(edited.takeError());
  EXPECT_NE(edited->find("recompute: [0, 3, 4, 5]\n"), std::string::npos)
      << *edited;
  EXPECT_EQ(read(*edited).recompute, settings.recompute);
}

/// A single number counts for each stage, as long as there are layers.
TEST(SettingReadTest, GivesOffsetsOfLayersThatThereAre) {
  EXPECT_EQ(read("parallel_config: {pipeline_stage: 4}\n"
                 "model: {model_config: {num_layers: 5, offset: 1}}\n")
                .offset,
            StageTable({{1, 1, 0, -1}}));
}

TEST(SettingReadTest, NamesNoOperatorsOfSettingsWithoutNames) {
  const llvm::StringRef yaml = "model: {model_config: {num_layers: 3}}\n"
                               "recompute_config: {select_recompute: [2]}\n";
  EXPECT_FALSE(read(yaml).selectRecompute);
}

TEST(SettingReadTest, GivesSwaps) {
  const std::vector<SwapItem> policy = {{".*\\.flash_attention", 3, {0, 1, 2}}};
  EXPECT_EQ(read("model: {model_config: {num_layers: 3}}\n"
                 "swap_config: {swap: True, default_prefetch: 3}\n")
                .swap,
            policy);
  const std::vector<SwapItem> items = {
      {"", 2, {0, 2}}, {"", 1, {1}}, {"a", 1, {0, 1, 2}}, {"b", 1, {0, 1, 2}}};
  EXPECT_EQ(read("model: {model_config: {num_layers: 3}}\n"
                 "swap_config:\n"
                 "  swap: True\n"
                 "  layer_swap:\n"
                 "    - {backward_prefetch: 2, layers: [0]}\n"
                 "    - {backward_prefetch: 1, layers: [0, 1, 7]}\n"
                 "    - {backward_prefetch: 2, layers: [1, 2]}\n"
                 "  op_swap: {op_name: [a, b], backward_prefetch: 1, layers: "
                 "True}\n")
                .swap,
            items);
}

TEST(SettingReadTest, GivesNoTableOfScatteredLayers) {
  const MemorySettings settings =
      read("parallel_config: {pipeline_stage: 2}\n"
           "model: {model_config: {num_layers: 6}}\n"
           "recompute_config:\n"
           "  recompute: [0, 3, 4]\n"
           "  select_recompute: {'a': [1]}\n"
           "swap_config: {swap: True}\n");
  EXPECT_EQ(settings.recompute, StageTable({{1, 2}}));
  EXPECT_FALSE(settings.selectRecompute);
}

TEST(SettingReadTest, NeedsLayers) {
  auto settings = tryToRead("model:\n"
                            "  model_config:\n"
                            "    pp_interleave_num: 2\n");
  ASSERT_FALSE(bool(settings));
  EXPECT_EQ(llvm::toString(settings.takeError()),
            "a.yaml:3:5: expected the number of layers in "
            "model.model_config (num_layers or num_hidden_layers), but it is "
            "not given");
}

} // namespace
