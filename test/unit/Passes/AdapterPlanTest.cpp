//===- AdapterPlanTest.cpp - Layers with adapters, trained parameters -----===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/adapters/AdapterPlan.h"
#include <gtest/gtest.h>

using namespace mf::passes;

namespace {

/// One letter per path: y for adapters, n for none; or the error.
std::string plan(const AdapterRules &rules,
                 const std::vector<std::string> &paths) {
  std::vector<LinearLayer> layers;
  for (const std::string &path : paths)
    layers.push_back({path, 3, 5});
  std::string error, letters;
  std::optional<AdapterPlan> plan = planAdapters(rules, layers, {}, error);
  if (!plan)
    return error;
  for (bool isAdapted : plan->isAdapted)
    letters += isAdapted ? 'y' : 'n';
  return letters;
}

AdapterRules makeRules(const std::string &target,
                       const std::vector<std::string> &exclude = {}) {
  AdapterRules rules;
  rules.target = target;
  rules.exclude = exclude;
  return rules;
}

TEST(AdapterPlanTest, MatchesFromTheStartOfTheCellsName) {
  const std::vector<std::string> paths = {
      "model.layers.0.attention.wq", "model.layers.0.attention.wq_norm",
      "model.layers.0.attention.swq", "lm_head.wq"};
  EXPECT_EQ(plan(makeRules("wq"), paths), "yynn");
  EXPECT_EQ(plan(makeRules(".*wq"), paths), "yyyn");
  EXPECT_EQ(plan(makeRules("wq$"), paths), "ynnn");
  EXPECT_EQ(plan(makeRules("swq|wq_"), paths), "nyyn");
}

TEST(AdapterPlanTest, NeverLooksAtPathsOrIntoCellsThatMatch) {
  const std::vector<std::string> paths = {"model.layers.0.attention.wo",
                                          "model.layers.1.wo_all.wo"};
  EXPECT_EQ(plan(makeRules("wo"), paths), "yn");
  EXPECT_EQ(plan(makeRules(".*attention.wo|wo"), paths), "yn");
  EXPECT_EQ(plan(makeRules(".*attention|wo"), paths),
            "no linear layer of the model has a name that '.*attention|wo' "
            "matches; it matches the Cell 'attention', which is no linear "
            "layer, and nothing in it is looked at (linear layers are wo)");
  EXPECT_EQ(plan(makeRules("attention.wo"), paths),
            "no linear layer of the model has a name that 'attention.wo' "
            "matches; it matches the path 'attention.wo', but a pattern sees a "
            "Cell's own name alone (linear layers are wo)");
}

std::string getWarning(const AdapterRules &rules) {
  std::vector<LinearLayer> layers;
  for (const char *name : {"wq", "wk", "w1", "w2"})
    layers.push_back({std::string("model.layers.0.") + name, 3, 5});
  std::string error;
  std::optional<AdapterPlan> plan = planAdapters(rules, layers, {}, error);
  return plan ? plan->warning : error;
}

TEST(AdapterPlanTest, AlternativesThatMatchNothingAreNamed) {
  const std::string behind =
      " no linear layer (linear layers are w1, w2, wk, wq)";
  const std::pair<const char *, const char *> cases[] = {
      {".*q_proj|.*wq|.*up_proj",
       "'.*q_proj', '.*up_proj' of 'target_modules' match"},
      {".*w(q|o)$", "'o' of 'target_modules' matches"},
      {"w(?:q|(?:1|3))|gate", "'3', 'gate' of 'target_modules' match"},
      {"wq|w\\||wq", "'w\\|' of 'target_modules' matches"}};
  for (const auto &[target, warning] : cases)
    EXPECT_EQ(getWarning(makeRules(target)), warning + behind);
  for (const char *target : {".*wq|.*wk", "w[q|z]|wk"})
    EXPECT_EQ(getWarning(makeRules(target)), "");
  EXPECT_EQ(getWarning(makeRules("wq|w1", {"w1"})),
            "'w1' of 'target_modules' matches" + behind);
}

TEST(AdapterPlanTest, ExcludedCellsStayWithAllInThem) {
  const std::vector<std::string> paths = {
      "model.layers.0.attention.wq", "model.layers.10.attention.wq",
      "model.layers.2.cross_attention.wq", "model.layers.2.attention.wk"};
  EXPECT_EQ(plan(makeRules("w[qk]"), paths), "yyyy");
  EXPECT_EQ(plan(makeRules("w[qk]", {"1", "cross"}), paths), "ynny");
  EXPECT_EQ(plan(makeRules("w[qk]", {"wk"}), paths), "yyyn");
}

TEST(AdapterPlanTest, FindsTheNetworksOwnLayersUnderItsName) {
  AdapterRules rules = makeRules(".*linear|output_layer");
  rules.network = "model";
  EXPECT_EQ(plan(rules, {"decoder.layers.0.self_attention.linear_qkv",
                         "output_layer", "embedding.word_embeddings"}),
            "yyn");
}

TEST(AdapterPlanTest, SearchesPathsAndIntoCellsThatMatch) {
  const std::vector<std::string> paths = {
      "decoder.layers.0.mlp.linear_fc1", "decoder.layers.10.mlp.linear_fc1",
      "decoder.layers.10.mlp.shared_experts.linear_fc2", "output_layer"};
  auto planPaths = [&](const std::string &target,
                       const std::vector<std::string> &exclude) {
    AdapterRules rules = makeRules(target, exclude);
    rules.matchesPaths = true;
    rules.network = "model";
    return plan(rules, paths);
  };
  EXPECT_EQ(planPaths("mlp", {}), "yyyn");
  EXPECT_EQ(planPaths("^model.*(fc1|layer)$", {}), "yyny");
  EXPECT_EQ(planPaths("^decoder|layers.1", {}), "nyyn");
  EXPECT_EQ(planPaths("linear", {"shared"}), "yynn");
  EXPECT_EQ(planPaths("linear", {"layers.1"}), "ynnn");
}

TEST(AdapterPlanTest, ExpertsHaveAdaptersOfEachWeight) {
  AdapterRules rules = makeRules("mlp");
  rules.rank = 2;
  rules.matchesPaths = true;
  const std::vector<LinearLayer> layers = {
      {"model.mlp.linear_fc1", 3, 5},
      {"model.mlp.experts", 3, 10, "weight1_", 4},
      {"model.mlp.experts", 5, 3, "weight2_", 4}};
  std::string error;
  std::optional<AdapterPlan> plan = planAdapters(rules, layers, {}, error);
  ASSERT_TRUE(plan.has_value()) << error;
  EXPECT_EQ(plan->isAdapted, (std::vector<bool>{true, true, true}));
  EXPECT_EQ(plan->adapterElements, 2 * (3 + 5) + 4 * 2 * (13 + 8));
  std::string text;
  llvm::raw_string_ostream os(text);
  printAdapters(rules, layers, {}, *plan, os);
  EXPECT_NE(text.find("experts.weight1 [3 to 10 of 4 experts]: 1 with adapters "
                      "of rank 2\n"),
            std::string::npos)
      << text;
  rules.exclude = {"experts"};
  plan = planAdapters(rules, layers, {}, error);
  ASSERT_TRUE(plan.has_value()) << error;
  EXPECT_EQ(plan->isAdapted, (std::vector<bool>{true, false, false}));
}

TEST(AdapterPlanTest, ListsFreezeAdaptersToo) {
  AdapterRules rules = makeRules("wq");
  rules.rank = 2;
  rules.nameA = "lora_A.weight";
  rules.nameB = "lora_B.weight";
  rules.trainsOthers = true;
  rules.freezeInclude = {"*"};
  rules.freezeExclude = {"*lora_B*", "*norm*"};
  const std::vector<LinearLayer> layers = {{"model.wq", 3, 5}};
  const std::vector<WeightToTrain> parameters = {{"model.wq.weight", 15},
                                                 {"model.norm.weight", 7}};
  std::string error;
  std::optional<AdapterPlan> plan =
      planAdapters(rules, layers, parameters, error);
  ASSERT_TRUE(plan.has_value()) << error;
  EXPECT_EQ(plan->isTrained, (std::vector<bool>{false, true}));
  EXPECT_EQ(plan->trainsA, std::vector<bool>{false});
  EXPECT_EQ(plan->trainsB, std::vector<bool>{true});
  EXPECT_EQ(plan->adapterElements, 2 * 5);
  EXPECT_EQ(plan->frozenElements, 15 + 2 * 3);
  rules.freezeExclude = {"*other*"};
  EXPECT_FALSE(planAdapters(rules, layers, parameters, error).has_value());
  EXPECT_EQ(error.find("nothing is trained"), 0u) << error;
}

TEST(AdapterPlanTest, FreezeListsCountWhereOnlyOneMatches) {
  AdapterRules rules = makeRules("wq");
  rules.rank = 2;
  rules.freezeInclude = {"*wte*", "*head*"};
  rules.freezeExclude = {"*wte*", "*[0-9].bias", "l?_head*"};
  const std::vector<LinearLayer> layers = {{"model.wq", 3, 5}};
  const std::vector<WeightToTrain> parameters = {{"model.wte.weight", 7},
                                                 {"model.1.bias", 11},
                                                 {"lm_head.weight", 13},
                                                 {"other.weight", 17},
                                                 {"model.x.bias", 19}};
  std::string error;
  std::optional<AdapterPlan> plan =
      planAdapters(rules, layers, parameters, error);
  ASSERT_TRUE(plan.has_value()) << error;
  EXPECT_EQ(plan->isTrained,
            (std::vector<bool>{false, true, false, false, false}));
  EXPECT_EQ(plan->adapterElements, 16);
  EXPECT_EQ(plan->trainedElements, 11);
  EXPECT_EQ(plan->frozenElements, 7 + 13 + 17 + 19);
}

} // namespace
