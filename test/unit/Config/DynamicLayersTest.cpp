//===- DynamicLayersTest.cpp - Layers of the dynamic graph ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicConfigs.h"
#include "SettingEdits.h"
#include "gmock/gmock.h"

using namespace mf;
using testing::HasSubstr;

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
  yaml.rest.clear();
  expectRefusals(2, yaml, R"(
recompute: {mode: full, full_recompute_layer: ['x']} => TrainConfig.recompute_config.recompute.full_recompute_layer[0]: invalid layer spec 'x'; expected one non-negative integer or 'start-end' (e.g. '5', '0-19')
recompute: {mode: full, full_recompute_layer: ['5-3']} => full_recompute_layer[0]: range start must be <= end
recompute: {mode: full, full_recompute_layer: [1, 16]} => full_recompute_layer[1]: layer id 16 out of range [0, 15]
recompute: {mode: full, full_recompute_layer: ['0-5', '3']} => full_recompute_layer: layer specs must be in strictly ascending order; spec[1] '3' starts at 3 but previous spec ends at 5
recompute: {mode: full} => TrainConfig.recompute: mode is 'full' but full_recompute_layer is missing or empty
recompute: {mode: select, select_module: {}} => TrainConfig.recompute: mode is 'select' but select_module is missing or empty
recompute: {mode: null} => RecomputeConfig.mode must be 'None', 'full', or 'select', got None
)");
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
  yaml.rest.clear();
  expectRefusals(2, yaml, R"(
swap: {enable: True, layer_swap: [{layers: ['0-7']}]} => TrainConfig.swap_config.layer_swap[0].layers: max layer id 7 plus prefetch 1 exceeds num_layers (8); max allowed layer id is 6
swap: {enable: True, default_prefetch: 8} => TrainConfig.swap_config.default_prefetch: value 8 out of range [1, 7]
swap: {enable: True, layer_swap: {layers: ['0']}} => layer_swap must be a list, got dict
)");
  readSwap("layer_swap: [{layers: ['0']}, {layers: ['1']}]");
  EXPECT_TRUE(says("the trainer applies the first one only"));
}

TEST_F(DynamicLayersTest, WritesLayersWithAllElseKept) {
  setenv("RANK_SIZE", "2", /*replace=*/1);
  DynamicYaml document;
  document.training = "{global_batch_size: 4}   # samples";
  document.parallelism = "\n  pipeline_parallel: 2   # stages\n"
                         "  pipeline_parallel_layers_per_stage: auto";
  document.model = makeModel(8);
  document.rest = "recompute:\n"
                  "  mode: full\n"
                  "  full_recompute_layer: ['0-3']\n";
  const std::string yaml = document.print();
  MemorySettings settings;
  settings.offset = {{-1, 1}};
  settings.recompute = {{3, 1}};
  const std::string placed =
      "  pipeline_parallel_layers_per_stage: ['0-2', '3-7']";
  EXPECT_EQ(editLines(yaml, settings),
            ChangedLines(
                {"-  pipeline_parallel_layers_per_stage: auto", "+" + placed}));
  const TrainingConfig config = read(edit(yaml, settings), 2);
  llvm::Expected<MemorySettings> again = readSettings(config);
  ASSERT_TRUE(!!again) << llvm::toString(again.takeError());
  EXPECT_EQ(*again->offset, *settings.offset);
  EXPECT_EQ(*again->recompute, *settings.recompute);
  settings.recompute = {{1, 2}};
  EXPECT_EQ(editLines(yaml, settings),
            ChangedLines({"-  pipeline_parallel_layers_per_stage: auto",
                          "+" + placed, "-  full_recompute_layer: ['0-3']",
                          "+  full_recompute_layer: ['0', '3-4']"}));
  settings.selectCommRecompute = {{"mlp", {{1, 1}}}};
  EXPECT_THAT(edit(yaml, settings),
              HasSubstr("cannot express collectives to recompute"));
}

TEST_F(DynamicLayersTest, WritesModulesAndSwap) {
  setenv("RANK_SIZE", "2", /*replace=*/1);
  DynamicYaml document;
  document.training = "{global_batch_size: 4}";
  document.model = makeModel(8);
  document.rest = "recompute:\n"
                  "  mode: full   # all of them\n"
                  "  full_recompute_layer: ['0-7']\n";
  const std::string yaml = document.print();
  MemorySettings settings;
  settings.recompute = {{2}};
  settings.selectRecompute = {{"mlp", {{5}}}, {"(a|b)", {{0}}}};
  settings.swap = {{"", 1, {0}}, {"", 1, {6}}, {"self_attention", 1, {5}}};
  settings.leavesOutSwapped = true;
  document.rest = "recompute:\n"
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
                  "      layers: ['5']\n";
  const std::string edited = edit(yaml, settings);
  EXPECT_EQ(edited, document.print());
  EXPECT_EQ(read(edited, 2).swap.layerSwap->front().layers, (Numbers{0, 6}));
  EXPECT_FALSE(messages.hasErrors()) << messages.str();

  // Nothing is left of either.
  settings = withRecompute({{0}});
  settings.selectRecompute.emplace();
  settings.swap.emplace();
  const std::string without = edit(edited, settings);
  EXPECT_THAT(without, HasSubstr("mode: 'None'"));
  EXPECT_THAT(without, HasSubstr("enable: False"));
  read(without, 2);
  EXPECT_FALSE(messages.hasErrors()) << messages.str();

  settings.swap = {{"", 1, {0}}, {"", 2, {1}}};
  EXPECT_THAT(edit(yaml, settings),
              HasSubstr("expected 1 layers for each item, but got 2"));
}

TEST_F(DynamicLayersTest, ChangesNoAliasOfASetting) {
  setenv("RANK_SIZE", "2", /*replace=*/1);
  DynamicYaml document;
  document.training = "{global_batch_size: 4}";
  document.model = makeModel(8);
  document.rest = "recompute:\n"
                  "  mode: select\n"
                  "  full_recompute_layer: &first ['0-3']\n"
                  "  select_module: {mlp: *first}\n";
  EXPECT_THAT(edit(document.print(), withRecompute({{2}})),
              HasSubstr("'recompute.select_module' is an alias of a setting "
                        "that becomes"));
}
