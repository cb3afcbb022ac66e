//===- LayoutBoundsTest.cpp - What is known before a plan is a bound ------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/LayoutPlanner.h"
#include "mf/Decode/TargetFile.h"
#include "test/unit/Campaign.h"
#include "gtest/gtest.h"
#include <random>

using namespace mf;
using namespace mf::planner;

namespace {

constexpr char head[] = R"(
use_parallel: True
trainer: {model_name: small}
runner_config: {batch_size: 1}
runner_wrapper: {type: MFTrainOneStepCell, scale_sense: 1.0}
optimizer: {type: AdamW}
lr_schedule: {type: ConstantWarmUpLR, learning_rate: 1.e-3}
parallel: {parallel_mode: 1, full_batch: True, enable_parallel_optimizer: True}
parallel_config: {data_parallel: 4, micro_batch_num: 1}
context: {max_device_memory: 1GB}
)";

constexpr char dense[] = R"(
model:
  model_config:
    {type: LlamaConfig, seq_length: 256, hidden_size: 256, num_layers: 8, num_heads: 8,
     vocab_size: 512, intermediate_size: 512, compute_dtype: bfloat16,
     param_init_type: float32, use_flash_attention: True}
  arch: {type: LlamaForCausalLM}
)";

constexpr char experts[] = R"(
moe_config:
  expert_num: 8
  num_experts_chosen: 2
  use_gmm: True
  use_gating_sigmoid: True
  shared_expert_num: 1
  first_k_dense_replace: 1
model:
  model_config:
    {type: LlamaConfig, seq_length: 128, hidden_size: 128, num_layers: 8, num_heads: 4,
     vocab_size: 512, intermediate_size: 256, compute_dtype: bfloat16,
     param_init_type: float32, use_flash_attention: True}
  arch: {type: LlamaForCausalLM}
)";

struct Case {
  PlanRequest request;
  LayoutBounds bounds;
  std::vector<ModelLayer> layers;

  explicit Case(const char *model) {
    request.yaml = std::string(head) + model + "callbacks: []\n";
    request.input.fileName = "train.yaml";
    mlir::MLIRContext context;
    request.target = *target::readTarget("atlas-800t-a2", context);
    auto found = readLayers(request.input, request.yaml);
    EXPECT_TRUE(static_cast<bool>(found)) << toString(found.takeError());
    layers = std::move(*found);
    // Two samples for each of sixteen devices.
    auto read = readLayoutBounds(request, 16);
    EXPECT_TRUE(static_cast<bool>(read)) << toString(read.takeError());
    bounds = std::move(*read);
    bounds.rules.samples = 32;
    bounds.rules.layers = static_cast<int64_t>(layers.size());
  }
};

/// What was known of a layout before it was planned, and the plan's seconds; 0
/// if there is none.
struct Course {
  std::vector<double> bounds;
  double seconds = 0;
  std::string error;
};

Course plan(const LayoutSetting &setting, const DeviceLayout &layout) {
  Course course;
  LayerClass layerClass;
  LayoutPlanner planner(setting, layout, /*recomputeTasks=*/false, layerClass);
  llvm::Error error = planner.checkBytes();
  while (!error && !planner.isPlanned()) {
    if (!planner.getEstimate())
      course.bounds.push_back(planner.getExpectedSeconds(planner.getFlops()));
    error = planner.advance(/*cutoff=*/0);
  }
  if (error)
    course.error = toString(std::move(error));
  else
    course.seconds = planner.getBest()->measure.seconds;
  return course;
}

} // namespace

/// No plan is shorter than what was known before it, and no layout that shallow
/// models exclude has a plan.
TEST(LayoutBoundsTest, ArePlansNeverBelow) {
  std::mt19937 random(static_cast<uint32_t>(getCampaignSeed(7)));
  const Case cases[] = {Case(dense), Case(experts)};
  size_t planned = 0, refused = 0;
  double tightness = 0;
  for (uint64_t draw = 0; draw < getCampaignCount(10); ++draw) {
    const Case &each = cases[draw % 2];
    const std::vector<DeviceLayout> layouts = listLayouts(each.bounds.rules);
    const DeviceLayout &layout = layouts[random() % layouts.size()];
    const int64_t limit = (int64_t(1) << 20) * (8 + random() % 120);
    LayoutSetting setting{each.request, each.bounds, each.layers, limit, 2};
    SCOPED_TRACE(layout.describe() + ", " + std::to_string(limit) + " bytes");
    const Course course = plan(setting, layout);
    if (course.seconds > 0) {
      ++planned;
      for (const double bound : course.bounds)
        EXPECT_LE(bound, course.seconds * (1 + 1e-9));
      tightness += course.bounds.back() / course.seconds;
      continue;
    }
    ++refused;
    setting.shallowDepth = 0;
    EXPECT_EQ(plan(setting, layout).seconds, 0) << course.error;
  }
  std::printf("%zu planned, bounds %.2f of the plans; %zu refused\n", planned,
              planned ? tightness / static_cast<double>(planned) : 0, refused);
  EXPECT_GT(planned, 0u);
}
