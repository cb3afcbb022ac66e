//===- DocumentedPlansTest.cpp - The examples of the documentation --------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayerPlans.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf;
using testing::HasSubstr;

namespace {

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

TEST(DocumentedPlansTest, TheDocumentedRecomputeExampleLogsTheDocumentedLines) {
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

TEST(DocumentedPlansTest, DocumentedSwapExample1DefaultPolicy) {
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

TEST(DocumentedPlansTest, DocumentedSwapExample2Layers) {
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

TEST(DocumentedPlansTest, DocumentedSwapExample3Operators) {
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

TEST(DocumentedPlansTest, DocumentedSwapExample4MixedWithRecompute) {
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

} // namespace
