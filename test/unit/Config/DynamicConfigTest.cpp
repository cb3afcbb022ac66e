//===- DynamicConfigTest.cpp - The YAML of the dynamic graph --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicConfigs.h"
#include "mf/Frontend/Config/BatchRules.h"
#include "mf/Frontend/Config/PipelineSchedulers.h"

using namespace mf;

namespace {

class DynamicConfigTest : public DynamicConfigs {};

using Numbers = std::vector<int64_t>;

} // namespace

TEST_F(DynamicConfigTest, PlacesLayersAutomatically) {
  DynamicYaml yaml;
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
  DynamicYaml yaml;
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
  DynamicYaml yaml;
  yaml.training = "{global_batch_size: 2}";
  yaml.model = makeModel(10);
  expectRefusals(2, yaml, R"(
parallelism: {pipeline_parallel: 2, pipeline_parallel_layers_per_stage: ['0-4']} => The length of 'pipeline_parallel_layers_per_stage' (1) must equal 'pipeline_parallel' (2), but got 1 entries for 2 PP ranks
parallelism: {pipeline_parallel: 2, pipeline_parallel_layers_per_stage: ['0-4', '5,6-9']} => PP rank 1 has 2 chunk(s) in
parallelism: {pipeline_parallel: 2, pipeline_parallel_layers_per_stage: ['0-4', '5-9-10']} => Invalid layer range format: 5-9-10; expected format is 'start-end' or 'single_layer'
parallelism: {pipeline_parallel: 2, pipeline_parallel_layers_per_stage: ['0-x', '5-9']} => layer IDs must be integers, got '0' and 'x'
parallelism: {pipeline_parallel: 2, pipeline_parallel_layers_per_stage: ['4-0', '5-9']} => layer_start must be less than or equal
parallelism: {pipeline_parallel: 2, pipeline_parallel_layers_per_stage: ['0-3', '5-9']} => to begin with layer 4, but it has 5-9
parallelism: {pipeline_parallel: 2, pipeline_parallel_layers_per_stage: ['0-4', '5-8']} => has layers up to 8, but the model has 10
parallelism: {pipeline_parallel: 2, pipeline_parallel_layers_per_stage: [[0, 4], [5, 9]]} => expected a string such as '0-3'
parallelism: {pipeline_parallel: 2, pipeline_parallel_layers_per_stage: null} => expected 'auto' or a list of strings
)");
  yaml.model = makeModel(9);
  expectRefusals(2, yaml,
                 "parallelism: {pipeline_parallel: 2} => Number of "
                 "layers (9) is not divisible by total stages (2); "
                 "configure the model distribution via "
                 "'pipeline_parallel_layers_per_stage'");
}

TEST_F(DynamicConfigTest, CountsMicroBatchesDownwards) {
  DynamicYaml yaml;
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
  expectRefusals(16, yaml, R"(
training: {local_batch_size: 2, global_batch_size: 7} => The product of data_parallel and local_batch_size exceeds global_batch_size, data_parallel 4 * local_batch_size 2 > 7; raise it to a multiple of 8 or start fewer ranks
training: {local_batch_size: 0} => training.local_batch_size in config must be positive
)");
}

TEST_F(DynamicConfigTest, TellsHowTheBatchGrows) {
  DynamicYaml yaml;
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
  expectRefusals(8, yaml, R"(
training: {global_batch_size: 32, rampup_batch_size: [16, 5, 200]} => (global_batch_size - start_global_batch_size)=16 must be divisible by batch_size_increment=5.
)");
}

TEST_F(DynamicConfigTest, SharesExpertsOut) {
  DynamicYaml yaml;
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
  expectRefusals(4, yaml,
                 "parallelism: {expert_parallel: 3} => Invalid "
                 "expert_parallel: ep(3) must divide dp_shard(4) * "
                 "cp(1) * tp(1) = 4");
  expectRefusals(6, yaml,
                 "parallelism: {tensor_parallel: 4, "
                 "sequence_parallel: True} => Invalid parallel dims: ");
}

TEST_F(DynamicConfigTest, ChecksTypesAsTheTrainerDoes) {
  DynamicYaml yaml;
  yaml.model = makeModel(4);
  expectRefusals(1, yaml, R"(
parallelism: {tensor_parallel: x} => Expected int for 'ParallelismConfig.tensor_parallel', got str (x)
parallelism: {tensor_parallel: True} => Expected int for 'ParallelismConfig.tensor_parallel', got bool (True)
parallelism: {tensor_parallel: null} => Field 'ParallelismConfig.tensor_parallel' cannot be None
parallelism: {tensor_paralel: 1} => Unknown configuration keys for ParallelismConfig: ['tensor_paralel']
optimizer: {eps: 1e-8} => Expected float for 'OptimizerConfig.eps', got str (1e-8)
optimizer: {type: Lion} => Optimizer type Lion is not implemented yet; expected AdamW or Muon
parallelism: {tensor_parallel: 2} => PyNative tensor parallelism requires sequence_parallel=True when tensor_parallel > 1, but got tensor_parallel=2
)");
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

TEST_F(DynamicConfigTest, ReadsPiecesOfTheLoss) {
  DynamicYaml yaml;
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
  DynamicYaml yaml;
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
