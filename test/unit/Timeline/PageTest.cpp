//===- PageTest.cpp - A step in time as a page ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExampleTimelines.h"
#include "mf/Perf/Timeline/Writers.h"
#include "test/unit/TemporaryDirectory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf::timeline;
using testing::HasSubstr;
using testing::Not;
namespace json = llvm::json;

namespace {

std::string writeText(const StepTimeline &timeline) {
  const mf::TemporaryDirectory folder;
  llvm::cantFail(writePage(folder.path("page.html"), timeline));
  return mf::readFile(folder.path("page.html"));
}

/// The data that the page's scripts read.
json::Object readData(const std::string &page) {
  const llvm::StringRef text = page;
  const llvm::StringRef data = text.split("id=\"data\">").second;
  llvm::Expected<json::Value> value =
      json::parse(data.split("</script>").first);
  if (!value) {
    ADD_FAILURE() << toString(value.takeError());
    return {};
  }
  return *value->getAsObject();
}

/// Numbers of a member of a stage.
std::vector<int64_t> getNumbers(const json::Object &stage, const char *name) {
  std::vector<int64_t> numbers;
  for (const json::Value &value : *stage.getArray(name))
    numbers.push_back(value.getAsInteger().value_or(-1));
  return numbers;
}

TEST(PageTest, IsOneFileWithoutOthers) {
  const std::string page = writeText(makeExample());
  EXPECT_THAT(page, Not(HasSubstr("@@")));
  for (const char *other :
       {"http:", "https:", "src=", "<link", "@import", "url("})
    EXPECT_THAT(page, Not(HasSubstr(other)));
  EXPECT_THAT(page, HasSubstr("function decodeStep"));
  EXPECT_THAT(page, HasSubstr("--forward"));
}

TEST(PageTest, HasTheNumbersOfTheReport) {
  const json::Object data = readData(writeText(makeExample()));
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream writer(stream);
  writer.object([&] { writeReportMembers(makeExample(), writer); });
  llvm::Expected<json::Value> report = json::parse(text);
  ASSERT_TRUE(bool(report));
  EXPECT_EQ(*data.get("report"), *report);
  EXPECT_EQ(data.getString("limits")->substr(0, 38),
            "the step is limited by matmul (50 %), ");
  EXPECT_EQ(data.getInteger("spans"), 11);
}

TEST(PageTest, TimesAreDifferencesInTicks) {
  const json::Object data = readData(writeText(makeExample()));
  EXPECT_EQ(data.getNumber("tick"), 1e-7);
  const json::Object &stage = *(*data.getArray("stages"))[0].getAsObject();
  const int64_t second = 10000000;
  EXPECT_EQ(getNumbers(stage, "tasks"),
            (std::vector<int64_t>{-1, 0, 0, 0, second,              //
                                  -1, 0, 1, second, 5 * second / 2, //
                                  -1, 0, 0, 7 * second, 2 * second}));
  const json::Object &stream = *(*stage.getArray("streams"))[0].getAsObject();
  EXPECT_EQ(getNumbers(stream, "blocks"),
            (std::vector<int64_t>{0, second, 0, 1, 1,
                                  0, //
                                  0, 2 * second, 1, 1, 1,
                                  0, //
                                  4 * second, 2 * second, 0, 1, 1, 0}));
  // Communication 3-4.5, a stall to 6.5, a message to 7, the bubble at the end.
  EXPECT_EQ(getNumbers(stage, "gaps"),
            (std::vector<int64_t>{0, 3 * second, 3 * second / 2, //
                                  1, 0, 2 * second,              //
                                  0, 0, second / 2,              //
                                  2, 2 * second, second}));
  const int64_t gib = int64_t{1} << 30;
  EXPECT_EQ(getNumbers(stage, "memory"),
            (std::vector<int64_t>{0, 2 * gib, second, 3 * gib, 6 * second,
                                  4 * gib, 2 * second, 2 * gib}));
}

TEST(PageTest, NamesCannotEndTheScript) {
  StepTimeline timeline = makeExample();
  timeline.activities[0].cell = "</script><script>alert(1)</script><!--";
  timeline.stages[0].streams[0].name = "\xff</SCRIPT>";
  const std::string page = writeText(timeline);
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(page, Not(HasSubstr("</SCRIPT>")));
  const json::Object data = readData(page);
  EXPECT_TRUE(llvm::is_contained(*data.getArray("names"),
                                 json::Value(timeline.activities[0].cell)));
}

TEST(PageTest, ManySpansAreJoinedButTasksAreAllThere) {
  const StepTimeline timeline = makePipeline(16, 64, 2250);
  const std::string page = writeText(timeline);
  EXPECT_LT(page.size(), 10000000U);
  const json::Object data = readData(page);
  // Kernels, a collective for each four, and messages.
  EXPECT_EQ(data.getInteger("spans"), 16 * 64 * (2250 + 562) + 15 * 64);
  EXPECT_GT(*data.getNumber("resolution"), 0);
  size_t blocks = 0;
  int64_t spans = 0;
  for (const json::Value &stage : *data.getArray("stages")) {
    EXPECT_EQ(stage.getAsObject()->getArray("tasks")->size(), 64U * 5);
    for (const json::Value &stream :
         *stage.getAsObject()->getArray("streams")) {
      const auto numbers = getNumbers(*stream.getAsObject(), "blocks");
      blocks += numbers.size() / 6;
      for (size_t i = 4; i < numbers.size(); i += 6)
        spans += numbers[i];
    }
  }
  EXPECT_EQ(spans, data.getInteger("spans"));
  size_t gaps = 0;
  for (const json::Value &stage : *data.getArray("stages"))
    gaps += stage.getAsObject()->getArray("gaps")->size() / 3;
  EXPECT_LE(gaps, 40000U);
  EXPECT_GT(gaps, 500U);
  EXPECT_LE(blocks, 250000U);
  EXPECT_GT(blocks, 100000U);
}

TEST(PageTest, MemoryKeepsItsPeakWhereItIsThinnedOut) {
  StepTimeline timeline = makeExample();
  timeline.stages.resize(1);
  std::vector<MemoryPoint> &memory = timeline.stages[0].memory;
  memory.clear();
  for (int64_t i = 0; i < 100000; ++i)
    memory.push_back({10.0 * i / 100000, i == 77777 ? 5000 : i * 7919 % 4999});
  const json::Object data = readData(writeText(timeline));
  const auto numbers =
      getNumbers(*(*data.getArray("stages"))[0].getAsObject(), "memory");
  EXPECT_LE(numbers.size(), 2 * 4100U);
  EXPECT_GE(numbers.size(), 2 * 2000U);
  int64_t peak = 0, ticks = 0, peakTicks = 0;
  for (size_t i = 0; i < numbers.size(); i += 2) {
    ticks += numbers[i];
    if (numbers[i + 1] > peak) {
      peak = numbers[i + 1];
      peakTicks = ticks;
    }
  }
  EXPECT_EQ(peak, 5000);
  EXPECT_EQ(peakTicks, 77777000);
}

TEST(PageTest, AStepOfNothingIsAPage) {
  const json::Object data = readData(writeText(StepTimeline()));
  EXPECT_TRUE(data.getArray("stages")->empty());
  EXPECT_EQ(data.getString("limits"), "");
}

TEST(PageTest, AFolderThatIsNotThereIsAnError) {
  llvm::Error error = writePage("/nowhere/page.html", makeExample());
  ASSERT_TRUE(bool(error));
  EXPECT_THAT(toString(std::move(error)), HasSubstr("/nowhere/page.html"));
}

} // namespace
