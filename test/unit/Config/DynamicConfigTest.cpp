//===- DynamicConfigTest.cpp - The YAML of the dynamic graph --------------===//

#include "mf/Frontend/Config/BatchRules.h"
#include "mf/Frontend/Config/LayerPlan.h"
#include "mf/Frontend/Config/PipelineRules.h"
#include "mf/Frontend/Config/SettingEdit.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace mf;

namespace {

/// A document with few words: sections that a test does not give are these.
struct Sections {
  std::string training = "{}";
  std::string parallelism = "{}";
  std::string model = "{}";
  std::string rest;

  std::string print() const {
    return "training: " + training + "\nparallelism: " + parallelism +
           "\nlr_scheduler: {type: ConstantWarmUpLR, warmup_ratio: 0}\n"
           "train_dataset: {dataloader: {type: MindDataset}}\n"
           "model: " +
           model + "\n" + rest;
  }
};

/// Reads for a number of ranks; 0 leaves it to the YAML.
class DynamicConfigTest : public testing::Test {
protected:
  ~DynamicConfigTest() override { unsetenv("RANK_SIZE"); }

  TrainingConfig read(const std::string &yaml, int ranks) {
    if (ranks > 0)
      setenv("RANK_SIZE", std::to_string(ranks).c_str(), /*replace=*/1);
    else
      unsetenv("RANK_SIZE");
    messages = DiagnosticList();
    return parseTrainingConfig(yaml, "t.yaml", messages);
  }

  static std::string makeModel(int64_t layers, llvm::StringRef more = "") {
    return "{model_type: deepseek_v3, architectures: DeepseekV3ForCausalLM, "
           "hidden_dropout: 0.0, attention_dropout: 0.0, num_hidden_layers: " +
           std::to_string(layers) +
           ", num_nextn_predict_layers: 0, n_routed_experts: 8" + more.str() +
           "}";
  }

  std::optional<StageMap> place(const TrainingConfig &config) {
    return StageMap::create(getStageMapOptions(config, messages), messages);
  }

  /// Whether one message has this text.
  bool says(llvm::StringRef text) const {
    return llvm::any_of(messages.getAll(), [&](const Diagnostic &message) {
      return llvm::StringRef(message.message).contains(text);
    });
  }

  DiagnosticList messages;
};

using Numbers = std::vector<int64_t>;

} // namespace

TEST_F(DynamicConfigTest, PlacesLayersAutomatically) {
  Sections yaml;
  yaml.training = "{global_batch_size: 2}";
  yaml.parallelism =
      "{pipeline_parallel: 2, pipeline_parallel_interleave_num: 2}";
  yaml.model = makeModel(16);
  const TrainingConfig plain = read(yaml.print(), 2);
  std::optional<StageMap> map = place(plain);
  ASSERT_TRUE(map) << messages.str();
  EXPECT_EQ(map->getLayers(0, 0), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(map->getLayers(0, 1), (Numbers{8, 9, 10, 11}));
  EXPECT_EQ(map->getLayers(1, 0), (Numbers{4, 5, 6, 7}));
  EXPECT_EQ(map->getLayers(1, 1), (Numbers{12, 13, 14, 15}));
  // A layer that predicts later tokens is on the last stage, and is no layer
  // of those that are dealt out.
  yaml.model = "{model_type: deepseek_v3, num_hidden_layers: 16, "
               "architectures: DeepseekV3ForCausalLM}";
  const TrainingConfig deeper = read(yaml.print(), 2);
  map = place(deeper);
  ASSERT_TRUE(map) << messages.str();
  EXPECT_EQ(map->getLayers(1, 1), (Numbers{12, 13, 14, 15, 16}));
  EXPECT_EQ(map->getLayers(0, 1), (Numbers{8, 9, 10, 11}));
}

TEST_F(DynamicConfigTest, PlacesLayersByLists) {
  Sections yaml;
  yaml.training = "{global_batch_size: 2}";
  yaml.parallelism =
      "{pipeline_parallel: 2, pipeline_parallel_interleave_num: 2, "
      "pipeline_parallel_layers_per_stage: ['0-1, 4-8', '2-3, 9']}";
  yaml.model = makeModel(10);
  const TrainingConfig config = read(yaml.print(), 2);
  std::optional<StageMap> map = place(config);
  ASSERT_TRUE(map) << messages.str();
  EXPECT_EQ(map->getLayers(0, 0), (Numbers{0, 1}));
  EXPECT_EQ(map->getLayers(1, 0), (Numbers{2, 3}));
  EXPECT_EQ(map->getLayers(0, 1), (Numbers{4, 5, 6, 7, 8}));
  EXPECT_EQ(map->getLayers(1, 1), (Numbers{9}));
}

TEST_F(DynamicConfigTest, RefusesLayersOfStages) {
  Sections yaml;
  yaml.training = "{global_batch_size: 2}";
  yaml.model = makeModel(10);
  auto refuse = [&](const std::string &value, llvm::StringRef text) {
    yaml.parallelism = "{pipeline_parallel: 2, "
                       "pipeline_parallel_layers_per_stage: " +
                       value + "}";
    read(yaml.print(), 2);
    EXPECT_TRUE(says(text)) << messages.str();
    EXPECT_TRUE(messages.hasErrors());
  };
  refuse("['0-4']", "The length of 'pipeline_parallel_layers_per_stage' (1) "
                    "must equal 'pipeline_parallel' (2), but got 1 entries "
                    "for 2 PP ranks");
  refuse("['0-4', '5,6-9']", "PP rank 1 has 2 chunk(s) in");
  refuse("['0-4', '5-9-10']", "Invalid layer range format: 5-9-10; expected "
                              "format is 'start-end' or 'single_layer'");
  refuse("['0-x', '5-9']", "layer IDs must be integers, got '0' and 'x'");
  refuse("['4-0', '5-9']", "layer_start must be less than or equal");
  refuse("['0-3', '5-9']", "to begin with layer 4, but it has 5-9");
  refuse("['0-4', '5-8']", "has layers up to 8, but the model has 10");
  refuse("[[0, 4], [5, 9]]", "expected a string such as '0-3'");
  refuse("null", "expected 'auto' or a list of strings");
  yaml.model = makeModel(9);
  refuse("auto", "Number of layers (9) is not divisible by total stages (2); "
                 "configure the model distribution via "
                 "'pipeline_parallel_layers_per_stage'");
}

TEST_F(DynamicConfigTest, CountsMicroBatchesDownwards) {
  Sections yaml;
  yaml.training = "{local_batch_size: 2, global_batch_size: 42}";
  yaml.parallelism = "{tensor_parallel: 2, sequence_parallel: True, "
                     "pipeline_parallel: 2, data_parallel_shard: 2}";
  yaml.model = makeModel(4);
  const TrainingConfig config = read(yaml.print(), 16);
  ASSERT_FALSE(messages.hasErrors()) << messages.str();
  EXPECT_EQ(config.parallel.dataParallel, 4);
  ASSERT_TRUE(config.parallel.fullySharded);
  EXPECT_EQ(config.parallel.fullySharded->replicate, 2);
  EXPECT_EQ(config.parallel.fullySharded->shard, 2);
  EXPECT_EQ(resolveBatch(config, std::nullopt, messages).getPasses(), 5);
  EXPECT_TRUE(says("2 of the 42 samples of global_batch_size are dropped"));
  EXPECT_FALSE(config.parallel.fullySharded->dividesGradients);
  yaml.parallelism.insert(1, "disable_gradient_division: False, ");
  EXPECT_TRUE(read(yaml.print(), 16).parallel.fullySharded->dividesGradients);
  yaml.training = "{local_batch_size: 2, global_batch_size: 7}";
  read(yaml.print(), 16);
  EXPECT_TRUE(says("The product of data_parallel and local_batch_size exceeds "
                   "global_batch_size, data_parallel 4 * local_batch_size 2 > "
                   "7; raise it to a multiple of 8 or start fewer ranks"));
  yaml.training = "{local_batch_size: 0}";
  read(yaml.print(), 16);
  EXPECT_TRUE(says("training.local_batch_size in config must be positive"));
}

TEST_F(DynamicConfigTest, TellsHowTheBatchGrows) {
  Sections yaml;
  yaml.training = "{global_batch_size: 32, rampup_batch_size: [16, 4, 200]}";
  yaml.parallelism = "{tensor_parallel: 2, sequence_parallel: True, "
                     "pipeline_parallel: 2, data_parallel_shard: 2, "
                     "pipeline_parallel_interleave_num: 2}";
  yaml.model = makeModel(16);
  read(yaml.print(), 8);
  EXPECT_TRUE(says("16 (8 micro-batches) for 4 steps, 20 (10 micro-batches) "
                   "for 2 steps, 24 (12 micro-batches) for 2 steps, 28 (14 "
                   "micro-batches) for 2 steps, 32 (16 micro-batches)"))
      << messages.str();
  yaml.training = "{global_batch_size: 32, rampup_batch_size: [16, 5, 200]}";
  read(yaml.print(), 8);
  EXPECT_TRUE(says("(global_batch_size - start_global_batch_size)=16 must be "
                   "divisible by batch_size_increment=5."));
}

TEST_F(DynamicConfigTest, SharesExpertsOut) {
  Sections yaml;
  yaml.training = "{global_batch_size: 512}";
  auto readFor = [&](int ranks, const std::string &shard) {
    yaml.parallelism =
        "{expert_parallel: 32, data_parallel_shard: " + shard + "}";
    yaml.model = "{model_type: deepseek_v3, num_hidden_layers: 4, "
                 "architectures: DeepseekV3ForCausalLM, n_routed_experts: "
                 "256}";
    read(yaml.print(), ranks);
  };
  readFor(256, "-1");
  EXPECT_FALSE(messages.hasErrors()) << messages.str();
  readFor(512, "-1");
  EXPECT_TRUE(says("Uneven sharding on dim 0 not supported"));
  readFor(512, "256");
  EXPECT_FALSE(messages.hasErrors()) << messages.str();
  yaml.parallelism = "{expert_parallel: 3}";
  read(yaml.print(), 4);
  EXPECT_TRUE(says("Invalid expert_parallel: ep(3) must divide dp_shard(4) * "
                   "cp(1) * tp(1) = 4"));
  yaml.parallelism = "{tensor_parallel: 4, sequence_parallel: True}";
  read(yaml.print(), 6);
  EXPECT_TRUE(says("Invalid parallel dims: "));
}

TEST_F(DynamicConfigTest, ReadsLayersToRecompute) {
  Sections yaml;
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

TEST_F(DynamicConfigTest, ReadsLayersToSwap) {
  Sections yaml;
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

TEST_F(DynamicConfigTest, ChecksTypesAsTheTrainerDoes) {
  auto refuse = [&](const Sections &yaml, llvm::StringRef text) {
    read(yaml.print(), 1);
    EXPECT_TRUE(says(text)) << messages.str();
    EXPECT_TRUE(messages.hasErrors());
  };
  Sections yaml;
  yaml.model = makeModel(4);
  yaml.parallelism = "{tensor_parallel: x}";
  refuse(yaml, "Expected int for 'ParallelismConfig.tensor_parallel', got str "
               "(x)");
  yaml.parallelism = "{tensor_parallel: True}";
  refuse(yaml, "Expected int for 'ParallelismConfig.tensor_parallel', got bool "
               "(True)");
  yaml.parallelism = "{tensor_parallel: null}";
  refuse(yaml, "Field 'ParallelismConfig.tensor_parallel' cannot be None");
  yaml.parallelism = "{tensor_paralel: 1}";
  refuse(yaml, "Unknown configuration keys for ParallelismConfig: "
               "['tensor_paralel']");
  yaml.parallelism = "{}";
  yaml.rest = "optimizer: {eps: 1e-8}\n";
  refuse(yaml, "Expected float for 'OptimizerConfig.eps', got str (1e-8)");
  yaml.rest = "optimizer: {type: Lion}\n";
  refuse(yaml, "Optimizer type Lion is not implemented yet; expected AdamW or "
               "Muon");
  yaml.rest = "";
  yaml.parallelism = "{tensor_parallel: 2}";
  refuse(yaml, "PyNative tensor parallelism requires sequence_parallel=True "
               "when tensor_parallel > 1, but got tensor_parallel=2");
  yaml.parallelism = "{pipeline_parallel_microbatch_size: 4}";
  read(yaml.print(), 1);
  EXPECT_TRUE(says("the trainer overwrites it"));
  EXPECT_FALSE(messages.hasErrors()) << messages.str();
}

TEST_F(DynamicConfigTest, TellsTheFormatsApart) {
  read("training: {}\nrunner_config: {}\n", 0);
  EXPECT_EQ(messages.getErrorCount(), 1U) << messages.str();
  EXPECT_TRUE(says("expected the sections of one of them"));
  read("runner_config: {}\noptimizer: {type: AdamW}\n", 0);
  EXPECT_FALSE(messages.hasErrors());
}

TEST_F(DynamicConfigTest, WritesLayersWithAllElseKept) {
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
                  .contains("has no words for collectives to recompute"));
}

TEST_F(DynamicConfigTest, WritesModulesAndSwap) {
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

TEST_F(DynamicConfigTest, ChangesNoAliasOfASetting) {
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

TEST_F(DynamicConfigTest, ReadsPiecesOfTheLoss) {
  Sections yaml;
  auto make = [](const std::string &keys) {
    std::string model = makeModel(4);
    return model.insert(model.rfind('}'), ", " + keys);
  };
  yaml.model = make("chunk_loss_num: 4");
  EXPECT_EQ(read(yaml.print(), 1).chunkLossNum, 4);
  EXPECT_FALSE(messages.hasErrors()) << messages.str();
  yaml.model = make("chunk_loss_num: 4, calculate_per_token_loss: True");
  read(yaml.print(), 1);
  EXPECT_TRUE(says("For chunk_loss_num > 1, calculate_per_token_loss is not "
                   "supported"));
  yaml.model = make("chunk_loss_num: 0");
  read(yaml.print(), 1);
  EXPECT_TRUE(says("expected a whole number of at least 1"));
}

TEST_F(DynamicConfigTest, ReadsMuon) {
  Sections yaml;
  yaml.model = makeModel(4);
  yaml.rest = "optimizer: {type: Muon, weight_decay: 0.1, ns_steps: 8, "
              "ns_coefficients: [[[3.4445, -4.7750, 2.0315], 8], [[2.0, -1.5, "
              "0.5], 2]], adamw_betas: [0.9, 0.95], qk_clip_enabled: False, "
              "weight_decay_include: ['*.bias'], weight_decay_exclude: "
              "[router, lm_head]}\n";
  const TrainingConfig config = read(yaml.print(), 1);
  ASSERT_FALSE(messages.hasErrors()) << messages.str();
  ASSERT_TRUE(config.optimizer.muon);
  EXPECT_EQ(config.optimizer.muon->coefficients.size(), 10U);
  EXPECT_EQ(config.optimizer.decayInclude,
            std::vector<std::string>({"*.bias"}));
  EXPECT_EQ(config.optimizer.decayExclude,
            std::vector<std::string>({"router", "lm_head"}));
  EXPECT_EQ(config.optimizer.muon->eps, 1e-8);
  EXPECT_FALSE(config.optimizer.muon->logitThreshold);
  EXPECT_EQ(config.optimizer.muon->adamwInclude,
            (std::vector<std::string>{"*word_embeddings*", "*output_layer*"}));
  EXPECT_EQ(config.optimizer.beta2, 0.95);
  yaml.rest = "optimizer: {type: Muon}\n";
  EXPECT_EQ(read(yaml.print(), 1).optimizer.muon->logitThreshold, 100.0);
  yaml.rest = "optimizer: {type: Muon, qk_clip_threshold: 30.0}\n";
  EXPECT_EQ(read(yaml.print(), 1).optimizer.muon->logitThreshold, 30.0);
  EXPECT_FALSE(messages.hasErrors()) << messages.str();
  yaml.model = "{model_type: qwen3, architectures: Qwen3ForCausalLM}";
  read(yaml.print(), 1);
  EXPECT_TRUE(says("only supports models with Multi-Latent Attention"));
}
