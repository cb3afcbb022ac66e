//===- KernelTableTest.cpp - Kernels beside their lower bounds ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Timeline/KernelTable.h"
#include "ExampleTimelines.h"
#include "mf/Perf/Timeline/Writers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf::timeline;
using mf::DType;
using testing::HasSubstr;
using testing::Not;

namespace {

/// Rates for the example, whose product has 1000 FLOPs and runs three times in
/// 5 s; the norm runs once, for 2 s.
BoundRates makeRates() {
  return {{{DType::F32, 500}, {DType::BF16, 1000}}, 100, "made by hand"};
}

/// The example with the bytes that its kernels move.
StepTimeline makeTimeline() {
  StepTimeline timeline = makeExample();
  timeline.activities[0].bytes = 80;
  timeline.activities[1].bytes = 50;
  return timeline;
}

TEST(KernelTableTest, TheBoundIsTheLargerOfFlopsAndBytes) {
  StepTimeline timeline = makeTimeline();
  std::vector<KernelWork> kernels = listKernels(timeline, makeRates());
  EXPECT_DOUBLE_EQ(kernels[0].bound, 3);
  EXPECT_DOUBLE_EQ(kernels[0].getExcess(), 2);
  EXPECT_DOUBLE_EQ(kernels[0].getBoundShare(), 0.6);
  EXPECT_DOUBLE_EQ(kernels[1].bound, 0.5);
  timeline.activities[0].bytes = 150;
  kernels = listKernels(timeline, makeRates());
  // Less is left of the product than of the norm.
  EXPECT_EQ(kernels[1].name, "aclnnMatmul");
  EXPECT_DOUBLE_EQ(kernels[1].bound, 4.5);
  EXPECT_DOUBLE_EQ(kernels[1].getExcess(), 0.5);
}

TEST(KernelTableTest, FlopsCountAtTheRateOfTheType) {
  StepTimeline timeline = makeTimeline();
  timeline.activities[0].inputs[0].type = DType::F16;
  timeline.activities[0].bytes = 0;
  BoundRates rates = makeRates();
  // There is none for f16.
  EXPECT_DOUBLE_EQ(listKernels(timeline, rates)[1].bound, 6);
  rates.flopsPerSecond.erase(DType::F32);
  EXPECT_DOUBLE_EQ(listKernels(timeline, rates)[0].bound, 0);
}

TEST(KernelTableTest, CopiesInTheDeviceReadAndWrite) {
  StepTimeline timeline = makeTimeline();
  timeline.activities[1].engine = mf::Engine::Copy;
  const std::vector<KernelWork> kernels = listKernels(timeline, makeRates());
  EXPECT_EQ(kernels[1].bytes, 100);
  EXPECT_DOUBLE_EQ(kernels[1].bound, 1);
}

TEST(KernelTableTest, OtherShapesAreOtherKernels) {
  StepTimeline timeline = makeTimeline();
  // Another operator's, with the same shapes; and one with others.
  timeline.activities.push_back(timeline.activities[0]);
  timeline.activities.back().cell = "layers.1.attention.wq";
  timeline.activities.push_back(timeline.activities[0]);
  timeline.activities.back().inputs[0].dims = {2, 8};
  std::vector<Span> &spans = timeline.stages[1].streams[0].spans;
  spans.push_back(
      {7, 7.5, static_cast<uint32_t>(timeline.activities.size()) - 2});
  spans.push_back(
      {8, 8.25, static_cast<uint32_t>(timeline.activities.size()) - 1});
  const std::vector<KernelWork> kernels = listKernels(timeline, makeRates());
  ASSERT_EQ(kernels.size(), 3U);
  int64_t calls[] = {0, 0};
  for (const KernelWork &kernel : kernels)
    if (kernel.kind == "matmul")
      calls[kernel.inputs[0].dims[0] == 2] += kernel.calls;
  EXPECT_EQ(calls[0], 4);
  EXPECT_EQ(calls[1], 1);
}

TEST(KernelTableTest, NothingIsNoKernel) {
  EXPECT_TRUE(listKernels(StepTimeline(), makeRates()).empty());
  EXPECT_TRUE(sumByKind({}).empty());
  std::string text;
  llvm::raw_string_ostream os(text);
  printKernels({}, makeRates(), os);
  EXPECT_THAT(text, HasSubstr("\nall "));
  EXPECT_THAT(text, Not(HasSubstr("shapes")));
}

TEST(KernelTableTest, IsPrintedBehindTheTable) {
  StepTimeline timeline = makeTimeline();
  std::string text;
  llvm::raw_string_ostream os(text);
  printTable(timeline, os);
  EXPECT_THAT(text, Not(HasSubstr("bound")));
  timeline.rates = makeRates();
  timeline.rates->flopsPerSecond[DType::BF16] = 1.19e12;
  timeline.rates->flopsPerSecond[DType::F32] = 1.6e11;
  timeline.rates->bytesPerSecond = 3.01e10;
  // One kernel that is too little for a line of its own.
  timeline.activities.push_back(timeline.activities[1]);
  timeline.activities.back().name = "aclnnAdd";
  timeline.stages[1].streams[0].spans.push_back(
      {9, 9.025, static_cast<uint32_t>(timeline.activities.size()) - 1});
  text.clear();
  printTable(timeline, os);
  EXPECT_THAT(text, HasSubstr(R"(
bounds of kernels at 160 GFLOP/s in f32, 1190 GFLOP/s in bf16, 30.1 GB/s (made by hand)
)"));
}

TEST(KernelTableTest, LinesAddUp) {
  std::string text;
  llvm::raw_string_ostream os(text);
  StepTimeline timeline = makeTimeline();
  timeline.activities.push_back(timeline.activities[1]);
  timeline.activities.back().name = "aclnnAdd";
  timeline.activities.back().bytes = 1;
  timeline.stages[1].streams[0].spans.push_back(
      {9, 9.025, static_cast<uint32_t>(timeline.activities.size()) - 1});
  const BoundRates rates = makeRates();
  printKernels(listKernels(timeline, rates), rates, os);
  EXPECT_EQ("\n" + text, R"(
bounds of kernels at 0.000000500 GFLOP/s in f32, 0.00000100 GFLOP/s in bf16, 0.000000100 GB/s (made by hand)
kernels by kind  calls  time in s      %  bound in s  % of the time  above it in s
matmul               3      5.000   71.2       3.000             60          2.000
norm                 2      2.025   28.8       0.510             25          1.515
all                  5      7.025  100.0       3.510             50          3.515

kernels by name and shapes                    calls  time in s     %  bound in s  % of the time  above it in s
aclnnMatmul bf16[4,8] bf16[8,2] -> bf16[4,2]      3      5.000  71.2       3.000             60          2.000
aclnnRmsNorm                                      1      2.000  28.5       0.500             25          1.500
1 other                                           1      0.025   0.4       0.010             40          0.015
)");
}

} // namespace
