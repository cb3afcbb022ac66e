//===- ProblemJsonTest.cpp - Problems as files ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/ProblemJson.h"
#include "PlanTesting.h"
#include "test/unit/CaseTable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace mf::solver;

namespace {

Problem read(llvm::StringRef json) {
  llvm::Expected<Problem> problem = readProblem(json, "p.json");
  if (problem)
    return std::move(*problem);
  ADD_FAILURE() << toString(problem.takeError());
  return makeSmallProblem();
}

std::string readFails(llvm::StringRef json) {
  llvm::Expected<Problem> problem = readProblem(json, "p.json");
  return problem ? "" : toString(problem.takeError());
}

/// Two stages, two micro-batches, four layers and what is given.
std::string
makeText(const std::string &more,
         const std::string &layers = R"([{"count": 4, "forward": 1}])") {
  return R"({"pipeline_stage": 2, "micro_num": 2, "memory_limit": 10, )"
         R"("layers": )" +
         layers + more + "}";
}

std::string print(const Problem &problem) {
  return llvm::formatv("{0:2}", writeProblem(problem));
}

TEST(ProblemJsonTest, WhatIsLeftOutHasDefaults) {
  const Problem problem = read(makeText(""));
  EXPECT_EQ(problem.name, "p.json");
  EXPECT_EQ(problem.schedule.name, "1f1b");
  EXPECT_EQ(problem.schedule.pipeline.getNumChunks(), 2);
  EXPECT_EQ(problem.transferTime, 0);
  ASSERT_EQ(problem.kinds.size(), 1U);
  EXPECT_EQ(problem.kinds[0].name, "layer");
  ASSERT_EQ(problem.getNumTreatments(), 1U);
  const Treatment &treatment = problem.kinds[0].treatments[0];
  EXPECT_EQ(treatment.name, "none");
  EXPECT_EQ(treatment.forward, 1);
  EXPECT_EQ(treatment.backward, 2);
  EXPECT_EQ(treatment.weightGradient, 0);
  EXPECT_EQ(problem.stages[1].limit, 10);
  EXPECT_EQ(problem.minLayersPerChunk, 1);
  EXPECT_EQ(problem.maxLayersPerChunk, 0);
  EXPECT_TRUE(problem.extras.empty() && problem.fixedLayers.empty() &&
              problem.fixedTreatments.empty() && problem.exclusive.empty() &&
              problem.forbidden.empty() && !problem.treatmentsInOrder &&
              problem.numFollowers == 0);
}

TEST(ProblemJsonTest, SchedulesByDefault) {
  EXPECT_EQ(read(makeText(R"(, "pp_interleave_num": 2)")).schedule.name,
            "interleaved");
  EXPECT_EQ(read(makeText(R"(, "seq_split_num": 2)")).schedule.name, "seq1f1b");
  const Problem split = read(makeText(R"(, "schedule": "zero-bubble-h1")"));
  EXPECT_TRUE(split.schedule.splitsBackward);
  // Half of the backward.
  EXPECT_EQ(split.kinds[0].treatments[0].weightGradient, 1);
}

TEST(ProblemJsonTest, PairsHideAShare) {
  const Problem problem =
      read(makeText(R"(, "schedule": "1f1b-paired", "pair_hidden": 0.25)"));
  EXPECT_FALSE(problem.schedule.pairs.empty());
  EXPECT_EQ(problem.pairHidden, 0.25);
}

TEST(ProblemJsonTest, RecomputeIsATask) {
  const std::string layers = R"([{"count": 4, "forward": 2, "block_mem_act": 5,
    "treatments": [
      {"name": "none"},
      {"name": "full", "recompute_ratio": 1, "block_mem_act": 1},
      {"name": "some", "backward": 5, "recompute_task": 0.5,
       "block_mem_act": 4, "recomputed_mem": 3}]}])";
  const Problem problem =
      read(makeText(R"(, "recompute_tasks": true)", layers));
  EXPECT_TRUE(problem.schedule.pipeline.recomputes(1, 1));
  const LayerKind &kind = problem.kinds[0];
  EXPECT_EQ(kind.treatments[0].recompute, 0);
  EXPECT_EQ(kind.treatments[0].recomputedMemory, 0);
  EXPECT_EQ(kind.treatments[1].backward, 6);
  EXPECT_EQ(kind.treatments[1].recompute, 2);
  EXPECT_EQ(kind.treatments[1].recomputedMemory, 4);
  EXPECT_EQ(kind.treatments[2].recompute, 0.5);
  EXPECT_EQ(kind.treatments[2].recomputedMemory, 3);
  EXPECT_EQ(print(read(print(problem))), print(problem));
  const Problem last = read(makeText(
      R"(, "schedule": "recompute-in-advance", "pp_interleave_num": 2)",
      layers));
  EXPECT_TRUE(last.schedule.pipeline.recomputes(2, 1));
  EXPECT_FALSE(last.schedule.pipeline.recomputes(3, 1));
  EXPECT_NE(readFails(makeText("", R"([{"count": 4, "forward": 1, "treatments":
    [{"name": "none", "recompute_task": 3}]}])"))
                .find("expected at most the 2 of the backward"),
            std::string::npos);
}

TEST(ProblemJsonTest, TreatmentsStartFromTheirKind) {
  const Problem problem = read(makeText("", R"([{
    "count": 4, "forward": 2, "backward_ratio": 1.5, "block_mem_par": 7,
    "block_mem_act": 5, "transient_mem": 3, "update_time": 0.5,
    "treatments": [
      {"name": "none"},
      {"name": "select", "recompute_ratio": 0.25, "block_mem_act": 4},
      {"name": "full", "recompute_time": 1.5, "transient_mem": 4},
      {"name": "swap", "forward": 3, "backward": 4, "copy_out": 1,
       "copy_in": 2}]}])"));
  const LayerKind &kind = problem.kinds[0];
  EXPECT_EQ(kind.parameterMemory, 7);
  EXPECT_EQ(kind.updateTime, 0.5);
  ASSERT_EQ(kind.treatments.size(), 4U);
  EXPECT_EQ(kind.treatments[0].backward, 3);
  EXPECT_EQ(kind.treatments[0].activationMemory, 5);
  EXPECT_EQ(kind.treatments[0].transientMemory, 3);
  EXPECT_EQ(kind.treatments[1].backward, 3.5);
  EXPECT_EQ(kind.treatments[1].activationMemory, 4);
  EXPECT_EQ(kind.treatments[2].backward, 4.5);
  EXPECT_EQ(kind.treatments[2].transientMemory, 4);
  EXPECT_EQ(kind.treatments[3].forward, 3);
  EXPECT_EQ(kind.treatments[3].backward, 4);
  EXPECT_EQ(kind.treatments[3].copyOut, 1);
  EXPECT_EQ(kind.treatments[3].copyIn, 2);
}

TEST(ProblemJsonTest, Extras) {
  const Problem problem = read(makeText(
      R"(, "pp_interleave_num": 2, "embedding": {"block_mem_par": 3},
         "head": {"forward": 2}, "extras": [{"chunk": 1, "backward": 1}])"));
  ASSERT_EQ(problem.extras.size(), 3U);
  EXPECT_EQ(problem.extras[0].chunk, 0);
  EXPECT_EQ(problem.extras[0].parameterMemory, 3);
  EXPECT_EQ(problem.extras[1].chunk, 3);
  EXPECT_EQ(problem.extras[1].backward, 4);
  EXPECT_EQ(problem.extras[2].chunk, 1);
  EXPECT_EQ(problem.extras[2].forward, 0);
  EXPECT_EQ(problem.extras[2].backward, 1);
}

TEST(ProblemJsonTest, MemoryByStage) {
  const char *layers = R"("layers": [{"count": 4, "forward": 1}])";
  auto readLimits = [&](const std::string &limit) {
    std::vector<double> limits;
    for (const StageMemory &stage :
         read(R"({"pipeline_stage": 4, "micro_num": 4, )" +
              std::string(layers) + R"(, "memory_limit": )" + limit + "}")
             .stages)
      limits.push_back(stage.limit + stage.constant);
    return limits;
  };
  EXPECT_EQ(readLimits("5"), std::vector<double>({5, 5, 5, 5}));
  EXPECT_EQ(readLimits("[1, 2, 3, 4]"), std::vector<double>({1, 2, 3, 4}));
  EXPECT_EQ(readLimits(R"({"first": 1, "middle": 2, "last": 3})"),
            std::vector<double>({1, 2, 2, 3}));
  EXPECT_EQ(readLimits(R"(5, "constant_mem": [-1, 0, 0, 1])"),
            std::vector<double>({4, 5, 5, 6}));
}

TEST(ProblemJsonTest, GivenTables) {
  const char *layers = R"([{"count": 7, "forward": 1, "treatments":
    [{"name": "none"}, {"name": "recompute", "recompute_ratio": 1}]}])";
  Problem problem = read(
      makeText(R"(, "keep": {"offset": [0, 1], "recompute": [1, 9]})", layers));
  EXPECT_EQ(problem.fixedLayers, std::vector<int64_t>({3, 4}));
  ASSERT_EQ(problem.fixedTreatments.size(), 2U);
  EXPECT_TRUE(problem.fixedTreatments[0].empty());
  EXPECT_EQ(problem.fixedTreatments[1], std::vector<int64_t>({1, 9}));

  problem = read(makeText(R"(, "pp_interleave_num": 2,
      "keep": {"num_layer_list": [[1, 2], [0, 4]], "recompute": 1})",
                          layers));
  EXPECT_EQ(problem.fixedLayers, std::vector<int64_t>({1, 2, 0, 4}));
  EXPECT_EQ(problem.fixedTreatments[1], std::vector<int64_t>({1, 1, 1, 1}));
  // No layers on purpose.
  EXPECT_EQ(problem.minLayersPerChunk, 0);

  // The second row of a V goes back.
  problem = read(R"({"pipeline_stage": 2, "micro_num": 4, "memory_limit": 10,
      "schedule": "zero-bubble-v", "pp_interleave_num": 2,
      "layers": [{"count": 7, "forward": 1}],
      "keep": {"offset": [[0, 1], [-1, 3]]}})");
  EXPECT_EQ(problem.fixedLayers, std::vector<int64_t>({1, 2, 4, 0}));
}

/// A problem in each line, and how its error begins. What begins with a comma
/// is added to makeText(), and a list of objects are its layers.
constexpr llvm::StringLiteral errors = R"(
{ => malformed JSON
[] => at the top: found a list, expected an object
{"a": 1, "a": 2} => name 'a' appears twice
{"pipeline_stages": 2} => at the top: 'pipeline_stage' is missing, expected a whole number from 1 to 4096; is 'pipeline_stages' meant to be it?
{"pipeline_stage": 2.5} => at pipeline_stage: found 2.5, expected a whole number from 1 to 4096
, "com_time": 1 => at com_time: 'com_time' is not known here; did you mean 'comm_time'?
, "comm_time": -1 => at comm_time: found -1, expected a number from 0
, "comm_time": 1e19 => at comm_time: found 1e+19, expected a number from 0 to 1e+18
, "constant_mem": -1e300 => at constant_mem: found -1e+300, expected a number from -1e+18 to 1e+18
[{"count": 4, "forward": 1, "treatments": [{"name": "full", "recompute_ratio": 18446744073709551616}]}] => at layers[0].treatments[0].recompute_ratio: found 1.844674407e+19, expected a number from 0 to 1000000
[{"count": 4, "forward": 1e15, "treatments": [{"name": "full", "recompute_ratio": 1e5}]}] => at layers[0].treatments[0].recompute_ratio: makes 1e+20 of 1e+15, expected at most 1e+18
[{"count": 4, "forward": 1e18}] => at layers[0].backward_ratio: makes 2e+18 of 1e+18, expected at most 1e+18
, "schedule": "interleavd" => at schedule: there is no schedule 'interleavd'; did you mean 'interleaved'?
, "schedule": "interleaved" => at schedule: schedule 'interleaved' takes two or more
, "schedule": "1f1b-paired", "pair_hidden": 0.123 => the share that pairs hide is 0.123, expected whole hundredths from 0 to 1
[{"count": "4", "forward": 1}] => at layers[0].count: found "4", expected a whole number from 0 to 4096
[{"count": 4, "forward": 1, "block_mem_pr": 1}] => at layers[0].block_mem_pr: 'block_mem_pr' is not known here; did you mean 'block_mem_par'?
[{"count": 4, "forward": 1, "backward": 1, "backward_ratio": 1}] => at layers[0].backward_ratio: there is 'backward' as well, expected one of the two
[{"count": 2, "forward": 1}, {"count": 2, "forward": 1}] => at layers[1]: 'name' is missing
[{"count": 2, "forward": 1}, {"name": "b", "count": 2, "forward": 1, "treatments": [{"name": "full"}]}] => at layers[1].treatments: other treatments than those of kind 'layer', expected none in that order
[{"count": 4, "forward": 1, "treatments": [{"name": "a"}, {"name": "a"}]}] => at layers[0].treatments: there are two treatments 'a'
, "constant_mem": [1] => at constant_mem: found a list of 1, expected a number for each of the 2 stages
, "keep": {"offset": [1, 0]} => at keep.offset: offsets add up to 1, expected 0: 4 layers are 2 for each of 2 chunks, and 0 more
, "keep": {"ofset": [1, 0]} => at keep.ofset: there is no treatment 'ofset'; did you mean 'offset'?
, "keep": {"offset": [0, 0, 0]} => at keep.offset: found a list of 3, expected a list of 2 numbers, one for each stage
, "pp_interleave_num": 2, "keep": {"offset": [0, 0, 0]} => at keep.offset: found a list of 3, expected a list over the stages for each of the 2 rows of chunks
, "keep": {"num_layer_list": [1, 2]} => chunks are given 3 layers, expected the 4 that there are
, "exclusive": [["none"]] => at exclusive[0]: found 1 names, expected those of two treatments
, "exclusive": [["none", "nome"]] => at exclusive[0][1]: there is no treatment 'nome'; did you mean 'none'?
, "forbidden": [{"stage": 2, "chunks": []}] => at forbidden[0].stage: found 2, expected a whole number from 0 to 1
, "treatments_in_order": 1 => at treatments_in_order: found 1, expected true or false
, "micro_num": 2 => name 'micro_num' appears
)";

TEST(ProblemJsonTest, ErrorsSayThePlaceAndWhatIsExpected) {
  for (const auto &[given, expected] : mf::readTable(errors)) {
    const std::string text = given.starts_with(",") ? makeText(given.str())
                             : given.starts_with("[{")
                                 ? makeText("", given.str())
                                 : given.str();
    const std::string message = readFails(text);
    EXPECT_TRUE(
        llvm::StringRef(message).starts_with("p.json: " + expected.str()))
        << text << "\n"
        << message;
  }
}

TEST(ProblemJsonTest, TooMuchIsRefused) {
  EXPECT_NE(readFails(R"({"pipeline_stage": 4096, "micro_num": 4194304})")
                .find("more tasks than"),
            std::string::npos);
  EXPECT_NE(readFails(std::string(100000, '[')).find("nested"),
            std::string::npos);
}

// Whatever is wrong is said; what still reads is well-formed.
TEST(ProblemJsonTest, DamagedFilesAreRefusedOrRead) {
  const std::string whole = makeText(
      R"(, "pp_interleave_num": 2, "comm_time": 0.5, "head": {"forward": 1},
         "keep": {"offset": [[0, 0], [0, 0]], "full": 1},
         "exclusive": [["none", "full"]], "constant_mem": [1, 2],
         "forbidden": [{"stage": 0, "chunks": [{}, {"layer": {"full": 1}}]}])",
      R"([{"count": 4, "forward": 1, "treatments":
           [{"name": "none"}, {"name": "full", "recompute_ratio": 1}]}])");
  EXPECT_EQ(readFails(whole), "");
  int64_t refused = 0, wellFormed = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const char *piece : {"", "-", "9", "e", "\"", "[", "}", "null,"}) {
      std::string damaged = whole;
      damaged.replace(i, 1, piece);
      llvm::Expected<Problem> problem = readProblem(damaged, "p.json");
      if (problem) {
        EXPECT_EQ(getMessage(problem->check()), "") << damaged;
        ++wellFormed;
        continue;
      }
      const std::string message = toString(problem.takeError());
      EXPECT_EQ(message.substr(0, 8), "p.json: ") << damaged;
      EXPECT_GT(message.size(), 20U) << damaged;
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(wellFormed, 10);
}

TEST(ProblemJsonTest, ShippedProblemsRead) {
  std::error_code failure;
  int64_t files = 0;
  for (llvm::sys::fs::directory_iterator file(MF_TEST_DATA "/plan", failure),
       end;
       file != end && !failure; file.increment(failure)) {
    if (!llvm::StringRef(file->path()).ends_with(".json"))
      continue;
    auto buffer = llvm::MemoryBuffer::getFile(file->path());
    ASSERT_TRUE(buffer) << file->path();
    const Problem problem = read((*buffer)->getBuffer());
    EXPECT_EQ(print(read(print(problem))), print(problem)) << file->path();
    ++files;
  }
  EXPECT_GE(files, 4);
}

} // namespace
