// SPDX-License-Identifier: Apache-2.0
//
// test/run/trace.test reads traces of simulated and executed steps.

#include "TwoStageStep.h"
#include "WrittenFiles.h"
#include "mf/Perf/Timeline/Writers.h"
#include "gmock/gmock.h"
#include <limits>

using llvm::StringRef;
using llvm::json::Object;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace mf::timeline {

namespace {

/// An event that is read back.
struct TracedEvent {
  std::string phase;
  std::string name;
  int64_t process = 0;
  int64_t thread = -1;
  double time = 0;
  double duration = 0;
  int64_t id = -1;
  Object args;
};

class TraceTest : public testing::Test {
protected:
  /// Writes a trace and reads its events back.
  std::vector<TracedEvent> write(const StepTimeline &timeline,
                                 const std::vector<int64_t> &ranks = {}) {
    EXPECT_EQ(getError(timeline, ranks, "trace.json"), "");
    const llvm::json::Value value =
        parseWritten(readFile(folder.path("trace.json")));
    std::vector<TracedEvent> events;
    for (const llvm::json::Value &entry :
         *value.getAsObject()->getArray("traceEvents"))
      events.push_back(read(*entry.getAsObject()));
    return events;
  }

  static TracedEvent read(const Object &object) {
    TracedEvent event;
    event.phase = object.getString("ph")->str();
    event.name = object.getString("name")->str();
    event.process = *object.getInteger("pid");
    event.thread = object.getInteger("tid").value_or(-1);
    event.time = object.getNumber("ts").value_or(-1);
    event.duration = object.getNumber("dur").value_or(0);
    event.id = object.getInteger("id").value_or(-1);
    if (const Object *args = object.getObject("args"))
      event.args = *args;
    return event;
  }

  std::string getError(const StepTimeline &timeline,
                       const std::vector<int64_t> &ranks = {},
                       const char *name = "wrong.json") {
    return llvm::toString(writeTrace(folder.path(name), timeline, mesh, ranks));
  }

  const StepTimeline step = makeTwoStageStep();
  const program::Mesh mesh = makeTwoStageMesh();
  TemporaryDirectory folder;
};

int64_t findThread(llvm::ArrayRef<TracedEvent> events, int64_t process,
                   StringRef name) {
  for (const TracedEvent &event : events)
    if (event.name == "thread_name" && event.process == process &&
        event.args.getString("name") == name)
      return event.thread;
  ADD_FAILURE() << "no thread " << name.str();
  return -1;
}

std::vector<TracedEvent> getSlices(llvm::ArrayRef<TracedEvent> events,
                                   int64_t process, StringRef thread) {
  const int64_t number = findThread(events, process, thread);
  std::vector<TracedEvent> slices;
  for (const TracedEvent &event : events)
    if (event.phase == "X" && event.process == process &&
        event.thread == number)
      slices.push_back(event);
  return slices;
}

TEST_F(TraceTest, SlicesOfATrackFollowOneAnother) {
  StepTimeline timeline = step;
  // Times that are no whole nanoseconds, and a stream without a break.
  StreamTimeline &stream = timeline.stages[0].streams[0];
  stream.spans.clear();
  for (int i = 0; i < 1000; ++i)
    stream.spans.push_back({i * 1.2345678e-7, (i + 1) * 1.2345678e-7, 0, -1});
  int64_t last = 0;
  for (const TracedEvent &event : getSlices(write(timeline), 0, "compute")) {
    EXPECT_EQ(std::llround(event.time * 1000), last);
    last += std::llround(event.duration * 1000);
  }
  EXPECT_EQ(last, 123457);
}

TEST_F(TraceTest, TasksHaveTheNamesOfTheSchedule) {
  const std::vector<TracedEvent> tasks = getSlices(write(step), 0, "tasks");
  ASSERT_EQ(tasks.size(), 4U);
  EXPECT_EQ(tasks[2].name, "B0");
  EXPECT_EQ(tasks[2].time, 185);
  EXPECT_EQ(tasks[2].duration, 60);
  EXPECT_EQ(tasks[2].args.getString("phase"), "backward");
  EXPECT_EQ(tasks[3].args.getInteger("micro-batch"), 1);

  StepTimeline interleaved = step;
  interleaved.stages[0].tasks[1].chunk = 2;
  EXPECT_EQ(getSlices(write(interleaved), 0, "tasks")[1].name, "F2.1");
}

TEST_F(TraceTest, TasksThatOverlapAreBesideOneAnother) {
  StepTimeline timeline = step;
  timeline.stages[0].tasks[1].start = 30e-6;
  const std::vector<TracedEvent> events = write(timeline);
  EXPECT_EQ(getSlices(events, 0, "tasks").size(), 3U);
  const std::vector<TracedEvent> second = getSlices(events, 0, "tasks 2");
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].name, "F1");
}

TEST_F(TraceTest, AKernelSaysWhatItIs) {
  const std::vector<TracedEvent> events = write(step);
  const TracedEvent kernel = getSlices(events, 0, "compute")[0];
  EXPECT_EQ(kernel.name, "aclnnMatmul");
  EXPECT_EQ(kernel.args.getString("kind"), "matmul");
  EXPECT_EQ(kernel.args.getString("operator"), "layers.0.feed_forward.w1");
  EXPECT_EQ(kernel.args.getString("shapes"),
            "bf16[1024,512] bf16[512,2048] -> bf16[1024,2048]");
  EXPECT_EQ(kernel.args.getInteger("FLOPs"), 2'147'483'648);
  EXPECT_EQ(kernel.args.getInteger("bytes"), 7'340'032);
  // 2,147,483,648 in 20.125 us.
  EXPECT_EQ(kernel.args.getNumber("TFLOP/s"), 106.7);

  const TracedEvent collective = getSlices(events, 0, "collective.mp")[0];
  EXPECT_EQ(collective.name, "all_gather over mp");
  EXPECT_EQ(collective.args.getString("networks"), "hccs");
  EXPECT_EQ(collective.args.getString("ranks"), "0 1");
  // 1,048,576 bytes in 15 us.
  EXPECT_EQ(collective.args.getNumber("GB/s"), 69.91);
}

TEST_F(TraceTest, AnArrowDoesNotGoBackInTime) {
  StepTimeline timeline = step;
  // The receive is over before the send begins: clocks are apart.
  timeline.stages[1].streams[3].spans[0] = {1e-6, 2e-6, 8, 0};
  // One waits long for its message.
  timeline.stages[1].streams[3].spans[1].start = 100e-6;
  std::vector<double> begins, ends;
  for (const TracedEvent &event : write(timeline)) {
    if (event.phase == "s")
      begins.push_back(event.time);
    if (event.phase == "f")
      ends.push_back(event.time);
  }
  EXPECT_THAT(begins, ElementsAre(115, 175, 275));
  EXPECT_THAT(ends, ElementsAre(115, 175, 275));
}

TEST_F(TraceTest, MemoryIsShownToTheByte) {
  std::vector<std::pair<double, int64_t>> levels, limits;
  for (const TracedEvent &event : write(step)) {
    if (event.process != 0 || event.phase != "C")
      continue;
    (event.name == "memory" ? levels : limits)
        .emplace_back(event.time, *event.args.getInteger("bytes"));
  }
  // The highest of the levels at 60 us stays.
  EXPECT_THAT(levels,
              ElementsAre(std::pair(0, 16'777'216),
                          std::pair(20.125, 20'971'520),
                          std::pair(60, 20'972'032), std::pair(80, 16'777'216),
                          std::pair(380, 16'777'216)));
  EXPECT_THAT(limits, ElementsAre(std::pair(0, 67'108'864),
                                  std::pair(380, 67'108'864)));
}

TEST_F(TraceTest, NoThreadHasTheNumberOfAProcess) {
  for (const TracedEvent &event : write(step))
    EXPECT_TRUE(event.thread < 0 || event.thread >= mesh.getNumRanks());
}

TEST_F(TraceTest, RanksOfUnknownStagesAreRefused) {
  StepTimeline part = step;
  part.stages.pop_back();
  part.flows.clear();
  EXPECT_EQ(getError(part, {3}),
            "cannot show rank 3: nothing is known of stage 1");
  EXPECT_EQ(getError(part, {-1}),
            "cannot show rank -1 in the trace: expected one of 0 to 3");
  EXPECT_THAT(folder.list(), IsEmpty());
}

TEST_F(TraceTest, WhatIsWrongIsNotWritten) {
  auto expectError = [&](llvm::function_ref<void(StepTimeline &)> change,
                         StringRef message) {
    StepTimeline wrong = step;
    change(wrong);
    EXPECT_THAT(getError(wrong), HasSubstr(message.str()));
  };
  expectError(
      [](StepTimeline &wrong) {
        wrong.stages[0].streams[0].spans[1].end =
            std::numeric_limits<double>::infinity();
      },
      "span 1 of stream 'compute' has a time that is not finite");
  expectError(
      [](StepTimeline &wrong) {
        wrong.stages[0].streams[0].spans[1].start = 1e-6;
      },
      "begins before the one in front of it ends");
  expectError(
      [](StepTimeline &wrong) {
        std::swap(wrong.stages[0].streams[0].spans[1].start,
                  wrong.stages[0].streams[0].spans[1].end);
      },
      "ends before it begins");
  expectError(
      [](StepTimeline &wrong) {
        wrong.stages[0].streams[0].spans[1].activity = 99;
      },
      "is of an activity that is not there");
  expectError([](StepTimeline &wrong) { wrong.flows[0].to.span = 99; },
              "a message is of a span that is not there");
  EXPECT_THAT(folder.list(), IsEmpty());
}

TEST_F(TraceTest, AnyNameIsValidJson) {
  StepTimeline strange = step;
  strange.activities[0].name = "\"\\\x01\n\xff\xc3\xa9";
  strange.program = "a\"b";
  strange.stages[0].streams[0].name = "\xf0\x28";
  const std::vector<TracedEvent> events = write(strange);
  bool isThere = false;
  for (const TracedEvent &event : events)
    isThere |= event.name == "\"\\\x01\n\xef\xbf\xbd\xc3\xa9";
  EXPECT_TRUE(isThere);
}

TEST_F(TraceTest, LargeTracesSayOnceWhatKernelsTake) {
  StepTimeline large = step;
  StreamTimeline &stream = large.stages[0].streams[0];
  stream.spans.clear();
  for (int i = 0; i < 250'000; ++i)
    stream.spans.push_back({i * 1e-6, (i + 1) * 1e-6, 0, -1});
  ASSERT_EQ(getError(large, {}, "large.json"), "");
  const std::string written = readFile(folder.path("large.json"));
  const StringRef all(written);
  EXPECT_EQ(all.count("\"name\":\"aclnnMatmul\",\"args\":{\"kind\":\"matmul\","
                      "\"operator\":\"layers.0.feed_forward.w1\""),
            250'000U + 4U);
  // Once on each rank.
  EXPECT_EQ(all.count("\"shapes\":\"bf16[1024,512] bf16[512,2048] ->"), 2U);
  EXPECT_EQ(all.count("\"TFLOP/s\":2147}"), 250'000U);
}

} // namespace

} // namespace mf::timeline
