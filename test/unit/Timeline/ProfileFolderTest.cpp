// SPDX-License-Identifier: Apache-2.0

#include "TwoStageStep.h"
#include "WrittenFiles.h"
#include "mf/Perf/Timeline/Writers.h"
#include "gmock/gmock.h"
#include <cmath>
#include <cstdlib>
#include <limits>

using testing::ElementsAre;
using testing::HasSubstr;

namespace mf::timeline {

namespace {

constexpr const char *fileNames[] = {
    "communication.json", "kernel_details.csv",  "memory_record.csv",
    "op_statistic.csv",   "operator_memory.csv", "step_trace_time.csv",
    "trace_view.json"};

std::string getOutput(int64_t rank) {
  return "rank000" + std::to_string(rank) +
         "_00000000000000_ascend_ms/ASCEND_PROFILER_OUTPUT/";
}

std::string getMessage(llvm::Error error) {
  return llvm::toString(std::move(error));
}

/// Nanoseconds of a time in microseconds.
int64_t toNs(const std::string &microseconds) {
  return std::llround(std::stod(microseconds) * 1000);
}

class ProfileFolderTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(getMessage(writeProfile(folder.path("p"), timeline)), "");
  }
  std::vector<TableRow> read(int64_t rank, const char *file) const {
    return readTable(folder.path("p/" + getOutput(rank) + file));
  }
  llvm::json::Value readJson(int64_t rank, const char *file) const {
    return parseWritten(
        readWritten(folder.path("p/" + getOutput(rank) + file)));
  }
  TableRow readStep(int64_t rank) const {
    const std::vector<TableRow> rows = read(rank, "step_trace_time.csv");
    EXPECT_EQ(rows.size(), 1U);
    return rows.empty() ? TableRow() : rows.front();
  }

  const StepTimeline timeline = makeTwoStageStep();
  ScratchFolder folder;
};

/// The tests of --calibrate read the sample, too.
/// MF_WRITE_PROFILE_SAMPLE=FOLDER writes it anew.
TEST_F(ProfileFolderTest, TheSampleIsWhatIsWritten) {
  if (const char *sample = std::getenv("MF_WRITE_PROFILE_SAMPLE")) {
    ASSERT_EQ(getMessage(writeProfile(sample, timeline)), "");
  }
  const std::string sample = MF_TEST_DATA "/profile/ours/";
  for (int64_t rank : {0, 2})
    for (const char *file : fileNames) {
      const std::string name = getOutput(rank) + file;
      EXPECT_TRUE(readWritten(folder.path("p/" + name)) ==
                  readWritten(sample + name))
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

TEST_F(ProfileFolderTest, TheStepIsThatOfTheSummary) {
  for (const StageTimeline &stage : timeline.stages) {
    const StageSummary summary = summarizeStage(timeline, stage);
    const TableRow step = readStep(stage.rank);
    EXPECT_NEAR(toNs(step.at("Computing")), summary.busy * 1e9, 1);
    // The wait of a receive is a bubble there.
    EXPECT_NEAR(
        toNs(step.at("Communication(Not Overlapped)")) + toNs(step.at("Free")),
        (summary.bubble + summary.exposedCommunication + summary.stall) * 1e9,
        1);
    EXPECT_GE(toNs(step.at("Communication(Not Overlapped)")),
              std::llround(summary.exposedCommunication * 1e9) - 5001);
  }
}

TEST_F(ProfileFolderTest, KernelsAddUp) {
  for (const StageTimeline &stage : timeline.stages) {
    int64_t computing = 0, receiving = 0, all = 0;
    for (const TableRow &row : read(stage.rank, "kernel_details.csv")) {
      const int64_t duration = toNs(row.at("Duration(us)"));
      all += duration;
      if (row.at("Accelerator Core") != "COMMUNICATION")
        computing += duration;
      if (row.at("Type") == "hcom_receive_")
        receiving += duration;
      EXPECT_EQ(row.at("Device_id"), std::to_string(stage.rank));
    }
    const TableRow step = readStep(stage.rank);
    EXPECT_EQ(computing, toNs(step.at("Computing")));
    EXPECT_EQ(receiving, toNs(step.at("Bubble")));

    int64_t total = 0, count = 0;
    double share = 0;
    for (const TableRow &row : read(stage.rank, "op_statistic.csv")) {
      total += toNs(row.at("Total Time(us)"));
      count += std::stoll(row.at("Count"));
      share += std::stod(row.at("Ratio(%)"));
      EXPECT_LE(toNs(row.at("Min Time(us)")), toNs(row.at("Avg Time(us)")));
      EXPECT_LE(toNs(row.at("Avg Time(us)")), toNs(row.at("Max Time(us)")));
    }
    EXPECT_EQ(total, all);
    EXPECT_EQ(count, static_cast<int64_t>(
                         read(stage.rank, "kernel_details.csv").size()));
    EXPECT_NEAR(share, 100, 0.01);
  }
}

TEST_F(ProfileFolderTest, AKernelHasItsOperands) {
  const TableRow row = read(0, "kernel_details.csv").front();
  EXPECT_EQ(row.at("Name"), "layers.0.feed_forward.w1/aclnnMatmul");
  EXPECT_EQ(row.at("Type"), "aclnnMatmul");
  EXPECT_EQ(row.at("Accelerator Core"), "AI_CORE");
  EXPECT_EQ(row.at("Start Time(us)"), "0.000");
  EXPECT_EQ(row.at("Duration(us)"), "20.125");
  EXPECT_EQ(row.at("Input Shapes"), "1024,512;512,2048");
  EXPECT_EQ(row.at("Input Data Types"), "DT_BF16;DT_BF16");
  EXPECT_EQ(row.at("Input Formats"), "ND;ND");
  EXPECT_EQ(row.at("Output Shapes"), "1024,2048");
  EXPECT_EQ(row.at("Output Data Types"), "DT_BF16");
}

TEST_F(ProfileFolderTest, CoresAreThoseOfEnginesAndKinds) {
  std::map<std::string, std::string> cores;
  for (const TableRow &row : read(0, "kernel_details.csv"))
    cores[row.at("Type")] = row.at("Accelerator Core");
  const std::map<std::string, std::string> expected = {
      {"aclnnMatmul", "AI_CORE"},
      {"aclnnSilu", "AI_VECTOR_CORE"},
      {"aclnnApplyAdamW", "AI_VECTOR_CORE"},
      {"aclnnFlashAttentionScore", "MIX_AIC"},
      {"aclnnFlashAttentionScoreGrad", "MIX_AIC"},
      {"hcom_allGather_", "COMMUNICATION"},
      {"hcom_send_", "COMMUNICATION"},
      {"hcom_receive_", "COMMUNICATION"}};
  EXPECT_EQ(cores, expected);
}

TEST_F(ProfileFolderTest, MemoryIsThatOfTheStep) {
  for (const StageTimeline &stage : timeline.stages) {
    double highest = 0;
    double last = -1;
    for (const TableRow &row : read(stage.rank, "memory_record.csv")) {
      highest = std::max(highest, std::stod(row.at("Total Allocated(MB)")));
      EXPECT_EQ(std::stod(row.at("Total Reserved(MB)")) * (1 << 20),
                static_cast<double>(stage.peakBytes));
      EXPECT_EQ(row.at("Device Type"), "NPU:" + std::to_string(stage.rank));
      EXPECT_GE(std::stod(row.at("Timestamp(us)")), last);
      last = std::stod(row.at("Timestamp(us)"));
    }
    EXPECT_EQ(highest * (1 << 20), static_cast<double>(stage.peakBytes));
    EXPECT_EQ(last, 380);
  }
}

TEST_F(ProfileFolderTest, AllocationsAreRisesOfTheLevel) {
  const std::vector<TableRow> rows = read(0, "operator_memory.csv");
  ASSERT_EQ(rows.size(), 3U);
  // 16 MiB stand through the step.
  EXPECT_EQ(rows[0].at("Name"), "statics");
  EXPECT_EQ(rows[0].at("Size(KB)"), "16384");
  EXPECT_EQ(rows[0].at("Duration(us)"), "");
  EXPECT_EQ(rows[0].at("Release Total Allocated(MB)"), "");
  EXPECT_EQ(rows[1].at("Name"), "layers.0.feed_forward.silu/aclnnSilu");
  EXPECT_EQ(rows[1].at("Allocation Time(us)"), "20.125");
  EXPECT_EQ(rows[1].at("Duration(us)"), "39.875");
  EXPECT_EQ(rows[1].at("Allocation Total Allocated(MB)"), "20");
  EXPECT_EQ(rows[1].at("Release Total Allocated(MB)"), "16");
  EXPECT_EQ(rows[2].at("Name"), "layers.0.feed_forward.w1/aclnnMatmul");
  EXPECT_EQ(rows[2].at("Size(KB)"), "4096.5");
  EXPECT_EQ(rows[2].at("Duration(us)"), "20.000");
}

TEST_F(ProfileFolderTest, CommunicationHasTimesAndRates) {
  const llvm::json::Value value = readJson(0, "communication.json");
  ASSERT_TRUE(value.getAsObject());
  const llvm::json::Object *step = value.getAsObject()->getObject("step1");
  ASSERT_TRUE(step);
  const llvm::json::Object *gather =
      step->getObject("collective")->getObject("hcom_allGather__mp_0_1@mp");
  ASSERT_TRUE(gather);
  const llvm::json::Object *link =
      gather->getObject("Communication Bandwidth Info")->getObject("HCCS");
  ASSERT_TRUE(link);
  // Each of two ranks sends its half.
  EXPECT_EQ(link->getNumber("Transit Size(MB)"), 0.524288);
  EXPECT_EQ(link->getNumber("Transit Time(ms)"), 0.015);
  EXPECT_NEAR(*link->getNumber("Bandwidth(GB/s)"), 34.952533, 1e-6);
  const llvm::json::Object *receive =
      step->getObject("p2p")->getObject("hcom_receive__p2p_2_0_0_1@p2p_2_0");
  ASSERT_TRUE(receive);
  const llvm::json::Object *times =
      receive->getObject("Communication Time Info");
  EXPECT_EQ(times->getNumber("Start Timestamp(us)"), 140.0);
  EXPECT_EQ(times->getNumber("Elapse Time(ms)"), 0.045);
  EXPECT_EQ(times->getNumber("Wait Time(ms)"), 0.035);
  EXPECT_EQ(times->getNumber("Transit Time(ms)"), 0.010);
  EXPECT_EQ(step->getObject("p2p")->size(), 4U);
}

TEST_F(ProfileFolderTest, MetadataHasTheRanksOfGroups) {
  const llvm::json::Value value = parseWritten(readWritten(folder.path(
      "p/rank0000_00000000000000_ascend_ms/profiler_metadata.json")));
  const llvm::json::Object *groups =
      value.getAsObject()->getObject("parallel_group_info");
  ASSERT_TRUE(groups);
  auto getRanks = [&](const char *name) {
    const llvm::json::Object *group = groups->getObject(name);
    std::vector<int64_t> ranks;
    if (group)
      for (const llvm::json::Value &rank : *group->getArray("global_ranks"))
        ranks.push_back(*rank.getAsInteger());
    return ranks;
  };
  EXPECT_THAT(getRanks("mp"), ElementsAre(0, 1));
  EXPECT_THAT(getRanks("p2p_0_2"), ElementsAre(0, 2));
  EXPECT_THAT(getRanks("p2p_2_0"), ElementsAre(2, 0));
  EXPECT_EQ(groups->size(), 3U);
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

TEST_F(ProfileFolderTest, TheTraceShowsWhatOverlaps) {
  const llvm::json::Value value = readJson(0, "trace_view.json");
  ASSERT_TRUE(value.getAsArray());
  std::map<int64_t, std::string> processes;
  std::map<std::pair<int64_t, int64_t>, std::string> threads;
  std::map<std::string, double> lengths;
  for (const llvm::json::Value &entry : *value.getAsArray()) {
    const llvm::json::Object &event = *entry.getAsObject();
    const int64_t process = *event.getInteger("pid");
    const std::optional<int64_t> thread = event.getInteger("tid");
    if (event.getString("name") == "process_name")
      processes[process] = event.getObject("args")->getString("name")->str();
    if (event.getString("name") == "thread_name")
      threads[{process, *thread}] =
          event.getObject("args")->getString("name")->str();
    if (event.getString("ph") == "X" &&
        processes[process] == "Overlap Analysis")
      lengths[threads[{process, *thread}]] += *event.getNumber("dur");
  }
  std::vector<std::string> names;
  for (const auto &[number, name] : processes)
    names.push_back(name);
  EXPECT_THAT(names,
              ElementsAre("Scope Layer", "Ascend Hardware", "Communication",
                          "NPU MEM", "Overlap Analysis"));
  const TableRow step = readStep(0);
  for (const char *column :
       {"Computing", "Communication", "Communication(Not Overlapped)", "Free"})
    EXPECT_NEAR(lengths[column], std::stod(step.at(column)), 1e-6) << column;
}

TEST_F(ProfileFolderTest, AnEmptyFolderIsFilledAndNoOtherIs) {
  ASSERT_FALSE(llvm::sys::fs::create_directory(folder.path("empty")));
  EXPECT_EQ(getMessage(writeProfile(folder.path("empty") + "/", timeline)), "");
  EXPECT_THAT(getMessage(writeProfile(folder.path("p"), timeline)),
              HasSubstr("p: cannot write: there are files in it; expected a "
                        "new or an empty folder"));
  EXPECT_THAT(
      getMessage(writeProfile(
          folder.path("p/" + getOutput(0) + "trace_view.json"), timeline)),
      HasSubstr("cannot write: exists and is not a folder"));
  EXPECT_THAT(getMessage(writeProfile(folder.path("no/folder"), timeline)),
              HasSubstr("no/folder: cannot create: no such file or directory"));
  EXPECT_THAT(folder.list(), ElementsAre("empty", "p"));
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
  EXPECT_TRUE(
      parseWritten(readWritten(output + "trace_view.json")).getAsArray());
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
