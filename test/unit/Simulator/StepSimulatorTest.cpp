//===- StepSimulatorTest.cpp - A lowered step on a target -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Simulator/StepSimulator.h"
#include "MeshPrograms.h"
#include "ParsedProgram.h"
#include "mf/Program/Liveness.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::simulator;
using program::collective;
using program::makeStages;
using program::ParsedProgram;
using program::transfer;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using timeline::StepTimeline;

namespace {

/// Everything takes round times: a kernel of 64 bytes a second, a collective of
/// two ranks 64 bytes 4 s and 1 s of latency, a message 2 s and 1 s.
target::Target makeTarget() {
  target::Target target;
  target.name = "round";
  target.engines = {{Engine::Cube, {{DType::F32, 1}}},
                    {Engine::Vector, {{DType::F32, 1}}}};
  target.memory = {1 << 20, 64, 0, 1};
  target.host = {64, 32, 0.5};
  target.kernels = {{"elementwise", 0, 1, 0.5, 0, {}}};
  target.networks = {
      {"port", "npu", 0, target::Wiring::Switch, 16, 0.5, 2, 1, 1, 1}};
  return target;
}

const std::string buffer = "!ascend.buffer<16xf32, hbm>";

/// Three buffers of 64 bytes each: 3 s.
const std::string kernel =
    "ascend.launch \"aclnnAdd\"(%g, %g) -> (%m) {} cell \"add\" : (" + buffer +
    ", " + buffer + ") -> " + buffer + "\n";

StepTimeline run(const std::string &text, const target::Target &target,
                 const SimulationOptions &options = {}) {
  ParsedProgram parsed(text);
  EXPECT_TRUE(parsed.decoded) << parsed.messages;
  if (!parsed.decoded)
    return {};
  llvm::Expected<StepTimeline> timeline =
      simulate(parsed.get(), target, options);
  if (timeline)
    return std::move(*timeline);
  ADD_FAILURE() << llvm::toString(timeline.takeError());
  return {};
}

/// Two ranks of data parallel on each of two stages; `first` and `second` run.
std::string makeMesh(const std::string &first, const std::string &second = "") {
  return makeStages("#mf.mesh<pp = 2, dp = 2>", {first, second});
}

double sum(const std::vector<timeline::CriticalShare> &shares) {
  double seconds = 0;
  for (const timeline::CriticalShare &share : shares)
    seconds += share.seconds;
  return seconds;
}

TEST(StepSimulatorTest, AddsUpWhatKernelsTake) {
  const StepTimeline timeline = run(makeMesh(kernel + kernel), makeTarget());
  EXPECT_DOUBLE_EQ(timeline.seconds, 6);
  ASSERT_EQ(timeline.stages.size(), 2u);
  const timeline::StageTimeline &stage = timeline.stages.front();
  ASSERT_EQ(stage.streams[stage.computeStream].spans.size(), 2u);
  EXPECT_DOUBLE_EQ(stage.streams[stage.computeStream].spans[1].start, 3);
  const timeline::Activity &activity =
      timeline.activities[stage.streams[stage.computeStream].spans[1].activity];
  EXPECT_EQ(activity.name, "aclnnAdd");
  EXPECT_EQ(activity.kind, "elementwise");
  EXPECT_EQ(activity.cell, "add");
  EXPECT_DOUBLE_EQ(stage.secondsByKind.at("elementwise"), 6);
  EXPECT_EQ(stage.peakBytes, 256);
}

TEST(StepSimulatorTest, MergedSpansTakeTheSame) {
  SimulationOptions options;
  options.withSpans = false;
  const StepTimeline timeline =
      run(makeMesh(kernel + kernel), makeTarget(), options);
  EXPECT_DOUBLE_EQ(timeline.seconds, 6);
  EXPECT_EQ(timeline.stages.front().streams.front().spans.size(), 1u);
}

TEST(StepSimulatorTest, StreamsRunSideBySide) {
  const std::string reduce =
      collective("all_reduce %g to %g over <dp>", "r", "a");
  // 2 (n-1)/n * 64 bytes at 8 bytes a second, and a second.
  EXPECT_DOUBLE_EQ(run(makeMesh(reduce), makeTarget()).seconds, 9);
  EXPECT_DOUBLE_EQ(run(makeMesh(reduce + kernel), makeTarget()).seconds, 9);
  target::Target target = makeTarget();
  target.networks[0].hidden = 0.25;
  // The kernel has a quarter of its speed beside the collective.
  const StepTimeline slow = run(makeMesh(reduce + kernel), target);
  EXPECT_DOUBLE_EQ(slow.seconds, 0.75 * 9 + 3);
  EXPECT_DOUBLE_EQ(sum(slow.criticalPath), slow.seconds);
  // The second of two kernels begins in the middle of the collective.
  const StepTimeline two = run(makeMesh(reduce + kernel + kernel), target);
  const std::vector<timeline::Span> &spans =
      two.stages[0].streams[two.stages[0].computeStream].spans;
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_DOUBLE_EQ(spans[0].end, 0.75 * 9 + 3);
  EXPECT_DOUBLE_EQ(spans[1].end, 0.75 * 9 + 6);
}

TEST(StepSimulatorTest, KernelsAndExchangesSlowEachOther) {
  const std::string reduce =
      collective("all_reduce %g to %g over <dp>", "r", "a");
  target::Target target = makeTarget();
  target.networks[0].hidden = 0.5;
  target.networks[0].besideKernels = 0.8;
  const std::string text = makeMesh(reduce + kernel);
  const StepTimeline timeline = run(text, target);
  const timeline::StageTimeline &stage = timeline.stages[0];
  EXPECT_DOUBLE_EQ(stage.streams[stage.computeStream].spans[0].end, 6);
  // The reduction moves 4 of its 8 seconds in 5 beside the kernel.
  EXPECT_NEAR(timeline.seconds, 1 + 5 + 4, 1e-9);
  EXPECT_NEAR(sum(timeline.criticalPath), timeline.seconds, 1e-9);
}

TEST(StepSimulatorTest, SensitivityToWhatIsHidden) {
  const std::string text =
      makeMesh(collective("all_reduce %g to %g over <dp>", "r", "a") + kernel +
               kernel + kernel);
  target::Target target = makeTarget();
  target.networks[0].hidden = 0.5;
  const StepTimeline timeline = run(text, target);
  EXPECT_DOUBLE_EQ(timeline.seconds, 13.5);
  // d/dlog h of 9 (1 - h).
  EXPECT_THAT(timeline.sensitivity.at("networks.port.hidden"),
              DoubleNear(-4.5, 0.01));
}

TEST(StepSimulatorTest, TransfersShareTheirLinks) {
  const std::string first =
      collective("all_gather %g to %n over <dp>", "x", "a", 16, 32);
  const std::string second =
      collective("all_gather %g to %n over <dp>", "y", "b", 16, 32);
  // 128 bytes, of which half comes from elsewhere, at 8 bytes a second.
  EXPECT_DOUBLE_EQ(run(makeMesh(first), makeTarget()).seconds, 9);
  const StepTimeline both = run(makeMesh(first + second), makeTarget());
  EXPECT_DOUBLE_EQ(both.seconds, 17);
  EXPECT_DOUBLE_EQ(sum(both.criticalPath), both.seconds);
}

TEST(StepSimulatorTest, MessagesStartWhenBothSidesHaveCome) {
  const StepTimeline timeline =
      run(makeMesh(kernel +
                       "%e = ascend.record @compute\n"
                       "ascend.wait @a for %e\n" +
                       transfer("send %g to <pp = 1>", "x", "a"),
                   transfer("receive %m from <pp = 0>", "x", "a")),
          makeTarget());
  EXPECT_DOUBLE_EQ(timeline.seconds, 3 + 3);
  ASSERT_EQ(timeline.flows.size(), 1u);
  const timeline::SpanId to = timeline.flows.front().to;
  EXPECT_EQ(to.stage, 1u);
  const timeline::Span &span =
      timeline.stages[1].streams[to.stream].spans[to.span];
  EXPECT_DOUBLE_EQ(span.start, 3);
  EXPECT_DOUBLE_EQ(span.end, 6);
  EXPECT_EQ(timeline.activities[span.activity].networks,
            std::vector<std::string>{"port"});
  EXPECT_EQ(timeline.activities[span.activity].ranks,
            (std::vector<int64_t>{0, 2}));
}

TEST(StepSimulatorTest, SensitivityIsTheSlope) {
  const std::string text = makeMesh(
      collective("all_reduce %g to %g over <dp>", "r", "a") +
          "%e = ascend.record @a\nascend.wait @compute for %e\n" + kernel,
      kernel);
  const StepTimeline timeline = run(text, makeTarget());
  EXPECT_DOUBLE_EQ(timeline.seconds, 12);
  EXPECT_FALSE(timeline.sensitivity.empty());
  for (const auto &[path, slope] : timeline.sensitivity) {
    target::Target changed = makeTarget();
    constexpr double step = 1e-3;
    for (const target::Parameter &parameter : target::getParameters(changed))
      if (parameter.path == path)
        *parameter.value *= 1 + step;
    const double seconds = run(text, changed).seconds;
    EXPECT_THAT(slope, DoubleNear((seconds - timeline.seconds) / step, 0.02))
        << path;
  }
  EXPECT_EQ(timeline.sensitivity.count("host.to_host_bytes_per_second"), 0u);
}

TEST(StepSimulatorTest, GraphKernelFusionMovesLess) {
  std::string text = makeMesh(kernel);
  for (size_t at = 0; (at = text.find("arena_bytes", at)) != std::string::npos;
       at += 32)
    text.insert(at, "graph_kernel_fusion, ");
  EXPECT_DOUBLE_EQ(run(text, makeTarget()).seconds, 1.5);
}

TEST(StepSimulatorTest, SaysWhatATargetLacks) {
  target::Target target = makeTarget();
  target.kernels.clear();
  ParsedProgram parsed(makeMesh(kernel));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  EXPECT_THAT(llvm::toString(simulate(parsed.get(), target).takeError()),
              HasSubstr("'elementwise'"));
  target = makeTarget();
  target.networks[0].size = 2;
  EXPECT_THAT(llvm::toString(simulate(parsed.get(), target).takeError()),
              HasSubstr("2 ranks"));
}

TEST(StepSimulatorTest, NamesStreamsThatWaitForEachOther) {
  ParsedProgram parsed(
      makeMesh(transfer("send %g to <pp = 1>", "x", "a") +
                   transfer("receive %m from <pp = 1>", "y", "a"),
               transfer("send %g to <pp = 0>", "y", "a") +
                   transfer("receive %m from <pp = 0>", "x", "a")));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  EXPECT_THAT(llvm::toString(simulate(parsed.get(), makeTarget()).takeError()),
              HasSubstr("deadlock: stage 0: send (channel 'x', stream 'a') "
                        "waits for stage 1: receive"));
}

} // namespace
