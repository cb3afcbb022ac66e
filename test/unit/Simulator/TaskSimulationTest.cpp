//===- TaskSimulationTest.cpp - A lowered step without a target ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Simulator/TaskSimulation.h"
#include "MeshPrograms.h"
#include "ParsedProgram.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <limits>

using namespace mf::program;
using namespace mf::simulator;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

const std::string buffer = "!ascend.buffer<16xf32, hbm>";

/// `count` additions of 16 floating-point operations each.
std::string add(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += "ascend.launch \"aclnnAdd\"(%w, %w) -> (%x) {} cell \"add\" : (" +
            buffer + ", " + buffer + ") -> " + buffer + "\n";
  return text;
}

std::string routine(const std::string &name, const std::string &body,
                    const std::string &layout = "layout") {
  return "ascend.routine @" + name + "() attributes {layout = @" + layout +
         "} {\n%w = ascend.global @w : " + buffer +
         "\n%x = ascend.slot 0 : " + buffer + "\n" + body + "}\n";
}

/// One stage of `numFrames` micro-batches; routines @a, @b and @c with 1, 2 and
/// 3 additions.
std::string makeStage(const std::string &step, int numFrames = 1) {
  std::string text =
      "ascend.program @stage0 stage 0 attributes {micro_batches = " +
      std::to_string(numFrames) +
      ", micro_batch_size = 1, sequence_length = 4, vocab_size = 16, "
      "pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, "
      "host_bytes = 64} {\n"
      "ascend.stream @compute compute\nascend.stream @d2h d2h\n"
      "ascend.static @w parameter of \"w\" : " +
      buffer +
      " at 0\n"
      "ascend.frame_layout @layout [" +
      buffer + "] of [\"x\"] at [0] {bytes = 64 : i64, host_bytes = 0 : i64}\n";
  text += routine("a", add(1)) + routine("b", add(2)) + routine("c", add(3));
  text += "ascend.step {\n";
  for (int i = 0; i < numFrames; ++i)
    text += "%f" + std::to_string(i) + " = ascend.frame @layout micro_batch " +
            std::to_string(i) + " at " + std::to_string(64 * (i + 1)) +
            " host at 0 : <@layout>\n";
  return text + step + "}\n}\n";
}

std::string call(const std::string &routine, int microBatch) {
  std::string number = std::to_string(microBatch);
  return "ascend.call @" + routine + "() frame %f" + number +
         " : !ascend.frame<@layout> micro_batch " + number + " : () -> ()\n";
}

std::string getNames(const SimulatedTasks &step) {
  std::string names;
  for (const mf::events::Block &block : step.timeline.stages.front())
    names += step.pipeline.getName(block.task) + " ";
  return names;
}

TEST(TaskSimulationTest, FindsTasksFromTheUsesOfFrames) {
  ParsedProgram parsed(
      makeStage(call("a", 0) + call("a", 1) + call("b", 0) + call("b", 1), 2));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  auto whole = cantFail(simulateTasks(parsed.get(), {}));
  EXPECT_EQ(getNames(whole), "F0 F1 B0 B1 ");
  EXPECT_EQ(whole.flopsPerUnit, 16);
  EXPECT_EQ(whole.timeline.end, 6);
  EXPECT_EQ(whole.timeline.bubbles.real, 0);

  ParsedProgram split(makeStage(call("a", 0) + call("b", 0) + call("c", 0)));
  ASSERT_TRUE(split.decoded) << split.messages;
  TaskCosts costs;
  costs.flopsPerUnit = 8;
  auto halves = cantFail(simulateTasks(split.get(), costs));
  EXPECT_EQ(getNames(halves), "F0 I0 W0 ");
  EXPECT_THAT(halves.busy, ElementsAre(12));
  EXPECT_EQ(halves.timeline.stages.front().back().start, 6);
  EXPECT_EQ(halves.timeline.end, 12);
}

TEST(TaskSimulationTest, SaysWhatItCannotSimulate) {
  ParsedProgram parsed(
      makeStage(call("a", 0) + call("a", 0) + call("a", 0) + call("a", 0)));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  EXPECT_THAT(toString(simulateTasks(parsed.get(), {}).takeError()),
              HasSubstr("is used by 4 calls"));
  TaskCosts costs;
  costs.transferTime = -1;
  EXPECT_EQ(toString(simulateTasks(parsed.get(), costs).takeError()),
            "transfer time is -1.00, expected a finite number from 0");
  costs = {};
  costs.flopsPerUnit = std::numeric_limits<double>::infinity();
  EXPECT_THAT(toString(simulateTasks(parsed.get(), costs).takeError()),
              HasSubstr("FLOPs per unit is"));
}

/// The simulation's message about stages that run `steps`.
std::string simulateExchange(llvm::ArrayRef<std::string> steps) {
  ParsedProgram parsed(makeStages("", steps));
  EXPECT_TRUE(parsed.decoded) << parsed.messages;
  if (!parsed.decoded)
    return "does not decode";
  return toString(simulateTasks(parsed.get(), {}).takeError());
}

TEST(TaskSimulationTest, FindsStreamsThatWaitForEachOther) {
  const std::string sendTo1 = transfer("send %g to <pp = 1>", "x", "a");
  const std::string receiveFrom1 =
      transfer("receive %m from <pp = 1>", "y", "a");
  const std::string sendTo0 = transfer("send %g to <pp = 0>", "y", "a");
  const std::string receiveFrom0 =
      transfer("receive %m from <pp = 0>", "x", "a");
  EXPECT_EQ(simulateExchange({sendTo1 + receiveFrom1, receiveFrom0 + sendTo0}),
            "");
  EXPECT_THAT(
      simulateExchange({sendTo1 + receiveFrom1, sendTo0 + receiveFrom0}),
      HasSubstr("deadlock: stage 0: send (channel 'x', stream 'a') waits for "
                "stage 1: receive (channel 'x', stream 'a'), stage 1: send "
                "(channel 'y', stream 'a') waits for stage 0: receive"));
}

TEST(TaskSimulationTest, CollectivesMeet) {
  const std::string reduce =
      collective("all_reduce %g to %g over <pp>", "r", "a");
  EXPECT_EQ(simulateExchange({reduce, reduce}), "");
}

} // namespace
