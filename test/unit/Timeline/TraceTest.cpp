// SPDX-License-Identifier: Apache-2.0

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
    text = readWritten(folder.path("trace.json"));
    const llvm::json::Value value = parseWritten(text);
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
  ScratchFolder folder;
  /// The text of the last trace.
  std::string text;
};

std::vector<std::string> getNames(llvm::ArrayRef<TracedEvent> events,
                                  StringRef kind, int64_t process = -1) {
  std::vector<std::string> names;
  for (const TracedEvent &event : events)
    if (event.name == kind && (process < 0 || event.process == process))
      names.push_back(event.args.getString("name")->str());
  return names;
}

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

/// Whether there is a slice of a thread of that name around the event.
bool isOnSlice(llvm::ArrayRef<TracedEvent> events, const TracedEvent &event,
               StringRef thread) {
  return event.thread == findThread(events, event.process, thread) &&
         llvm::any_of(getSlices(events, event.process, thread),
                      [&](const TracedEvent &slice) {
                        return slice.time <= event.time &&
                               event.time < slice.time + slice.duration;
                      });
}

TEST_F(TraceTest, ShowsARankOfEachStage) {
  const std::vector<TracedEvent> events = write(step);
  EXPECT_THAT(getNames(events, "process_name"),
              ElementsAre("stage 0, rank 0", "stage 1, rank 2"));
  for (int64_t rank : {0, 2})
    EXPECT_THAT(getNames(events, "thread_name", rank),
                ElementsAre("tasks", "compute", "collective.mp", "send.pp",
                            "receive.pp", "d2h", "h2d"));
  // No thread has the number of a process.
  for (const TracedEvent &event : events)
    EXPECT_TRUE(event.thread < 0 || event.thread >= mesh.getNumRanks());
}

TEST_F(TraceTest, TimesAreMicrosecondsDownToNanoseconds) {
  const std::vector<TracedEvent> kernels = getSlices(write(step), 0, "compute");
  ASSERT_EQ(kernels.size(), 11U);
  EXPECT_EQ(kernels[1].time, 20.125);
  EXPECT_EQ(kernels[1].duration, 9.875);
  EXPECT_THAT(text, HasSubstr("\"ts\":20.125,\"dur\":9.875,\"name\":"
                              "\"aclnnSilu\""));
  EXPECT_THAT(text, HasSubstr("\"ts\":185,\"dur\":40,"));
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
  const std::vector<TracedEvent> events = write(step);
  const std::vector<TracedEvent> tasks = getSlices(events, 0, "tasks");
  std::vector<std::string> names;
  for (const TracedEvent &event : tasks)
    names.push_back(event.name);
  EXPECT_THAT(names, ElementsAre("F0", "F1", "B0", "B1"));
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

TEST_F(TraceTest, ArrowsGoFromSendsToReceives) {
  const std::vector<TracedEvent> events = write(step);
  std::map<int64_t, TracedEvent> begins, ends;
  for (const TracedEvent &event : events) {
    if (event.phase == "s")
      EXPECT_TRUE(begins.emplace(event.id, event).second);
    if (event.phase == "f")
      EXPECT_TRUE(ends.emplace(event.id, event).second);
  }
  ASSERT_EQ(begins.size(), 4U);
  ASSERT_EQ(ends.size(), 4U);
  for (const auto &[id, begin] : begins) {
    const TracedEvent &end = ends.at(id);
    EXPECT_NE(begin.process, end.process);
    EXPECT_LE(begin.time, end.time);
    EXPECT_TRUE(isOnSlice(events, begin, "send.pp"));
    EXPECT_TRUE(isOnSlice(events, end, "receive.pp"));
  }
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

TEST_F(TraceTest, RanksAreShownAsThoseOfTheirStages) {
  const std::vector<TracedEvent> events = write(step, {3, 0, 1});
  EXPECT_THAT(
      getNames(events, "process_name"),
      ElementsAre("stage 1, rank 3", "stage 0, rank 0", "stage 0, rank 1"));
  EXPECT_EQ(getSlices(events, 1, "compute").size(),
            getSlices(events, 0, "compute").size());
  // Rank 2, which rank 0 talks to, is not shown.
  int64_t arrows = 0;
  for (const TracedEvent &event : events)
    if (event.phase == "s" || event.phase == "f") {
      EXPECT_NE(event.process, 0);
      ++arrows;
    }
  EXPECT_EQ(arrows, 8);
}

TEST_F(TraceTest, RanksThatAreNotThereOrTwiceAreRefused) {
  EXPECT_EQ(getError(step, {0, 4}),
            "cannot show rank 4 in the trace: expected one of 0 to 3");
  EXPECT_EQ(getError(step, {-1}),
            "cannot show rank -1 in the trace: expected one of 0 to 3");
  EXPECT_EQ(getError(step, {2, 0, 2}),
            "cannot show rank 2 twice in the trace: expected each once");
  StepTimeline part = step;
  part.stages.pop_back();
  part.flows.clear();
  EXPECT_EQ(getError(part, {3}),
            "cannot show rank 3: nothing is known of stage 1");
  EXPECT_THAT(folder.list(), IsEmpty());
}

TEST_F(TraceTest, AFileInTheWayIsAnError) {
  ASSERT_FALSE(llvm::sys::fs::create_directory(folder.path("folder")));
  EXPECT_THAT(getError(step, {}, "folder"),
              HasSubstr("folder: cannot write: exists and is not a regular "
                        "file"));
  EXPECT_THAT(getError(step, {}, "no/trace.json"),
              HasSubstr("no/trace.json: cannot create: no such file"));
  EXPECT_THAT(folder.list(), ElementsAre("folder"));
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

TEST_F(TraceTest, TheSameStepHasTheSameBytes) {
  write(step);
  const std::string first = text;
  write(step);
  EXPECT_EQ(first, text);
}

TEST_F(TraceTest, LargeTracesSayOnceWhatKernelsTake) {
  StepTimeline large = step;
  StreamTimeline &stream = large.stages[0].streams[0];
  stream.spans.clear();
  for (int i = 0; i < 250'000; ++i)
    stream.spans.push_back({i * 1e-6, (i + 1) * 1e-6, 0, -1});
  ASSERT_EQ(getError(large, {}, "large.json"), "");
  const std::string written = readWritten(folder.path("large.json"));
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
