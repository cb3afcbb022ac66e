//===- LayerCasesTest.cpp - The 226 recorded configurations ---------------===//
//
// Every case of layer_setting_cases.jsonl, written as a YAML and read by us:
// the stage map, the normalised tables, each layer's effects and log lines
// are those recorded, or the configuration is rejected as it was.
//
//===----------------------------------------------------------------------===//

#include "CellTrees.h"
#include "mf/Frontend/Config/LayerPlan.h"
#include "llvm/ADT/StringExtras.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

using namespace mf;
using Json = nlohmann::ordered_json;

namespace {

/// Rejected there, accepted here, because the public documentation describes
/// the form and only the code breaks on it: a two-dimensional select_recompute
/// for the default patterns, and bools in a map with swap on.
bool isDocumented(const Json &test) {
  bool isSwapOn = test["swap_config"].is_object() &&
                  test["swap_config"].value("swap", Json()) == true;
  for (const char *key : {"select_recompute", "select_comm_recompute"}) {
    const Json setting = test["recompute_config"].value(key, Json());
    for (const Json &item : setting)
      if (setting.is_object() ? isSwapOn && item.is_boolean()
                              : !isSwapOn && item.is_array())
        return true;
  }
  return false;
}

/// dev_mcore passes no swap_config on to the model; ours does.
constexpr llvm::StringLiteral swapIgnored = "247";

struct CaseRun {
  DiagnosticList diagnostics;
  TrainingConfig config;
  std::optional<StageMap> stages;
  LayerPlan plan;
};

std::vector<Json> readCases() {
  std::vector<Json> cases;
  // MF_LAYER_CASES names another file of such cases.
  const char *other = std::getenv("MF_LAYER_CASES");
  std::ifstream file(
      other ? other : MF_TEST_DATA "/mindformers/layer_setting_cases.jsonl");
  for (std::string line; std::getline(file, line);)
    cases.push_back(Json::parse(line));
  return cases;
}

/// The YAML of a case; JSON is YAML.
std::string makeYaml(const Json &test) {
  Json parallel = {{"pipeline_stage", test["pp"]}};
  for (const char *key : {"gradient_aggregation_group", "micro_batch_num"})
    if (test.contains(key))
      parallel[key] = test[key];
  Json model = {{"num_layers", test["num_layers"]},
                {"offset", test["offset"]},
                {"pp_interleave_num", test["interleave"]}};
  for (const char *key : {"start_stage", "stage_num", "mtp_depth"})
    if (test.contains(key))
      model[key] = test[key];
  bool interleave =
      test.value("pipeline_interleave", test["interleave"].get<int>() > 1);
  Json root = {{"parallel_config", parallel},
               {"parallel",
                {{"pipeline_config", {{"pipeline_interleave", interleave}}}}},
               {"model", {{"model_config", model}}},
               {"recompute_config", test["recompute_config"]}};
  if (!test["swap_config"].is_null())
    root["swap_config"] = test["swap_config"];
  return root.dump();
}

bool isMcore(const Json &test) {
  return test["version"].get<std::string>().find("mcore") != std::string::npos;
}

CaseRun runCase(const Json &test,
                const std::map<std::string, CellTree> &trees) {
  CaseRun run;
  run.config =
      parseTrainingConfig(makeYaml(test), "case.yaml", run.diagnostics);
  StageMapOptions options = getStageMapOptions(run.config, run.diagnostics);
  if (run.diagnostics.hasErrors())
    return run;
  run.stages = StageMap::create(options, run.diagnostics);
  if (!run.stages)
    return run;
  LayerPlanInput input{run.config.recompute,
                       run.config.swap,
                       *run.stages,
                       isMcore(test) ? NameFamily::Mcore : NameFamily::Classic,
                       {},
                       run.config.parallel.gradientAggregationGroup};
  for (int64_t layer = 0; layer < run.stages->getNumLayers(); ++layer) {
    bool isMoe = test.contains("moe_from") && layer >= test["moe_from"];
    std::string model = isMoe ? test["moe_model"] : test["model"];
    input.layers.push_back({layer, &trees.at(model)});
  }
  run.plan = planLayers(input, run.diagnostics);
  return run;
}

void replaceAll(std::string &text, llvm::StringRef from, llvm::StringRef to) {
  for (size_t at = 0; (at = text.find(from.str(), at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to.str());
}

/// Python's doubled backslashes as the documentation prints them, and rows
/// that were left as numpy arrays as the lists they stand for.
std::string normalizeLine(std::string text) {
  replaceAll(text, "\\\\", "\\");
  replaceAll(text, "array([", "[");
  replaceAll(text, "], dtype=int32)", "]");
  return text;
}

std::vector<std::string> getExpectedInit(const Json &test) {
  std::vector<std::string> lines;
  for (const Json &line : test["expected"]["init_log"])
    lines.push_back(normalizeLine(line));
  return lines;
}

std::vector<std::string> getInit(const Json &test, const LayerPlan &plan) {
  std::vector<std::string> lines;
  for (const std::string &line : plan.initLines)
    // dev_mcore is older than the excludes.
    if (test["version"] != "dev_mcore" ||
        line.find("_exclude") == std::string::npos)
      lines.push_back(line);
  return lines;
}

void expectStages(const Json &expected, const StageMap &stages) {
  using Rows = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(stages.getLayersPerStage(),
            expected["layers_per_stage"].get<Rows>());
  EXPECT_EQ(stages.getAccumulated(), expected["accumulated"].get<Rows>());
  for (int64_t layer = 0; layer < stages.getNumLayers(); ++layer) {
    auto at = static_cast<size_t>(layer);
    EXPECT_EQ(stages.getPlace(layer).stage, expected["pp_ids"][at]);
    EXPECT_EQ(stages.getPlace(layer).chunk, expected["interleave_ids"][at]);
  }
}

/// The settings of a layer in the words of the recorded effects.
Json getEffects(const LayerEffects &layer) {
  Json effects = Json::object();
  if (layer.fullRecompute)
    effects["layer_recompute"] = true;
  for (const RecomputeTarget &target : layer.recompute)
    if (!target.path.empty())
      effects[target.isCell ? "cell_recompute" : "op_recompute"][target.path] =
          target.enabled;
  for (const RecomputeTarget &target : layer.commRecompute)
    effects["op_comm_recompute"][target.path] = target.enabled;
  for (const SwapTarget &target : layer.swap) {
    if (target.path.empty())
      effects["layer_offload"] = target.prefetch;
    else if (target.isCell)
      effects["cell_offload"][target.path] = target.prefetch;
    else if (layer.getSwapSetting(target.path) == &target)
      // Not overwritten by a later pattern for the cell around it.
      effects["op_offload"][target.path] = target.prefetch;
  }
  return effects;
}

/// The recorded effects in the same words: how often a cell was set and with
/// which arguments does not matter.
Json getExpectedEffects(const Json &recorded) {
  Json effects = recorded;
  effects.erase("pipeline_stage");
  effects.erase("comm_fusion");
  if (effects.contains("layer_recompute"))
    effects["layer_recompute"] = true;
  if (effects.contains("layer_offload"))
    effects["layer_offload"] = Json(recorded["layer_offload"].back());
  if (effects.contains("cell_recompute"))
    for (auto &item : effects["cell_recompute"].items())
      item.value() = true;
  return effects;
}

void expectEffects(const Json &recorded, const LayerEffects &layer,
                   bool wantsSlice) {
  // Compared as unordered objects.
  EXPECT_EQ(nlohmann::json(getEffects(layer)),
            nlohmann::json(getExpectedEffects(recorded)));
  if (!recorded["pipeline_stage"].is_null())
    EXPECT_EQ(layer.stage, recorded["pipeline_stage"]);
  if (!recorded["comm_fusion"].is_null())
    EXPECT_EQ(layer.commFusion, recorded["comm_fusion"]);
  EXPECT_EQ(layer.sliceActivation, layer.fullRecompute && wantsSlice);
}

struct LogLine {
  std::string head;
  std::vector<std::string> items;
};

LogLine split(llvm::StringRef line) {
  auto [head, items] = line.split(": ");
  LogLine parts;
  parts.head = head.str();
  size_t at = 0;
  while ((at = parts.head.find(" on at layer")) != std::string::npos)
    parts.head.erase(at, 3);
  llvm::SmallVector<llvm::StringRef> pieces;
  // `a, value=1` is one item.
  items.split(pieces, ", ");
  for (llvm::StringRef piece : pieces) {
    if (piece.starts_with("value=") && !parts.items.empty())
      parts.items.back() += ", " + piece.str();
    else
      parts.items.push_back(piece.str());
  }
  return parts;
}

/// Ours names every match where the recorded line names the last of several:
/// the recorded items are a subsequence of ours.
void expectLine(llvm::StringRef ours, llvm::StringRef recorded) {
  LogLine left = split(ours);
  LogLine right = split(recorded);
  EXPECT_EQ(left.head, right.head);
  size_t next = 0;
  for (const std::string &item : left.items)
    if (next < right.items.size() && right.items[next] == item)
      ++next;
  EXPECT_EQ(next, right.items.size()) << ours.str() << "\n" << recorded.str();
  if (left.items.size() == right.items.size())
    EXPECT_EQ(left.items, right.items);
}

void expectLines(const Json &expected, const LayerEffects &layer) {
  std::string id = std::to_string(layer.layer);
  Json recorded = Json::array();
  for (const char *kind : {"set_lines", "set_lines_normalized"})
    if (expected.contains(kind) && expected[kind].contains(id))
      recorded = expected[kind][id];
  Json others = Json::array();
  if (expected.contains("other_lines") && expected["other_lines"].contains(id))
    others = expected["other_lines"][id];
  std::vector<std::string> set;
  std::vector<std::string> rest;
  for (const std::string &line : layer.logLines)
    (llvm::StringRef(line).starts_with("Set ") ? set : rest).push_back(line);
  EXPECT_EQ(rest, others.get<std::vector<std::string>>());
  ASSERT_EQ(set.size(), recorded.size()) << recorded.dump();
  for (size_t i = 0; i < set.size(); ++i)
    expectLine(set[i], recorded[i].get<std::string>());
}

/// Warnings about operators that are both recomputed and swapped are there
/// exactly for the layers in which there are such operators.
void expectConflicts(const CaseRun &run, const CellTree &tree) {
  std::set<int64_t> conflicting;
  for (const LayerEffects &layer : run.plan.layers)
    for (const CellTree::Entry &entry : tree.getEntries())
      if (!entry.isCell && layer.getSwapSetting(entry.path) &&
          layer.isRecomputed(entry.path))
        conflicting.insert(layer.layer);
  std::set<int64_t> warned;
  for (const Diagnostic &diagnostic : run.diagnostics.getAll()) {
    llvm::StringRef text = diagnostic.message;
    int64_t layer = 0;
    if (text.consume_front("layer ") && !text.consumeInteger(10, layer) &&
        text.contains("recompute wins"))
      warned.insert(layer);
  }
  EXPECT_EQ(warned, conflicting);
}

TEST(LayerCasesTest, AllGiveWhatWasRecorded) {
  std::map<std::string, CellTree> trees = readCellTrees();
  EXPECT_EQ(trees.size(), 28U);
  std::vector<Json> cases = readCases();
  int rejected = 0;
  int documented = 0;
  for (const Json &test : cases) {
    std::string id = test["id"];
    SCOPED_TRACE(id + " " + test["name"].get<std::string>());
    const Json &expected = test["expected"];
    CaseRun run = runCase(test, trees);
    bool isRejected =
        (expected.contains("error") || expected.contains("check_rules_error"));
    if (isRejected && !isDocumented(test)) {
      EXPECT_TRUE(run.diagnostics.hasErrors());
      ++rejected;
      continue;
    }
    documented += isRejected;
    ASSERT_FALSE(run.diagnostics.hasErrors()) << run.diagnostics.str();
    if (expected.contains("error") || id == swapIgnored.str())
      continue;
    expectStages(expected, *run.stages);
    EXPECT_EQ(getInit(test, run.plan), getExpectedInit(test));
    if (!expected.contains("effects"))
      continue;
    for (const LayerEffects &layer : run.plan.layers) {
      SCOPED_TRACE("layer " + std::to_string(layer.layer));
      expectEffects(expected["effects"][std::to_string(layer.layer)], layer,
                    run.config.recompute.recomputeSliceActivation);
      expectLines(expected, layer);
    }
    if (!test.contains("moe_from"))
      expectConflicts(run, trees.at(test["model"]));
  }
  if (std::getenv("MF_LAYER_CASES"))
    return;
  EXPECT_EQ(cases.size(), 226U);
  EXPECT_EQ(rejected, 36);
  EXPECT_EQ(documented, 9);
}

TEST(LayerCasesTest, DocumentedFormsThatTheCodeBreaksOnWork) {
  std::map<std::string, CellTree> trees = readCellTrees();
  for (const Json &test : readCases()) {
    std::string id = test["id"];
    if (id == "103") {
      CaseRun run = runCase(test, trees);
      EXPECT_EQ(run.plan.select[0].layers.repr(), "[[3, 2], [0, 3]]");
      EXPECT_EQ(run.plan.select[1].layers.repr(), "[[3, 2], [0, 3]]");
    } else if (id == "384") {
      CaseRun run = runCase(test, trees);
      EXPECT_EQ(run.plan.select[1].layers.repr(), "[[1, 1, 2, 0, 1]]");
    } else if (id == "223") {
      CaseRun run = runCase(test, trees);
      EXPECT_EQ(run.plan.select[0].layers.repr(), "[]");
      EXPECT_TRUE(run.plan.layers[0].recompute.empty());
    } else if (id == swapIgnored.str()) {
      CaseRun run = runCase(test, trees);
      EXPECT_EQ(run.plan.layers[2].getSwapPrefetch(
                    "self_attention.core_attention.flash_attention"),
                6);
    }
  }
}

} // namespace
