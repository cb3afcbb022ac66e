// SPDX-License-Identifier: Apache-2.0

#include "TwoStageStep.h"
#include "WrittenFiles.h"
#include "mf/Perf/Timeline/Writers.h"
#include "gmock/gmock.h"
#include <cmath>
#include <cstdlib>
#include <limits>

using testing::ElementsAre;

namespace mf::timeline {

namespace {

std::string getFolder(int64_t rank) {
  return "rank000" + std::to_string(rank) + "_00000000000000_ascend_ms/";
}
std::string getOutput(int64_t rank) {
  return getFolder(rank) + "ASCEND_PROFILER_OUTPUT/";
}

std::string getMessage(llvm::Error error) {
  return llvm::toString(std::move(error));
}

/// Nanoseconds of a time in microseconds.
int64_t toNs(const std::string &microseconds) {
  return std::llround(std::stod(microseconds) * 1000);
}

// test/run/profile.test has folders that are in the way.
class ProfileFolderTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(getMessage(writeProfile(folder.path("p"), timeline)), "");
  }
  TableRow readStep(int64_t rank) const {
    const std::vector<TableRow> rows =
        readTable(folder.path("p/" + getOutput(rank) + "step_trace_time.csv"));
    EXPECT_EQ(rows.size(), 1U);
    return rows.empty() ? TableRow() : rows.front();
  }

  const StepTimeline timeline = makeTwoStageStep();
  TemporaryDirectory folder;
};

/// All files of all ranks. The tests of --calibrate read the sample, too.
/// MF_WRITE_PROFILE_SAMPLE=FOLDER writes it anew.
TEST_F(ProfileFolderTest, TheSampleIsWhatIsWritten) {
  if (const char *sample = std::getenv("MF_WRITE_PROFILE_SAMPLE")) {
    ASSERT_EQ(getMessage(writeProfile(sample, timeline)), "");
  }
  const std::string sample = MF_TEST_DATA "/profile/ours/";
  for (int64_t rank : {0, 2})
    for (const std::string &name : {getFolder(rank) + "profiler_metadata.json",
                                    getOutput(rank) + "communication.json",
                                    getOutput(rank) + "kernel_details.csv",
                                    getOutput(rank) + "memory_record.csv",
                                    getOutput(rank) + "op_statistic.csv",
                                    getOutput(rank) + "operator_memory.csv",
                                    getOutput(rank) + "step_trace_time.csv",
                                    getOutput(rank) + "trace_view.json"}) {
      EXPECT_TRUE(readFile(folder.path("p/" + name)) == readFile(sample + name))
          << name;
    }
}

TEST_F(ProfileFolderTest, TheStepAddsUp) {
  const TableRow first = readStep(0);
  EXPECT_EQ(first.at("Device_id"), "0");
  EXPECT_EQ(first.at("Step"), "1");
  // Kernels; the collective's 5 us that hold the device up are communication.
  EXPECT_EQ(first.at("Computing"), "250.000");
  // The gather of 15 us, sends of 16 us, and receives from when there is
  // nothing else to do: [140,185] and [245,285].
  EXPECT_EQ(first.at("Communication"), "116.000");
  EXPECT_EQ(first.at("Bubble"), "85.000");
  EXPECT_EQ(first.at("Overlapped"), "18.000");
  EXPECT_EQ(first.at("Communication(Not Overlapped)"), "98.000");
  EXPECT_EQ(first.at("Communication(Not Overlapped and Exclude Receive)"),
            "13.000");
  EXPECT_EQ(first.at("Preparing"), "0.000");
  for (const StageTimeline &stage : timeline.stages) {
    const TableRow step = readStep(stage.rank);
    EXPECT_EQ(toNs(step.at("Computing")) +
                  toNs(step.at("Communication(Not Overlapped)")) +
                  toNs(step.at("Free")),
              380'000);
    EXPECT_EQ(toNs(step.at("Stage")) + toNs(step.at("Bubble")), 380'000);
    EXPECT_EQ(toNs(step.at("Overlapped")) +
                  toNs(step.at("Communication(Not Overlapped)")),
              toNs(step.at("Communication")));
  }
}

TEST_F(ProfileFolderTest, GroupsOfTheSameAxesAreToldApart) {
  StepTimeline twice = timeline;
  Activity other = twice.activities[5];
  other.name = "all_reduce";
  other.kind = "all_reduce over dp, mp";
  other.ranks = {0, 1, 2, 3};
  twice.activities.push_back(other);
  other.ranks = {0, 3};
  twice.activities.push_back(other);
  std::vector<Span> &spans = twice.stages[0].streams[1].spans;
  const auto next = static_cast<uint32_t>(twice.activities.size());
  spans.push_back({40e-6, 50e-6, next - 2, -1});
  spans.push_back({50e-6, 60e-6, next - 1, -1});
  spans.push_back({60e-6, 70e-6, next - 2, -1});
  ASSERT_EQ(getMessage(writeProfile(folder.path("q"), twice)), "");
  std::vector<std::string> names;
  for (const TableRow &row :
       readTable(folder.path("q/" + getOutput(0) + "kernel_details.csv")))
    if (row.at("Type") == "hcom_allReduce_")
      names.push_back(row.at("Name"));
  EXPECT_THAT(names, ElementsAre("hcom_allReduce__dp_mp_0_1",
                                 "hcom_allReduce__dp_mp_2_0_1",
                                 "hcom_allReduce__dp_mp_1_1"));
}

TEST_F(ProfileFolderTest, WhatIsWrongIsNotWritten) {
  StepTimeline wrong = timeline;
  wrong.stages[1].streams[0].spans[3].start =
      std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(getMessage(writeProfile(folder.path("q"), wrong)),
            "cannot write the timeline of stage 1: span 3 of stream 'compute' "
            "has a time that is not finite");
  EXPECT_THAT(folder.list(), ElementsAre("p"));
}

TEST_F(ProfileFolderTest, NamesMayHaveCommasAndQuotes) {
  StepTimeline strange = timeline;
  strange.activities[0].name = "mat,\"mul\"\x01\xff";
  ASSERT_EQ(getMessage(writeProfile(folder.path("q"), strange)), "");
  const std::string output = folder.path("q/" + getOutput(0));
  EXPECT_EQ(readTable(output + "kernel_details.csv").front().at("Type"),
            strange.activities[0].name);
  EXPECT_TRUE(parseWritten(readFile(output + "trace_view.json")).getAsArray());
}

TEST_F(ProfileFolderTest, AStepOfNothingIsAllFree) {
  StepTimeline empty;
  empty.stages.resize(1);
  empty.seconds = 1e-3;
  ASSERT_EQ(getMessage(writeProfile(folder.path("q"), empty)), "");
  const std::string output = folder.path("q/" + getOutput(0));
  EXPECT_EQ(readTable(output + "step_trace_time.csv").front().at("Free"),
            "1000.000");
  EXPECT_TRUE(readTable(output + "kernel_details.csv").empty());
}

} // namespace

} // namespace mf::timeline
