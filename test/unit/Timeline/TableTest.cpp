//===- TableTest.cpp - A step in time as lines of text --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExampleTimelines.h"
#include "mf/Perf/Timeline/Writers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf::timeline;
using testing::HasSubstr;
using testing::Not;

namespace {

std::string print(const StepTimeline &timeline) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printTable(timeline, stream);
  return text;
}

TEST(TableTest, HasALineForEachStageWithUnitsInTheHeaders) {
  EXPECT_EQ("\n" + print(makeExample()), R"(
memory in GiB  parameters  gradients  optimizer state  activations  others   peak  limit   host
stage 0             1.000      0.500            0.500        1.500   0.500  4.000  8.000  0.500
stage 1             1.000      0.000            0.000        1.000   0.000  2.000  8.000  0.000

time in s, % of the step   busy     %  bubble     %  exposed communication     %  stall     %
stage 0                   5.000  50.0   1.000  10.0                  2.000  20.0  2.000  20.0
stage 1                   2.000  20.0   6.500  65.0                  1.500  15.0  0.000   0.0

step time: 10.000 s
tokens/s per NPU: 200.0
model FLOPs utilization: 50.0 %, hardware FLOPs utilization: 60.0 % with what is computed again; causal attention in full
the step is limited by matmul (50 %), norm (20 %), messages between stages (15 %), the host (10 %), tensor-parallel communication (5 %)
10 % more of engines.cube.bf16: 4.8 % faster
10 % more of networks.roce.message_share: 1.4 % faster
10 % more of step_latency: 1.0 % slower
10 % more of networks.hccs.collective_share: 0.5 % faster
)");
}

TEST(TableTest, LeavesOutWhatIsNotKnown) {
  StepTimeline timeline = makeExample();
  timeline.criticalPath.clear();
  timeline.sensitivity.clear();
  timeline.peakFlopsPerSecond = 0;
  timeline.stages[0].limitBytes = 0;
  const std::string text = print(timeline);
  EXPECT_THAT(text, Not(HasSubstr("FLOPs")));
  EXPECT_THAT(text, Not(HasSubstr("limited by")));
  EXPECT_THAT(text, Not(HasSubstr("10 % more")));
  EXPECT_THAT(text, HasSubstr("4.000   none  0.500"));
}

TEST(TableTest, ShowsDigitsThatCount) {
  StepTimeline timeline = makeExample();
  for (StageTimeline &stage : timeline.stages)
    for (StreamTimeline &stream : stage.streams)
      for (Span &span : stream.spans) {
        span.start *= 1e-5;
        span.end *= 1e-5;
      }
  timeline.seconds *= 1e-5;
  const std::string text = print(timeline);
  EXPECT_THAT(text, HasSubstr("step time: 0.0001000 s\n"));
  EXPECT_THAT(text, HasSubstr("  0.0000500  50.0  "));
}

TEST(TableTest, SaysWorkInWords) {
  StepTimeline timeline = makeExample();
  timeline.criticalPath = {{"attention_grad", 2},
                           {"all_gather over mp", 1.5},
                           {"reduce_scatter over mp", 1},
                           {"reduce_scatter over dp_0, dp_1, cp", 1.25},
                           {"all_to_all_v over mp", 1.2},
                           {"grouped_matmul", 1.1},
                           {"all_reduce over tp_1", 1},
                           {"d2h", 0.95}};
  EXPECT_THAT(
      print(timeline),
      HasSubstr("the step is limited by tensor-parallel communication (25 %), "
                "attention gradient (20 %), data- and context-parallel "
                "communication (12 %), all-to-all over mp (12 %), grouped "
                "matmul (11 %), communication over tp_1 (10 %), others (10 "
                "%)\n"));
}

} // namespace
