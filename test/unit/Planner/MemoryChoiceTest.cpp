//===- MemoryChoiceTest.cpp - Ways to lower the memory of a step ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Decode/TargetFile.h"
#include "mf/Frontend/Config/BatchRules.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Plan/Settings/MemoryWays.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::planner;

namespace {

/// A YAML with two copies of a network on `stages` stages.
std::string makeYaml(int64_t stages) {
  return "use_parallel: True\n"
         "runner_config: {batch_size: 4, gradient_accumulation_steps: 3}\n"
         "parallel: {parallel_mode: 1, full_batch: True}\n"
         "micro_batch_interleave_num: 2\n"
         "parallel_config: {data_parallel: 1, model_parallel: 2, "
         "pipeline_stage: " +
         std::to_string(stages) +
         ", micro_batch_num: 6}\n"
         "model:\n"
         "  arch: {type: LlamaForCausalLM}\n"
         "  model_config: {type: LlamaConfig, num_layers: 4, seq_length: 128, "
         "hidden_size: 64, num_heads: 4, vocab_size: 128}\n";
}

int64_t countSamples(llvm::StringRef yaml) {
  DiagnosticList diagnostics;
  const TrainingConfig config =
      parseTrainingConfig(yaml, "a.yaml", diagnostics);
  return resolveBatch(config, std::nullopt, diagnostics).globalBatchSize;
}

MemoryWay find(llvm::ArrayRef<MemoryWay> ways, llvm::StringRef name) {
  const auto *way = llvm::find_if(ways, [&](const MemoryWay &each) {
    return each.name == name && !each.addsDevices;
  });
  return way == ways.end() ? MemoryWay() : *way;
}

// Each of these choices has other passes, so that one after the other must
// count what the ones before have changed.
TEST(MemoryChoiceTest, ChoicesTogetherKeepTheSamples) {
  for (const int64_t stages : {1, 2}) {
    CompilerInput input;
    input.fileName = "a.yaml";
    const std::string yaml = makeYaml(stages);
    llvm::Expected<std::vector<MemoryWay>> ways = findWays(input, yaml);
    ASSERT_TRUE(bool(ways)) << llvm::toString(ways.takeError());
    const MemoryWay sizes = find(*ways, "runner_config.batch_size"),
                    copies = find(*ways, "micro_batch_interleave_num");
    ASSERT_EQ(sizes.values.size(), 2U);
    ASSERT_EQ(copies.values.size(), 1U);
    for (const MemoryChoice &size : sizes.values)
      for (const auto &order :
           {std::vector{size, copies.values.front()},
            std::vector{copies.values.front(), size}, std::vector{size}}) {
        std::string changed = yaml;
        for (const MemoryChoice &choice : order) {
          llvm::Expected<std::string> applied =
              applyChoice(changed, "a.yaml", choice);
          ASSERT_TRUE(bool(applied)) << llvm::toString(applied.takeError());
          changed = *applied;
        }
        EXPECT_EQ(countSamples(changed), countSamples(yaml)) << changed;
      }
  }
}

// What a search has found counts if the rest takes too long.
TEST(MemoryChoiceTest, ASearchReportsWhatItHasFound) {
  PlanRequest request;
  request.input.fileName = "a.yaml";
  request.yaml = "use_parallel: False\n"
                 "runner_config: {batch_size: 1}\n"
                 "model:\n"
                 "  arch: {type: LlamaForCausalLM}\n"
                 "  model_config: {type: LlamaConfig, num_layers: 2, "
                 "seq_length: 64, hidden_size: 32, num_heads: 2, "
                 "vocab_size: 64}\n";
  mlir::MLIRContext context;
  request.target = *target::readTarget("atlas-800t-a2", context);
  request.limitBytes = 1;
  std::vector<WaySearchResult> reports;
  llvm::Expected<WaySearchResult> found = searchWays(
      request, [&](const WaySearchResult &part) { reports.push_back(part); });
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  ASSERT_GE(reports.size(), 3U);
  // The first has only the given step.
  EXPECT_TRUE(reports.front().alone.empty());
  EXPECT_TRUE(reports.front().nearest.taken.empty());
  int64_t before = std::numeric_limits<int64_t>::max();
  for (const WaySearchResult &report : reports) {
    EXPECT_TRUE(report.isCutShort);
    EXPECT_FALSE(report.best.has_value());
    const StepMeasure &nearest = *report.nearest.measure;
    const int64_t missing =
        nearest.stages[nearest.findFullest()].getMissingBytes(1);
    EXPECT_LE(missing, before);
    before = missing;
  }
  EXPECT_FALSE(reports[1].alone.empty());
  EXPECT_FALSE(found->isCutShort);
}

// Twice the devices share the samples also after a choice of smaller batches.
TEST(MemoryChoiceTest, MoreDevicesKeepTheSamplesOfOtherChoices) {
  CompilerInput input;
  input.fileName = "a.yaml";
  const std::string yaml = makeYaml(1);
  llvm::Expected<std::vector<MemoryWay>> ways = findWays(input, yaml);
  ASSERT_TRUE(bool(ways)) << llvm::toString(ways.takeError());
  llvm::Expected<std::string> smaller = applyChoice(
      yaml, "a.yaml", find(*ways, "runner_config.batch_size").values.front());
  ASSERT_TRUE(bool(smaller)) << llvm::toString(smaller.takeError());
  size_t tried = 0;
  for (const MemoryWay &way : *ways) {
    if (!way.addsDevices)
      continue;
    llvm::Expected<std::string> larger =
        applyChoice(*smaller, "a.yaml", way.values.front());
    ASSERT_TRUE(bool(larger)) << llvm::toString(larger.takeError());
    EXPECT_EQ(countSamples(*larger), countSamples(yaml)) << way.name;
    ++tried;
  }
  EXPECT_GE(tried, 3U);
}

} // namespace
