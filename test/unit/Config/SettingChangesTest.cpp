//===- SettingChangesTest.cpp - Differences between two YAMLs -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/SettingChanges.h"
#include "mf/Frontend/Config/SettingEdit.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "gtest/gtest.h"

using namespace mf;

static Node parse(llvm::StringRef text) {
  DiagnosticList diagnostics;
  Node node = parseYaml(text, "test.yaml", diagnostics);
  EXPECT_FALSE(diagnostics.hasErrors()) << text.str();
  return node;
}

static std::string print(llvm::StringRef before, llvm::StringRef after,
                         size_t indent = 0) {
  return printSettingChanges(parse(before), parse(after), indent);
}

TEST(SettingChangesTest, TellsOnlyWhatDiffers) {
  EXPECT_EQ(print("{a: 1, b: {c: 2, d: 3}}", "{a: 1, b: {c: 2, d: 4}}"),
            "b:\n  d: 4\n");
  EXPECT_EQ(print("{a: 1}", "a: 1 # the same"), "");
  EXPECT_EQ(print("{a: True}", "{a: 'True'}"), "a: 'True'\n");
}

TEST(SettingChangesTest, IndentsEveryLine) {
  EXPECT_EQ(print("{}", "{a: {b: {c: [1, [2]], d: text, e: }}}", 2),
            "  a:\n    b:\n      c: [1, [2]]\n      d: text\n      e: null\n");
}

TEST(SettingChangesTest, TellsSettingsWhole) {
  EXPECT_EQ(print(R"(recompute_config: {select_recompute: {'a\.b': [1, 0],
                     'c': [1, 1]}, recompute: False})",
                  R"(recompute_config: {select_recompute: {'a\.b': [1, 0],
                     'c': [1, 2]}, recompute: False})"),
            "recompute_config:\n  select_recompute:\n    'a\\.b': [1, 0]\n"
            "    c: [1, 2]\n");
  EXPECT_EQ(print("swap_config: {swap: True, op_swap: [], layer_swap: []}",
                  "swap_config: {swap: True, layer_swap: "
                  "[{backward_prefetch: 2, layers: [0, 1]}]}"),
            "swap_config:\n  swap: True\n  layer_swap:\n"
            "    - backward_prefetch: 2\n      layers: [0, 1]\n");
}

/// The printed changes, added to a file that has none of the keys, make it
/// equal to the edited file.
TEST(SettingChangesTest, SaysWhatWasEdited) {
  const std::string given =
      "model: {model_config: {num_layers: 8}}\n"
      "parallel_config: {pipeline_stage: 4, micro_batch_num: 4}\n";
  MemorySettings settings;
  settings.recompute = {{2, 1, 0, 0}};
  settings.selectRecompute = {
      {R"(feed_forward\.w1\.activation\.silu)", {{0, 1, 2, 0}}}};
  settings.swap = {{"", 3, {7}}};
  llvm::Expected<std::string> edited =
      applySettings(given, "test.yaml", settings);
  ASSERT_TRUE(bool(edited)) << llvm::toString(edited.takeError());
  const std::string changes = print(given, *edited);
  const std::string merged = given + changes;
  EXPECT_EQ(print(*edited, merged), "") << changes;
  EXPECT_EQ(print(merged, *edited), "") << changes;
}
