//===- ComparisonTest.cpp - Differences between two steps in time ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExampleTimelines.h"
#include "mf/Perf/Timeline/Writers.h"
#include "test/unit/TemporaryDirectory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf::timeline;
using testing::HasSubstr;
using testing::Not;

namespace {

// test/run/compare.test has a step that does not differ, and one of other
// stages.
class ComparisonTest : public testing::Test {
protected:
  const mf::TemporaryDirectory folder;
  const std::string path = folder.path("report.json");

  void write(const std::string &text) { folder.write("report.json", text); }

  void writeExample() {
    llvm::Error error = writeReport(path, makeExample());
    ASSERT_FALSE(bool(error)) << toString(std::move(error));
  }

  /// The members of the example's report.
  static std::string getMembers() {
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::json::OStream json(stream);
    json.object([&] { writeReportMembers(makeExample(), json); });
    return text;
  }

  /// The printed comparison, or the error.
  std::string compare(const StepTimeline &timeline) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (llvm::Error error = compareWithReport(timeline, path, stream)) {
      EXPECT_EQ(text, "");
      return "error: " + toString(std::move(error));
    }
    return text;
  }
};

TEST_F(ComparisonTest, SaysWhatDiffersLargestFirst) {
  writeExample();
  StepTimeline timeline = makeExample();
  timeline.isSimulated = false;
  timeline.seconds = 12.5;
  timeline.stages[1].streams[0].spans[0].start = 5.5;
  timeline.stages[0].peakBytes = int64_t{5} << 30;
  timeline.stages[0].secondsByKind["matmul"] = 2;
  timeline.stages[0].secondsByKind["softmax"] = 4;
  timeline.stages[0].secondsByKind.erase("norm");
  EXPECT_EQ(compare(timeline),
            "report: " + path + R"(, simulated; this step: executed
step in s  report  this step  difference      %
step       10.000     12.500      +2.500  +25.0
tokens/s per NPU  report  this step  difference      %
step               200.0      160.0       -40.0  -20.0
stages in s     report  this step  difference       %
stage 1 bubble   6.500     10.000      +3.500   +53.8
stage 0 bubble   1.000      3.500      +2.500  +250.0
stage 1 busy     2.000      1.000      -1.000   -50.0
peak memory in GiB  report  this step  difference      %
stage 0              4.000      5.000      +1.000  +25.0
work in s, of all stages  report  this step  difference      %
softmax                    0.000      4.000      +4.000    new
norm                       2.000      0.000      -2.000   gone
matmul                     5.000      4.000      -1.000  -20.0
)");
}

TEST_F(ComparisonTest, MalformedReportsAreErrorsWithAPlace) {
  EXPECT_THAT(compare(makeExample()), HasSubstr("error: " + path + ": cannot"));
  write("{");
  EXPECT_THAT(compare(makeExample()), HasSubstr(path + ": malformed JSON"));
  write("[]");
  EXPECT_THAT(compare(makeExample()), HasSubstr("expected a JSON object"));
  write(std::string(100, '['));
  EXPECT_THAT(compare(makeExample()), HasSubstr("nested 100 deep"));
  write("{\"step_seconds\": 1, \"step_seconds\": 1}");
  EXPECT_THAT(compare(makeExample()), HasSubstr("appears twice"));
  // A report of an execution without a step in time.
  write("{\"program\": \"step.mlir\", \"steps\": [], \"ranks\": []}");
  EXPECT_EQ(compare(makeExample()),
            "error: " + path +
                ": 'step_seconds' is missing, expected a number from 0 to "
                "1e18, as in the report of a step in time (mf-run "
                "--report)");
}

TEST_F(ComparisonTest, NumbersOutOfRangeAreNamed) {
  for (const char *member : {"step_seconds", "stall_seconds",
                             "exposed_communication_seconds", "peak_bytes"})
    for (const char *number : {"-1", "1e19", "1e308"}) {
      std::string text = getMembers();
      const size_t place = text.find(':', text.find(member)) + 1;
      text.replace(place, text.find_first_of(",}", place) - place, number);
      write(text);
      EXPECT_THAT(compare(makeExample()),
                  HasSubstr(std::string(member) + "' is something else, "
                                                  "expected a"));
    }
}

/// Every number that is compared, missing or of another type, is named.
TEST_F(ComparisonTest, MissingMembersAreNamed) {
  const std::string members[] = {
      "step_seconds",  "tokens_per_second_per_npu",
      "source",        "stages",
      "busy_seconds",  "bubble_seconds",
      "stall_seconds", "exposed_communication_seconds",
      "peak_bytes",    "seconds_by_kind"};
  for (const std::string &member : members) {
    const std::string text = getMembers();
    const size_t place = text.find("\"" + member + "\"");
    ASSERT_NE(place, std::string::npos) << member;
    std::string without = text, wrong = text;
    without.insert(place + 1, "x");
    write(without);
    EXPECT_THAT(compare(makeExample()), HasSubstr(member + "' is missing"));
    wrong.insert(text.find(':', place) + 1, "true,\"x\":");
    write(wrong);
    EXPECT_THAT(compare(makeExample()),
                HasSubstr(member + "' is something else"));
  }
}

TEST_F(ComparisonTest, OtherMembersAreNoMatter) {
  write("{\"seed\": 1, \"step_seconds\": 10, \"tokens_per_second_per_npu\": "
        "200, \"source\": \"executed\", \"steps\": [{}], \"stages\": []}");
  StepTimeline timeline = makeExample();
  timeline.stages.clear();
  EXPECT_THAT(compare(timeline), HasSubstr("executed; this step: simulated"));
  EXPECT_THAT(compare(timeline), Not(HasSubstr("error")));
}

} // namespace
