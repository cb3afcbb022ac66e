//===- PlanMessagesTest.cpp - Messages of a plan about settings -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayerPlans.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf;
using testing::HasSubstr;

namespace {

TEST(PlanMessagesTest, DefaultPatternsThatMatchNothingWarnOnce) {
  const char *yaml = "recompute_config: {select_recompute: True}\n";
  Planned planned = plan(withLayers(2, yaml), getTree("glm4(ChatGLM2Block)"));
  EXPECT_EQ(planned.diagnostics.getAll().size(), 1U);
  EXPECT_THAT(planned.diagnostics.str(), HasSubstr("name the operators"));
  EXPECT_TRUE(plan(withLayers(2, yaml), getTree("mcore_qwen3_dense"),
                   ModelFamily::Mcore)
                  .diagnostics.empty());
}

TEST(PlanMessagesTest, SettingsThatCannotWorkAreErrors) {
  const std::pair<const char *, const char *> cases[] = {
      {"recompute_config: {recompute: [[1], [1]]}",
       "one row per interleave (1)"},
      {"recompute_config: {recompute: [[1, 2]]}",
       "one value per pipeline stage (1) in row 0"},
      {"recompute_config: {recompute: [-1]}", "a number of layers"},
      {R"(recompute_config: {select_recompute: ['attention\..*']})",
       "wildcard"},
      {"recompute_config: {select_recompute: ['(a{1000}){1000}']}",
       "repeats too often"},
      {R"(recompute_config: {select_recompute: ['a(b)\99999999999']})",
       "a number with more than 9 digits"}};
  for (const auto &[yaml, message] : cases) {
    const Planned planned = plan(withLayers(4, yaml));
    EXPECT_TRUE(planned.diagnostics.hasErrors()) << yaml;
    EXPECT_THAT(planned.diagnostics.str(), HasSubstr(message));
    EXPECT_TRUE(planned.plan.layers.empty());
  }
}

TEST(PlanMessagesTest, TooManyPatternsAreAnError) {
  std::string names;
  for (int i = 0; i < 900; ++i)
    names += (i ? ", n" : "n") + std::to_string(i);
  std::string yaml = "recompute_config: {select_recompute: [" + names + "]}\n";
  EXPECT_FALSE(plan(withLayers(2, yaml)).diagnostics.hasErrors());
  EXPECT_THAT(plan(withLayers(200, yaml)).diagnostics.str(),
              HasSubstr("901 patterns for 200 layers"));
  EXPECT_THAT(
      plan(withLayers(2, "recompute_config: {select_recompute: [" + names +
                             ", " + names + "0, a" + names + "]}\n"))
          .diagnostics.str(),
      HasSubstr("more than 1000 patterns"));
}

TEST(PlanMessagesTest, NamesWithControlCharactersStayOnTheirLine) {
  Planned planned = plan(withLayers(
      1, "recompute_config: {select_recompute: [\"a\\nb\\x01\"]}\n"));
  EXPECT_THAT(planned.log(),
              HasSubstr("Formative select_recompute: {'a\\nb\\x01': [[1]]}"));
}

TEST(PlanMessagesTest, ABoolAmongLayersWithSwapOnIsANumber) {
  Planned planned = plan(withLayers(4, "swap_config: {swap: True}\n"
                                       "recompute_config: {recompute: [True]}"
                                       "\n"));
  EXPECT_THAT(planned.log(), HasSubstr("Formative layer_recompute: [True]\n"));
  for (const LayerEffects &layer : planned.plan.layers)
    EXPECT_EQ(layer.fullRecompute, layer.layer == 1);
  EXPECT_THAT(planned.diagnostics.str(),
              HasSubstr("t.yaml:3:31: warning: with swap on, the list of "
                        "recompute holds layer indices, where True is 1"));
}

TEST(PlanMessagesTest, ExcludesWithoutNamesOrWithSwapHaveNoEffect) {
  EXPECT_THAT(plan(withLayers(1, "recompute_config: "
                                 "{select_recompute_exclude: True}"))
                  .diagnostics.str(),
              HasSubstr("excludes nothing"));
  EXPECT_THAT(plan(withLayers(1, "swap_config: {swap: True}\n"
                                 "recompute_config: "
                                 "{select_recompute_exclude: ['add']}"))
                  .diagnostics.str(),
              HasSubstr("has no effect with swap on"));
}

} // namespace
