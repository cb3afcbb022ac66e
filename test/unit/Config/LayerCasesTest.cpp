//===- LayerCasesTest.cpp - The 226 recorded configurations ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every case of layer_setting_cases.jsonl, written as a YAML and read by us:
// the stage map, the normalised tables, each layer's effects and log lines
// are those recorded, or the configuration is rejected as it was.
//
//===----------------------------------------------------------------------===//

#include "LayerPlans.h"
#include "lib/Frontend/Config/NodeBuilder.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "llvm/ADT/StringExtras.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

using namespace mf;

namespace {

/// Rejected there, accepted here, because the public documentation describes
/// the form and only the code breaks on it: a two-dimensional select_recompute
/// for the default patterns, and bools in a map with swap on.
bool isDocumented(const Node &test) {
  bool isSwapOn = test["swap_config"]["swap"].getBool().value_or(false);
  for (const char *key : {"select_recompute", "select_comm_recompute"}) {
    Node setting = test["recompute_config"][key];
    for (const Node::Entry &entry : setting.getEntries())
      if (isSwapOn && entry.value.isBool())
        return true;
    for (const Node &item : setting.getElements())
      if (!isSwapOn && item.isList())
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
  ResolvedLayers resolved;
  LayerPlan plan;
};

/// JSON is YAML, whose reader keeps the order of keys.
std::vector<Node> readCases() {
  std::vector<Node> cases;
  DiagnosticList diagnostics;
  // MF_LAYER_CASES names another file of such cases.
  const char *other = std::getenv("MF_LAYER_CASES");
  std::ifstream file(
      other ? other : MF_TEST_DATA "/mindformers/layer_setting_cases.jsonl");
  for (std::string line; std::getline(file, line);)
    cases.push_back(parseYaml(line, "case.yaml", diagnostics));
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.str();
  return cases;
}

/// The YAML of a case.
Node makeYaml(const Node &test) {
  NodeBuilder root(test);
  root.set("parallel_config.pipeline_stage", test["pp"]);
  for (const char *key : {"gradient_aggregation_group", "micro_batch_num"})
    root.set(std::string("parallel_config.") + key, test[key]);
  root.set("model.model_config.pp_interleave_num", test["interleave"]);
  for (const char *key :
       {"num_layers", "offset", "start_stage", "stage_num", "mtp_depth"})
    root.set(std::string("model.model_config.") + key, test[key]);
  bool interleave = test["pipeline_interleave"].getBool().value_or(
      *test["interleave"].getInt() > 1);
  root.set("parallel.pipeline_config.pipeline_interleave",
           interleave ? "True" : "False", test);
  root.set("recompute_config", test["recompute_config"]);
  if (!test["swap_config"].isUndefinedOrNull())
    root.set("swap_config", test["swap_config"]);
  return root.build();
}

bool hasMcoreNames(const Node &test) {
  return test["version"].getText().contains("mcore");
}

CaseRun runCase(const Node &test,
                const std::map<std::string, CellTree> &trees) {
  CaseRun run;
  run.config = readTrainingConfig(makeYaml(test), run.diagnostics);
  StageMapOptions options = getStageMapOptions(run.config, run.diagnostics);
  if (run.diagnostics.hasErrors())
    return run;
  run.stages = StageMap::create(options, run.diagnostics);
  if (!run.stages)
    return run;
  auto getTree = [&](int64_t layer) -> const CellTree & {
    std::optional<int64_t> first = test["moe_from"].getInt();
    const char *model = first && layer >= *first ? "moe_model" : "model";
    return trees.at(test[model].getText().str());
  };
  run.plan = planAll(
      run.config, *run.stages,
      getFamily(hasMcoreNames(test) ? ModelFamily::Mcore : ModelFamily::Llama)
          .selection,
      getTree, run.resolved, run.diagnostics);
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

std::vector<std::string> getTexts(const Node &list) {
  std::vector<std::string> texts;
  for (const Node &item : list.getElements())
    texts.push_back(item.getText().str());
  return texts;
}

std::vector<std::string> getExpectedInit(const Node &test) {
  std::vector<std::string> lines = getTexts(test["expected"]["init_log"]);
  for (std::string &line : lines)
    line = normalizeLine(std::move(line));
  return lines;
}

std::vector<std::string> getInit(const Node &test,
                                 const ResolvedLayers &resolved) {
  std::vector<std::string> lines;
  for (const std::string &line : resolved.initLines)
    // dev_mcore is older than the excludes.
    if (test["version"].getText() != "dev_mcore" ||
        line.find("_exclude") == std::string::npos)
      lines.push_back(line);
  return lines;
}

std::vector<int64_t> getNumbers(const Node &list) {
  std::vector<int64_t> numbers;
  for (const Node &item : list.getElements())
    numbers.push_back(*item.getInt());
  return numbers;
}

std::vector<std::vector<int64_t>> getRows(const Node &table) {
  std::vector<std::vector<int64_t>> rows;
  for (const Node &row : table.getElements())
    rows.push_back(getNumbers(row));
  return rows;
}

void expectStages(const Node &expected, const StageMap &stages) {
  EXPECT_EQ(stages.getLayersPerStage(), getRows(expected["layers_per_stage"]));
  EXPECT_EQ(stages.getAccumulated(), getRows(expected["accumulated"]));
  std::vector<int64_t> stageOfLayer = getNumbers(expected["pp_ids"]);
  std::vector<int64_t> chunkOfLayer = getNumbers(expected["interleave_ids"]);
  for (int64_t layer = 0; layer < stages.getNumLayers(); ++layer) {
    auto at = static_cast<size_t>(layer);
    EXPECT_EQ(stages.getPlace(layer).stage, stageOfLayer.at(at));
    EXPECT_EQ(stages.getPlace(layer).chunk, chunkOfLayer.at(at));
  }
}

/// The settings of a layer by the names of recorded effects. Each is a number
/// or a flag, of the whole layer (an empty path) or of what a path names.
using Effects = std::map<std::string, std::map<std::string, int64_t>>;

Effects getEffects(const LayerEffects &layer) {
  Effects effects;
  if (layer.fullRecompute)
    effects["layer_recompute"][""] = true;
  for (const RecomputeTarget &target : layer.recompute)
    if (!target.path.empty())
      effects[target.isCell ? "cell_recompute" : "op_recompute"][target.path] =
          target.enabled;
  for (const RecomputeTarget &target : layer.commRecompute)
    effects["op_comm_recompute"][target.path] = target.enabled;
  for (const SwapTarget &target : layer.swap) {
    if (target.path.empty())
      effects["layer_offload"][""] = target.prefetch;
    else if (target.isCell)
      effects["cell_offload"][target.path] = target.prefetch;
    else if (layer.getSwapSetting(target.path) == &target)
      // Not overwritten by a later pattern for the cell around it.
      effects["op_offload"][target.path] = target.prefetch;
  }
  return effects;
}

/// How often a cell was set and with which arguments does not matter.
Effects getExpectedEffects(const Node &recorded) {
  Effects effects;
  for (const auto &[key, value] : recorded.getEntries()) {
    std::string name = key.getText().str();
    if (name == "layer_recompute")
      effects[name][""] = true;
    else if (name == "layer_offload")
      effects[name][""] = value.getElements().back().getInt().value_or(-1);
    for (const auto &[path, setting] : value.getEntries())
      effects[name][path.getText().str()] =
          name == "cell_recompute" || setting.getBool().value_or(false)
              ? 1
              : setting.getInt().value_or(0);
  }
  return effects;
}

void expectEffects(const Node &recorded, const LayerEffects &layer,
                   bool wantsSlice) {
  EXPECT_EQ(getEffects(layer), getExpectedEffects(recorded));
  if (std::optional<int64_t> stage = recorded["pipeline_stage"].getInt())
    EXPECT_EQ(layer.stage, *stage);
  if (std::optional<int64_t> fusion = recorded["comm_fusion"].getInt())
    EXPECT_EQ(layer.commFusion, *fusion);
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

void expectLines(const Node &expected, const LayerEffects &layer) {
  std::string id = std::to_string(layer.layer);
  std::vector<std::string> recorded;
  for (const char *kind : {"set_lines", "set_lines_normalized"})
    if (Node lines = expected[kind][id])
      recorded = getTexts(lines);
  std::vector<std::string> set;
  std::vector<std::string> rest;
  for (const std::string &line : layer.logLines)
    (llvm::StringRef(line).starts_with("Set ") ? set : rest).push_back(line);
  EXPECT_EQ(rest, getTexts(expected["other_lines"][id]));
  ASSERT_EQ(set.size(), recorded.size()) << llvm::join(recorded, "\n");
  for (size_t i = 0; i < set.size(); ++i)
    expectLine(set[i], recorded[i]);
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
    int64_t layer = 0, last = 0;
    if (!text.contains("recompute wins") ||
        !(text.consume_front("layer ") || text.consume_front("layers ")))
      continue;
    // One layer, a list, or a range.
    while (!text.consumeInteger(10, layer)) {
      last = layer;
      if (text.consume_front(" to "))
        text.consumeInteger(10, last);
      for (; layer <= last; ++layer)
        warned.insert(layer);
      if (!text.consume_front(", "))
        break;
    }
  }
  EXPECT_EQ(warned, conflicting);
}

TEST(LayerCasesTest, AllGiveWhatWasRecorded) {
  std::map<std::string, CellTree> trees = readCellTrees();
  EXPECT_EQ(trees.size(), 28U);
  std::vector<Node> cases = readCases();
  int rejected = 0;
  int documented = 0;
  for (const Node &test : cases) {
    std::string id = test["id"].getText().str();
    SCOPED_TRACE(id + " " + test["name"].getText().str());
    Node expected = test["expected"];
    CaseRun run = runCase(test, trees);
    // Later releases refuse mini stages without layers.
    bool isRejected = expected["error"] || expected["check_rules_error"] ||
                      test["expected_master_legacy"]["error"];
    if (isRejected && !isDocumented(test)) {
      EXPECT_TRUE(run.diagnostics.hasErrors());
      ++rejected;
      continue;
    }
    documented += isRejected;
    ASSERT_FALSE(run.diagnostics.hasErrors()) << run.diagnostics.str();
    if (expected["error"] || id == swapIgnored.str())
      continue;
    expectStages(expected, *run.stages);
    EXPECT_EQ(getInit(test, run.resolved), getExpectedInit(test));
    if (!expected["effects"])
      continue;
    for (const LayerEffects &layer : run.plan.layers) {
      SCOPED_TRACE("layer " + std::to_string(layer.layer));
      expectEffects(expected["effects"][std::to_string(layer.layer)], layer,
                    run.config.recompute.recomputeSliceActivation);
      expectLines(expected, layer);
    }
    if (!test["moe_from"])
      expectConflicts(run, trees.at(test["model"].getText().str()));
  }
  if (std::getenv("MF_LAYER_CASES"))
    return;
  EXPECT_EQ(cases.size(), 226U);
  EXPECT_EQ(rejected, 38);
  EXPECT_EQ(documented, 9);
}

TEST(LayerCasesTest, DocumentedFormsThatTheCodeBreaksOnWork) {
  std::map<std::string, CellTree> trees = readCellTrees();
  for (const Node &test : readCases()) {
    std::string id = test["id"].getText().str();
    if (id == "103") {
      CaseRun run = runCase(test, trees);
      EXPECT_EQ(run.resolved.patterns[0].layers.repr(), "[[3, 2], [0, 3]]");
      EXPECT_EQ(run.resolved.patterns[1].layers.repr(), "[[3, 2], [0, 3]]");
    } else if (id == "384") {
      CaseRun run = runCase(test, trees);
      EXPECT_EQ(run.resolved.patterns[1].layers.repr(), "[[1, 1, 2, 0, 1]]");
    } else if (id == "223") {
      CaseRun run = runCase(test, trees);
      EXPECT_EQ(run.resolved.patterns[0].layers.repr(), "[]");
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
