//===- DynamicLayersTest.cpp - Layers of the dynamic graph ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicConfigs.h"
#include "mf/Frontend/Config/SettingEdit.h"

using namespace mf;

namespace {

class DynamicLayersTest : public DynamicConfigs {};

using Numbers = std::vector<int64_t>;

} // namespace

TEST_F(DynamicLayersTest, ReadsLayersToRecompute) {
  DynamicYaml yaml;
  yaml.training = "{global_batch_size: 2}";
  yaml.model = makeModel(16);
  auto readRecompute = [&](const std::string &section) {
    yaml.rest = "recompute: " + section + "\n";
    return read(yaml.print(), 2);
  };
  TrainingConfig config =
      readRecompute("{mode: full, full_recompute_layer: ['0-2', 5]}");
  EXPECT_EQ(config.recompute.recompute.selection.numbers,
            (Numbers{0, 1, 2, 5}));
  config = readRecompute("{mode: select, select_module: {mlp: ['0-30']}, "
                         "full_recompute_layer: [0-1]}");
  EXPECT_FALSE(messages.hasErrors()) << messages.str();
  EXPECT_EQ(config.recompute.recompute.selection.numbers, (Numbers{0, 1}));
  EXPECT_EQ(config.recompute.selectRecompute.patterns.size(), 1U);
  const std::string label =
      "TrainConfig.recompute_config.recompute.full_recompute_layer";
  auto refuse = [&](const std::string &section, const std::string &text) {
    readRecompute(section);
    EXPECT_TRUE(says(text)) << messages.str();
    EXPECT_TRUE(messages.hasErrors());
  };
  refuse("{mode: full, full_recompute_layer: ['x']}",
         label + "[0]: invalid layer spec 'x'; expected one non-negative "
                 "integer or 'start-end' (e.g. '5', '0-19')");
  refuse("{mode: full, full_recompute_layer: ['5-3']}",
         label + "[0]: range start must be <= end");
  refuse("{mode: full, full_recompute_layer: [1, 16]}",
         label + "[1]: layer id 16 out of range [0, 15]");
  refuse("{mode: full, full_recompute_layer: ['0-5', '3']}",
         label + ": layer specs must be in strictly ascending order; spec[1] "
                 "'3' starts at 3 but previous spec ends at 5");
  refuse("{mode: full}", "TrainConfig.recompute: mode is 'full' but "
                         "full_recompute_layer is missing or empty");
  refuse("{mode: select, select_module: {}}",
         "TrainConfig.recompute: mode is 'select' but select_module is missing "
         "or empty");
  refuse("{mode: null}", "RecomputeConfig.mode must be 'None', 'full', or "
                         "'select', got None");
  // The trainer recomputes nothing on one rank.
  yaml.training = "{global_batch_size: 1}";
  yaml.rest = "recompute: {mode: full, full_recompute_layer: ['0-2']}\n";
  config = read(yaml.print(), 1);
  EXPECT_FALSE(config.recompute.recompute.isTruthy());
  EXPECT_TRUE(says("the trainer applies neither to one rank"));
}

TEST_F(DynamicLayersTest, ReadsLayersToSwap) {
  DynamicYaml yaml;
  yaml.training = "{global_batch_size: 2}";
  yaml.model = makeModel(8);
  auto readSwap = [&](const std::string &more) {
    yaml.rest = "swap: {enable: True, " + more + "}\n";
    return read(yaml.print(), 2);
  };
  const TrainingConfig config =
      readSwap("default_prefetch: 1, layer_swap: [{layers: ['0-6']}]");
  EXPECT_FALSE(messages.hasErrors()) << messages.str();
  ASSERT_TRUE(config.swap.layerSwap);
  EXPECT_EQ(config.swap.layerSwap->front().layers.size(), 7U);
  readSwap("layer_swap: [{layers: ['0-7']}]");
  EXPECT_TRUE(says("TrainConfig.swap_config.layer_swap[0].layers: max layer id "
                   "7 plus prefetch 1 exceeds num_layers (8); max allowed "
                   "layer id is 6"));
  readSwap("default_prefetch: 8");
  EXPECT_TRUE(says("TrainConfig.swap_config.default_prefetch: value 8 out of "
                   "range [1, 7]"));
  readSwap("layer_swap: {layers: ['0']}");
  EXPECT_TRUE(says("layer_swap must be a list, got dict"));
  readSwap("layer_swap: [{layers: ['0']}, {layers: ['1']}]");
  EXPECT_TRUE(says("the trainer applies the first one only"));
}

TEST_F(DynamicLayersTest, WritesLayersWithAllElseKept) {
  setenv("RANK_SIZE", "2", /*replace=*/1);
  const std::string yaml =
      "# a comment\n"
      "training: {global_batch_size: 4}   # samples\n"
      "parallelism:\n"
      "  pipeline_parallel: 2   # stages\n"
      "  pipeline_parallel_layers_per_stage: auto\n"
      "lr_scheduler: {type: ConstantWarmUpLR, warmup_ratio: 0}\n"
      "train_dataset: {dataloader: {type: MindDataset}}\n"
      "recompute:\n"
      "  mode: full\n"
      "  full_recompute_layer: ['0-3']\n"
      "model: " +
      makeModel(8) + "\n";
  MemorySettings settings;
  settings.offset = {{-1, 1}};
  settings.recompute = {{3, 1}};
  llvm::Expected<std::string> edited = applySettings(yaml, "t.yaml", settings);
  ASSERT_TRUE(!!edited) << llvm::toString(edited.takeError());
  std::string wanted = yaml;
  auto replace = [&](const std::string &from, const std::string &to) {
    wanted.replace(wanted.find(from), from.size(), to);
  };
  replace("per_stage: auto", "per_stage: ['0-2', '3-7']");
  EXPECT_EQ(*edited, wanted);
  const TrainingConfig config = read(*edited, 2);
  llvm::Expected<MemorySettings> again = readSettings(config);
  ASSERT_TRUE(!!again) << llvm::toString(again.takeError());
  EXPECT_EQ(*again->offset, *settings.offset);
  EXPECT_EQ(*again->recompute, *settings.recompute);
  settings.recompute = {{1, 2}};
  edited = applySettings(yaml, "t.yaml", settings);
  ASSERT_TRUE(!!edited) << llvm::toString(edited.takeError());
  replace("['0-3']", "['0', '3-4']");
  EXPECT_EQ(*edited, wanted);
  settings.selectCommRecompute = {{"mlp", {{1, 1}}}};
  edited = applySettings(yaml, "t.yaml", settings);
  ASSERT_FALSE(!!edited);
  EXPECT_TRUE(llvm::StringRef(llvm::toString(edited.takeError()))
                  .contains("cannot express collectives to recompute"));
}

TEST_F(DynamicLayersTest, WritesModulesAndSwap) {
  setenv("RANK_SIZE", "2", /*replace=*/1);
  const std::string start =
      "training: {global_batch_size: 4}\n"
      "lr_scheduler: {type: ConstantWarmUpLR, warmup_ratio: 0}\n"
      "train_dataset: {dataloader: {type: MindDataset}}\n"
      "model: " +
      makeModel(8) + "\n";
  const std::string yaml = start + "recompute:\n"
                                   "  mode: full   # all of them\n"
                                   "  full_recompute_layer: ['0-7']\n";
  MemorySettings settings;
  settings.recompute = {{2}};
  settings.selectRecompute = {{"mlp", {{5}}}, {"(a|b)", {{0}}}};
  settings.swap = {{"", 1, {0}}, {"", 1, {6}}, {"self_attention", 1, {5}}};
  settings.leavesOutSwapped = true;
  llvm::Expected<std::string> edited = applySettings(yaml, "t.yaml", settings);
  ASSERT_TRUE(!!edited) << llvm::toString(edited.takeError());
  EXPECT_EQ(*edited, start + "recompute:\n"
                             "  mode: select   # all of them\n"
                             "  full_recompute_layer: ['1']\n"
                             "  select_module:\n"
                             "    mlp: ['1-4']\n"
                             "swap:\n"
                             "  enable: True\n"
                             "  default_prefetch: 1\n"
                             "  layer_swap:\n"
                             "    - layers: ['0', '6']\n"
                             "  op_swap:\n"
                             "    - op_name: 'self_attention'\n"
                             "      layers: ['5']\n");
  const TrainingConfig config = read(*edited, 2);
  EXPECT_FALSE(messages.hasErrors()) << messages.str();
  EXPECT_EQ(config.swap.layerSwap->front().layers,
            (std::vector<int64_t>{0, 6}));

  // Nothing is left of either.
  settings = MemorySettings();
  settings.recompute = {{0}};
  settings.selectRecompute.emplace();
  settings.swap.emplace();
  edited = applySettings(*edited, "t.yaml", settings);
  ASSERT_TRUE(!!edited) << llvm::toString(edited.takeError());
  EXPECT_NE(edited->find("mode: 'None'"), std::string::npos) << *edited;
  EXPECT_NE(edited->find("enable: False"), std::string::npos) << *edited;
  read(*edited, 2);
  EXPECT_FALSE(messages.hasErrors()) << messages.str();

  settings.swap = {{"", 1, {0}}, {"", 2, {1}}};
  edited = applySettings(yaml, "t.yaml", settings);
  ASSERT_FALSE(!!edited);
  EXPECT_TRUE(llvm::StringRef(llvm::toString(edited.takeError()))
                  .contains("expected 1 layers for each item, but got 2"));
}

TEST_F(DynamicLayersTest, ChangesNoAliasOfASetting) {
  setenv("RANK_SIZE", "2", /*replace=*/1);
  const std::string yaml =
      "training: {global_batch_size: 4}\n"
      "lr_scheduler: {type: ConstantWarmUpLR, warmup_ratio: 0}\n"
      "train_dataset: {dataloader: {type: MindDataset}}\n"
      "model: " +
      makeModel(8) +
      "\n"
      "recompute:\n"
      "  mode: select\n"
      "  full_recompute_layer: &first ['0-3']\n"
      "  select_module: {mlp: *first}\n";
  MemorySettings settings;
  settings.recompute = {{2}};
  llvm::Expected<std::string> edited = applySettings(yaml, "t.yaml", settings);
  ASSERT_FALSE(!!edited) << *edited;
  EXPECT_TRUE(llvm::StringRef(llvm::toString(edited.takeError()))
                  .contains("'recompute.select_module' is an alias of a "
                            "setting that becomes"));
}
