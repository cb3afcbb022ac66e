//===- layer_plan_test.cpp - What each layer recomputes and swaps ---------===//

#include "CellTrees.h"
#include "mf/Config/LayerPlan.h"
#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <chrono>

using namespace mf;
using testing::HasSubstr;

namespace {

struct Planned {
  DiagnosticList diagnostics;
  TrainingConfig config;
  LayerPlan plan;

  std::string log() const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    plan.printLog(stream);
    return text;
  }
  std::string table() const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    plan.printTable(stream);
    return text;
  }
};

const CellTree &getTree(const std::string &name) {
  static const std::map<std::string, CellTree> trees = readCellTrees();
  return trees.at(name);
}

Planned plan(llvm::StringRef yaml, const CellTree &tree = getTree("llama"),
             NameFamily family = NameFamily::Classic) {
  Planned planned;
  planned.config = parseTrainingConfig(yaml, "t.yaml", planned.diagnostics);
  StageMapOptions options =
      getStageMapOptions(planned.config, planned.diagnostics);
  std::optional<StageMap> stages =
      StageMap::create(options, planned.diagnostics);
  if (!stages || planned.diagnostics.hasErrors())
    return planned;
  LayerPlanInput input{planned.config.recompute,
                       planned.config.swap,
                       *stages,
                       family,
                       {},
                       planned.config.parallel.seqSplitNum,
                       planned.config.parallel.gradientAggregationGroup};
  for (int64_t layer = 0; layer < stages->getNumLayers(); ++layer)
    input.layers.push_back({layer, &tree});
  planned.plan = planLayers(input, planned.diagnostics);
  return planned;
}

/// model_config of `layers` layers and what follows.
std::string withLayers(int layers, llvm::StringRef rest) {
  return "model: {model_config: {num_layers: " + std::to_string(layers) +
         "}}\n" + rest.str();
}

// The recompute example of the public documentation on memory optimization.
const char *documentedRecompute = R"(
parallel_config: {pipeline_stage: 5}
parallel: {pipeline_config: {pipeline_interleave: True}}
model:
  model_config:
    num_layers: 48
    pp_interleave_num: 2
    offset: [[0,1,1,1,1],[1,1,1,1,0]]
recompute_config:
  recompute: [[2,1,0,0,0],[1,0,0,0,0]]
  select_recompute:
    'feed_forward\.w1\.activation\.silu': True
    'feed_forward\.mul': True
    'feed_forward\.w1\.matmul': [[1,0,0,0,0],[2,1,0,0,0]]
    'feed_forward\.w3\.matmul': [2,1,0,0,0]
  select_comm_recompute: ['ffn_norm\.norm','attention_norm\.norm']
)";

TEST(LayerPlan, the_documented_recompute_example_logs_the_documented_lines) {
  Planned planned = plan(documentedRecompute);
  EXPECT_EQ(planned.diagnostics.str(), "");
  EXPECT_THAT(planned.log(), HasSubstr("INFO - Formative layer_recompute: "
                                       "[[2, 1, 0, 0, 0], [1, 0, 0, 0, 0]]\n"));
  EXPECT_THAT(
      planned.log(),
      HasSubstr(
          "INFO - Formative select_recompute: {"
          "'feed_forward\\.w1\\.activation\\.silu': "
          "[[4, 5, 5, 5, 5], [5, 5, 5, 5, 4]], "
          "'feed_forward\\.mul': [[4, 5, 5, 5, 5], [5, 5, 5, 5, 4]], "
          "'feed_forward\\.w1\\.matmul': [[1, 0, 0, 0, 0], [2, 1, 0, 0, 0]], "
          "'feed_forward\\.w3\\.matmul': [[1, 1, 0, 0, 0], [1, 0, 0, 0, 0]]}"
          "\n"
          "INFO - Formative select_comm_recompute: {"
          "'ffn_norm\\.norm': [[4, 5, 5, 5, 5], [5, 5, 5, 5, 4]], "
          "'attention_norm\\.norm': [[4, 5, 5, 5, 5], [5, 5, 5, 5, 4]]}\n"));
  EXPECT_THAT(planned.log(),
              HasSubstr("INFO - Set full recompute at layer 0\n"
                        "INFO - Set full recompute at layer 1\n"
                        "INFO - Set select recompute on at layer 2: "
                        "feed_forward.w1.activation.silu, feed_forward.mul\n"
                        "INFO - Set select comm recompute on at layer 2: "
                        "ffn_norm.norm, attention_norm.norm\n"));
}

const char *documentedSwap = R"(
context:
  memory_optimize_level: "O0"
model:
  model_config:
    num_layers: 4
recompute_config:
  recompute: False
  select_recompute: False
  select_comm_recompute: False
swap_config:
  swap: True
)";

/// The `Set` lines of a log.
std::string getSetLines(const Planned &planned) {
  std::string text;
  for (const LayerEffects &layer : planned.plan.layers)
    for (const std::string &line : layer.logLines)
      text += "INFO - " + line + "\n";
  return text;
}

TEST(LayerPlan, documented_swap_example_1_default_policy) {
  Planned planned =
      plan(documentedSwap + std::string("  default_prefetch: 10\n"));
  EXPECT_EQ(planned.diagnostics.str(), "");
  EXPECT_EQ(
      getSetLines(planned),
      "INFO - Set op_swap at layer 0: attention.flash_attention, value=10\n"
      "INFO - Set op_swap at layer 1: attention.flash_attention, value=10\n"
      "INFO - Set op_swap at layer 2: attention.flash_attention, value=10\n"
      "INFO - Set op_swap at layer 3: attention.flash_attention, value=10\n");
}

TEST(LayerPlan, documented_swap_example_2_layers) {
  Planned planned =
      plan(documentedSwap + std::string("  layer_swap:\n"
                                        "    - backward_prefetch: 20\n"
                                        "      layers: [0,3]\n"));
  EXPECT_EQ(planned.diagnostics.str(), "");
  EXPECT_EQ(getSetLines(planned),
            "INFO - Set layer swap at layer 0 and value is: 20\n"
            "INFO - Set layer swap at layer 3 and value is: 20\n");
}

const char *documentedOpSwap = R"(  op_swap:
    - op_name: 'attention'
      backward_prefetch: 20
      layers: [0,1,2]
    - op_name: 'attention'
      backward_prefetch: 10
      layers: [3]
    - op_name: 'feed_forward'
      backward_prefetch: 15
      layers: [1,2]
)";

TEST(LayerPlan, documented_swap_example_3_operators) {
  Planned planned = plan(std::string(documentedSwap) + documentedOpSwap);
  EXPECT_EQ(planned.diagnostics.str(), "");
  EXPECT_EQ(getSetLines(planned),
            "INFO - Set op_swap at layer 0: .attention, value=20\n"
            "INFO - Set op_swap at layer 1: .attention, value=20, "
            ".feed_forward, value=15\n"
            "INFO - Set op_swap at layer 2: .attention, value=20, "
            ".feed_forward, value=15\n"
            "INFO - Set op_swap at layer 3: .attention, value=10\n");
}

TEST(LayerPlan, documented_swap_example_4_mixed_with_recompute) {
  std::string yaml = std::string(documentedSwap) + documentedOpSwap;
  std::string select = "select_recompute: False";
  yaml.replace(yaml.find(select), select.size(),
               "select_recompute:\n    'feed_forward': [0,3]");
  Planned planned = plan(yaml);
  EXPECT_EQ(planned.diagnostics.str(), "");
  EXPECT_EQ(getSetLines(planned),
            "INFO - Set select recompute at layer 0: feed_forward\n"
            "INFO - Set op_swap at layer 0: .attention, value=20\n"
            "INFO - Set op_swap at layer 1: .attention, value=20, "
            ".feed_forward, value=15\n"
            "INFO - Set op_swap at layer 2: .attention, value=20, "
            ".feed_forward, value=15\n"
            "INFO - Set select recompute at layer 3: feed_forward\n"
            "INFO - Set op_swap at layer 3: .attention, value=10\n");
}

TEST(LayerPlan, marks_of_operators_and_cells_combine) {
  Planned planned = plan(
      withLayers(1, "recompute_config:\n  select_recompute: ['attention']\n"
                    "  select_recompute_exclude: ['attention\\.wo\\.matmul']\n"
                    "  select_comm_recompute: True\n"));
  const LayerEffects &layer = planned.plan.layers[0];
  EXPECT_TRUE(layer.isRecomputed("attention.wq.matmul"));
  EXPECT_FALSE(layer.isRecomputed("attention.wo.matmul"));
  EXPECT_FALSE(layer.isRecomputed("attention_norm.norm"));
  EXPECT_EQ(layer.getCommRecompute("attention_norm.norm"), true);
  EXPECT_EQ(layer.getCommRecompute("add"), std::nullopt);
}

TEST(LayerPlan, later_swap_settings_overwrite_and_recompute_wins) {
  Planned planned = plan(
      withLayers(2, "recompute_config:\n  select_recompute: {add: [1]}\n"
                    "swap_config:\n  swap: True\n"
                    "  layer_swap: [{backward_prefetch: 3, layers: True}]\n"
                    "  op_swap:\n"
                    "    - {op_name: 'attention\\.wq', backward_prefetch: 5,"
                    " layers: True}\n"));
  const LayerEffects &layer = planned.plan.layers[1];
  EXPECT_EQ(layer.getSwapPrefetch("feed_forward.mul"), 3);
  EXPECT_EQ(layer.getSwapPrefetch("attention.wq.matmul"), 5);
  EXPECT_EQ(layer.getSwapPrefetch("add"), std::nullopt);
  EXPECT_EQ(planned.plan.layers[0].getSwapPrefetch("add"), 3);
  EXPECT_EQ(planned.diagnostics.str(),
            "t.yaml:6:16: warning: layer 1, add: swapped by layer_swap and "
            "recomputed by select_recompute 'add'; recompute wins\n"
            "t.yaml:3:22: note: recomputed by this\n");
}

TEST(LayerPlan, a_consumer_that_is_recomputed_is_named) {
  Planned planned =
      plan(withLayers(1, "recompute_config: {select_recompute: {add: [0]}}\n"
                         "swap_config: {swap: True}\n"));
  DiagnosticList diagnostics;
  warnAboutSwapConflict(planned.plan.layers[0],
                        "attention.flash_attention.flash_attention", "add",
                        diagnostics);
  EXPECT_THAT(diagnostics.str(),
              HasSubstr("swapped by op_swap '.*\\.flash_attention' and read "
                        "by add, which is recomputed by select_recompute "
                        "'add'; recompute wins"));
}

TEST(LayerPlan, a_pattern_without_a_match_suggests_names) {
  Planned planned = plan(withLayers(
      1, "recompute_config:\n  select_recompute: ['feed_foward\\.mul']\n"));
  EXPECT_THAT(planned.diagnostics.str(),
              HasSubstr("t.yaml:3:22: warning: select_recompute "
                        "'feed_foward\\.mul' matches nothing in the layers "
                        "it is for; nearest: 'feed_forward\\.mul'"));
}

TEST(LayerPlan, default_patterns_that_match_nothing_warn_once) {
  const char *yaml = "recompute_config: {select_recompute: True}\n";
  Planned planned = plan(withLayers(2, yaml), getTree("glm4(ChatGLM2Block)"));
  EXPECT_EQ(planned.diagnostics.getAll().size(), 1U);
  EXPECT_THAT(planned.diagnostics.str(), HasSubstr("name the operators"));
  EXPECT_TRUE(
      plan(withLayers(2, yaml), getTree("mcore_qwen3_dense"), NameFamily::Mcore)
          .diagnostics.empty());
}

TEST(LayerPlan, settings_that_cannot_work_are_errors) {
  auto expectError = [](llvm::StringRef body, llvm::StringRef expected) {
    Planned planned = plan(withLayers(4, body));
    EXPECT_TRUE(planned.diagnostics.hasErrors()) << body.str();
    EXPECT_THAT(planned.diagnostics.str(), HasSubstr(expected.str()));
    EXPECT_TRUE(planned.plan.layers.empty());
  };
  expectError("recompute_config: {recompute: [1, 1]}",
              "at most one value per pipeline stage (1)");
  expectError("recompute_config: {recompute: [[1], [1]]}",
              "one row per interleave (1)");
  expectError("recompute_config: {recompute: [[1, 2]]}",
              "one value per pipeline stage (1) in row 0");
  expectError("recompute_config: {recompute: [-1]}", "a number of layers");
  expectError("recompute_config: {select_recompute: ['a\\.(b']}",
              "'(b' is no regular expression");
  expectError("recompute_config: {select_recompute: ['attention\\..*']}",
              "wildcard");
  expectError("recompute_config: {select_recompute: ['(a{1000}){1000}']}",
              "repeats too often");
  expectError("recompute_config: {select_recompute: ['a(b)\\99999999999']}",
              "a number with more than 9 digits");
  expectError("parallel_config: {seq_split_num: 2}\n"
              "recompute_config: {recompute: [0]}",
              "seq_split_num");
  expectError("swap_config: {swap: True}\n"
              "recompute_config: {select_recompute: ['add']}",
              "with swap on");
}

TEST(LayerPlan, too_many_patterns_are_an_error) {
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

TEST(LayerPlan, names_with_control_characters_stay_on_their_line) {
  Planned planned = plan(withLayers(
      1, "recompute_config: {select_recompute: [\"a\\nb\\x01\"]}\n"));
  EXPECT_THAT(planned.log(),
              HasSubstr("Formative select_recompute: {'a\\nb\\x01': [[1]]}"));
}

TEST(LayerPlan, excludes_without_names_or_with_swap_have_no_effect) {
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

TEST(LayerPlan, the_models_own_marks_are_below_the_users) {
  CellTree tree = getTree("llama_noflash");
  setModelPresets(tree, /*selectRecompute=*/true, /*useFlashAttention=*/false);
  Planned planned =
      plan(withLayers(1, "recompute_config:\n  select_recompute_exclude: "
                         "['attention\\.softmax']\n"),
           tree);
  const LayerEffects &layer = planned.plan.layers[0];
  EXPECT_TRUE(layer.isRecomputed("attention_norm.cast"));
  EXPECT_FALSE(layer.isRecomputed("attention_norm.rcast"));
  EXPECT_TRUE(layer.isRecomputed("attention.batch_matmul"));
  EXPECT_TRUE(layer.isRecomputed("attention.apply_rotary_emb.mul"));
  EXPECT_FALSE(layer.isRecomputed("attention.softmax"));
}

TEST(LayerPlan, the_table_joins_equal_layers) {
  Planned planned = plan(
      "parallel_config: {pipeline_stage: 2}\n" +
      withLayers(8, "recompute_config:\n  recompute: [2, 0]\n"
                    "  select_recompute: {add: [3, 0], attention: [3, 0]}\n"));
  EXPECT_EQ(planned.table(), "layers  stage  chunk  gets\n"
                             "0-1     0      0      full recompute\n"
                             "2       0      0      recompute add, attention/\n"
                             "3       0      0      nothing\n"
                             "4-7     1      0      nothing\n");
}

TEST(LayerPlan, json_holds_the_same_facts) {
  Planned planned = plan(documentedSwap +
                         std::string("  layer_swap: "
                                     "{backward_prefetch: 2, layers: [1]}\n"));
  llvm::json::Value json = planned.plan.toJson();
  const llvm::json::Array &layers = *json.getAsObject()->getArray("layers");
  ASSERT_EQ(layers.size(), 4U);
  const llvm::json::Object &layer = *layers[1].getAsObject();
  EXPECT_EQ(layer.getInteger("layer"), 1);
  EXPECT_EQ((*layer.getArray("swap"))[0].getAsObject()->getInteger("prefetch"),
            2);
}

TEST(CellTree, prefixes_of_operators_are_cells) {
  CellTree tree =
      CellTree::fromOperators({"attention.wq.matmul", "add", "attention.mul"});
  ASSERT_NE(tree.find("attention.wq"), nullptr);
  EXPECT_TRUE(tree.find("attention")->isCell);
  EXPECT_FALSE(tree.find("add")->isCell);
  EXPECT_EQ(tree.find("attention")->children.size(), 2U);
  EXPECT_EQ(tree.find("nothing"), nullptr);
}

TEST(LayerPlan, a_96_layer_model_is_read_and_planned_in_well_under_50_ms) {
  std::string path =
      MF_TEST_DATA "/mindformers/yamls/finetune_telechat_115b.yaml";
  auto start = std::chrono::steady_clock::now();
  DiagnosticList diagnostics;
  TrainingConfig config = parseTrainingConfigFile(path, diagnostics);
  StageMap stages =
      *StageMap::create(getStageMapOptions(config, diagnostics), diagnostics);
  LayerPlanInput input{
      config.recompute, config.swap, stages, NameFamily::Classic, {}, 1, 4};
  for (int64_t layer = 0; layer < 96; ++layer)
    input.layers.push_back({layer, &getTree("telechat2")});
  LayerPlan plan = planLayers(input, diagnostics);
  std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - start;
  EXPECT_EQ(diagnostics.str(), "");
  EXPECT_EQ(plan.layers.size(), 96U);
  RecordProperty("milliseconds", std::to_string(time.count()));
  EXPECT_LT(time.count(), 50.0);
}

TEST(LayerPlan, equal_trees_are_matched_once) {
  std::string yaml = withLayers(
      96, "recompute_config:\n  select_recompute: ['feed_forward\\.mul', "
          "'.*\\..*\\.(matmul|reshape)', 'attention\\.w[qkv]\\.cast']\n"
          "  select_comm_recompute: True\n");
  std::vector<CellTree> trees(96, getTree("llama"));
  auto start = std::chrono::steady_clock::now();
  DiagnosticList diagnostics;
  TrainingConfig config = parseTrainingConfig(yaml, "t.yaml", diagnostics);
  StageMap stages =
      *StageMap::create(getStageMapOptions(config, diagnostics), diagnostics);
  LayerPlanInput input{
      config.recompute, config.swap, stages, NameFamily::Classic, {}, 1, 4};
  for (int64_t layer = 0; layer < 96; ++layer)
    input.layers.push_back({layer, &trees[static_cast<size_t>(layer)]});
  LayerPlan plan = planLayers(input, diagnostics);
  std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - start;
  EXPECT_EQ(plan.layers[95].recompute.size(), 18U);
  RecordProperty("milliseconds", std::to_string(time.count()));
  EXPECT_LT(time.count(), 50.0);
}

} // namespace
