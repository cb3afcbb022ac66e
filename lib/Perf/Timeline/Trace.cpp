//===- Trace.cpp - A step as a trace for Perfetto -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A process for each rank shown, in it a thread for its tasks and one for each
// stream, a counter for its memory, and arrows from sends to receives.
//
//===----------------------------------------------------------------------===//

#include "TimelineText.h"
#include "TraceEvents.h"
#include "mf/Perf/Timeline/Writers.h"
#include "mf/Support/AtomicFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <algorithm>
#include <map>
#include <set>

using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

namespace mf::timeline {

namespace {

/// The JSON that all spans of an activity share, which is made once.
struct ActivityText {
  std::string name;
  /// Members of an object that identify the activity's place in the model.
  std::string brief;
  /// Members with its inputs and outputs.
  std::string details;
};

/// Returns the ranks, for example "0 1 2 3". If there are many, only the first
/// ones and the number are named.
std::string getRanks(const Activity &activity) {
  constexpr size_t maxListed = 16;
  const llvm::ArrayRef<int64_t> ranks = activity.ranks;
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(ranks.take_front(maxListed), os, " ");
  if (ranks.size() > maxListed)
    os << " ... (" << ranks.size() << ")";
  return text;
}

} // namespace

static ActivityText makeText(const Activity &activity) {
  ActivityText text;
  text.name = quoteJson(getSpanName(activity));
  auto add = [](std::string &members, StringRef key, const Twine &value) {
    if (!members.empty())
      members += ',';
    members += (quoteJson(key) + ":" + value).str();
  };
  if (!activity.kind.empty() && activity.kind != getSpanName(activity))
    add(text.brief, "kind", quoteJson(activity.kind));
  if (!activity.cell.empty())
    add(text.brief, "operator", quoteJson(activity.cell));
  std::string shapes = getShapes(activity);
  if (!shapes.empty())
    add(text.details, "shapes", quoteJson(shapes));
  if (activity.flops > 0)
    add(text.details, "FLOPs", Twine(activity.flops));
  if (activity.bytes > 0)
    add(text.details, "bytes", Twine(activity.bytes));
  if (!activity.networks.empty())
    add(text.details, "networks",
        quoteJson(llvm::join(activity.networks, " ")));
  if (!activity.ranks.empty())
    add(text.details, "ranks", quoteJson(getRanks(activity)));
  return text;
}

/// Returns a member with the rate of a span: of FLOPs on the cube, and
/// otherwise of bytes. Empty if there is none. The text is stored in `storage`.
static StringRef makeRate(const Activity &activity, Nanoseconds duration,
                          llvm::SmallVectorImpl<char> &storage) {
  const bool computes = activity.engine == Engine::Cube && activity.flops > 0 &&
                        activity.category == Category::Kernel;
  const auto amount =
      static_cast<double>(computes ? activity.flops : activity.bytes);
  if (duration <= 0 || amount <= 0)
    return {};
  storage.clear();
  llvm::raw_svector_ostream os(storage);
  // The rate is an amount per nanosecond, of which there are 10^9 in a second.
  if (computes)
    os << "\"TFLOP/s\":"
       << llvm::format("%.4g", amount / static_cast<double>(duration) / 1000);
  else
    os << "\"GB/s\":"
       << llvm::format("%.4g", amount / static_cast<double>(duration));
  return os.str();
}

namespace {

/// Up to this number of spans, each one has all of its details. In a longer
/// trace, operands, sizes and FLOPs are only written at the first span of an
/// activity on a rank, which halves the bytes that a viewer has to read.
constexpr size_t maxDetailedSpans = 250'000;

StringRef getPhaseName(schedule::Phase phase) {
  switch (phase) {
  case schedule::Phase::Forward:
    return "forward";
  case schedule::Phase::Backward:
    return "backward";
  case schedule::Phase::InputGradient:
    return "input gradient";
  case schedule::Phase::WeightGradient:
    return "weight gradient";
  case schedule::Phase::Recompute:
    return "recompute";
  }
  llvm_unreachable("covers all phases");
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// A rank, which is shown with the times of the rank that represents its stage.
struct ShownRank {
  int64_t rank = 0;
  /// Index into StepTimeline::stages.
  size_t stage = 0;
  /// A number that ranks share which send messages to each other.
  int64_t line = 0;
};

llvm::Expected<std::vector<ShownRank>>
getShownRanks(const StepTimeline &timeline, const program::Mesh &mesh,
              ArrayRef<int64_t> ranks) {
  std::vector<ShownRank> shown;
  for (size_t stage = 0; stage < timeline.stages.size() && ranks.empty();
       ++stage)
    shown.push_back({timeline.stages[stage].rank, stage, 0});
  for (int64_t rank : ranks) {
    auto stage =
        llvm::find_if(timeline.stages, [&](const StageTimeline &candidate) {
          return candidate.stage == mesh.getStage(rank);
        });
    if (stage == timeline.stages.end())
      return createStringError("cannot show rank " + Twine(rank) +
                               ": nothing is known of stage " +
                               Twine(mesh.getStage(rank)));
    shown.push_back({rank, static_cast<size_t>(stage - timeline.stages.begin()),
                     rank % mesh.getRanksPerStage()});
  }
  return shown;
}

//===----------------------------------------------------------------------===//
// Tracks
//===----------------------------------------------------------------------===//

/// The threads of a stage's ranks: one for tasks, or more if tasks overlap,
/// followed by one for each stream.
struct StageTracks {
  /// For each lane, its tasks in the order of time.
  std::vector<std::vector<uint32_t>> lanes;
  /// Streams in the order in which they are shown.
  std::vector<uint32_t> streams;
  /// The thread of each stream.
  std::vector<uint32_t> threadOfStream;
};

StageTracks makeTracks(const StageTimeline &stage) {
  StageTracks tracks;
  tracks.lanes = makeLanes(stage.tasks);
  tracks.streams = getStreamOrder(stage);
  tracks.threadOfStream.resize(stage.streams.size());
  auto thread = static_cast<uint32_t>(tracks.lanes.size());
  for (uint32_t stream : tracks.streams)
    tracks.threadOfStream[stream] = thread++;
  return tracks;
}

//===----------------------------------------------------------------------===//
// TraceWriter
//===----------------------------------------------------------------------===//

class TraceWriter {
public:
  TraceWriter(const StepTimeline &timeline, int64_t numRanks,
              ArrayRef<ShownRank> ranks, llvm::raw_ostream &os)
      : timeline(timeline), firstThread(numRanks), ranks(ranks), events(os) {
    for (const Activity &activity : timeline.activities)
      texts.push_back(makeText(activity));
    for (const StageTimeline &stage : timeline.stages)
      tracks.push_back(makeTracks(stage));
    size_t numSpans = 0;
    for (const ShownRank &rank : ranks)
      for (const StreamTimeline &stream : timeline.stages[rank.stage].streams)
        numSpans += stream.spans.size();
    isDetailed = numSpans <= maxDetailedSpans;
  }

  void write() {
    for (size_t position = 0; position < ranks.size(); ++position) {
      nameTracks(ranks[position], static_cast<int64_t>(position));
      addTasks(ranks[position]);
      addStreams(ranks[position]);
      addMemory(ranks[position]);
    }
    addFlows();
    events.finish();
  }

private:
  /// Threads have numbers that no process has, because viewers take a thread
  /// with the number of its process for the main thread.
  TrackId getTrack(const ShownRank &rank, size_t thread) const {
    return {rank.rank, firstThread + static_cast<int64_t>(thread)};
  }
  TrackId getTrack(const ShownRank &rank, const SpanId &id) const {
    return getTrack(rank, tracks[rank.stage].threadOfStream[id.stream]);
  }
  const Span &getSpan(const SpanId &id) const {
    return timeline.stages[id.stage].streams[id.stream].spans[id.span];
  }

  void nameTracks(const ShownRank &rank, int64_t position) {
    const StageTimeline &stage = timeline.stages[rank.stage];
    std::string labels =
        "arena of " + std::to_string(stage.peakBytes) + " bytes";
    if (stage.limitBytes > 0)
      labels += ", limit " + std::to_string(stage.limitBytes);
    events.nameProcess(rank.rank,
                       "stage " + std::to_string(stage.stage) + ", rank " +
                           std::to_string(rank.rank),
                       position, labels);
    const StageTracks &threads = tracks[rank.stage];
    int64_t thread = 0;
    for (size_t lane = 0; lane < threads.lanes.size(); ++lane, ++thread)
      events.nameThread(
          getTrack(rank, thread),
          lane == 0 ? "tasks" : "tasks " + std::to_string(lane + 1), thread);
    for (uint32_t stream : threads.streams) {
      events.nameThread(getTrack(rank, thread), stage.streams[stream].name,
                        thread);
      ++thread;
    }
  }

  void addTasks(const ShownRank &rank) {
    const StageTimeline &stage = timeline.stages[rank.stage];
    const TaskNames names(timeline);
    const StageTracks &threads = tracks[rank.stage];
    for (size_t lane = 0; lane < threads.lanes.size(); ++lane)
      for (uint32_t number : threads.lanes[lane]) {
        const TaskSpan &task = stage.tasks[number];
        std::string args = ("\"phase\":" + quoteJson(getPhaseName(task.phase)) +
                            ",\"chunk\":" + Twine(task.chunk) +
                            ",\"micro-batch\":" + Twine(task.microBatch))
                               .str();
        events.addSlice(getTrack(rank, lane), toNanoseconds(task.start),
                        toNanoseconds(task.end), quoteJson(names.get(task)),
                        args);
      }
  }

  void addStreams(const ShownRank &rank) {
    const StageTimeline &stage = timeline.stages[rank.stage];
    std::vector<bool> isKnown(texts.size());
    llvm::SmallString<32> storage;
    for (uint32_t stream : tracks[rank.stage].streams) {
      const TrackId track =
          getTrack(rank, tracks[rank.stage].threadOfStream[stream]);
      for (const Span &span : stage.streams[stream].spans) {
        const Nanoseconds start = toNanoseconds(span.start);
        const Nanoseconds end = toNanoseconds(span.end);
        const ActivityText &text = texts[span.activity];
        events.beginSlice(track, start, end, text.name);
        events.addArgs(text.brief);
        if (isDetailed || !isKnown[span.activity])
          events.addArgs(text.details);
        events.addArgs(
            makeRate(timeline.activities[span.activity], end - start, storage));
        events.endSlice();
        isKnown[span.activity] = true;
      }
    }
  }

  void addMemory(const ShownRank &rank) {
    const StageTimeline &stage = timeline.stages[rank.stage];
    for (const MemoryLevel &level : getMemoryLevels(timeline, stage))
      events.addCounter(rank.rank, level.time, "\"memory\"", "\"bytes\"",
                        level.bytes);
    if (stage.limitBytes > 0)
      for (Nanoseconds time : {Nanoseconds(0), toNanoseconds(timeline.seconds)})
        events.addCounter(rank.rank, time, "\"memory limit\"", "\"bytes\"",
                          stage.limitBytes);
  }

  void addFlows() {
    std::map<std::pair<size_t, int64_t>, const ShownRank *> rankOf;
    for (const ShownRank &rank : ranks)
      rankOf[{rank.stage, rank.line}] = &rank;
    for (const Flow &flow : timeline.flows) {
      // The program does not determine which rank of its own stage receives a
      // message.
      if (flow.from.stage == flow.to.stage)
        continue;
      for (const ShownRank &from : ranks)
        if (from.stage == flow.from.stage)
          if (auto to = rankOf.find({flow.to.stage, from.line});
              to != rankOf.end())
            addFlow(flow, from, *to->second);
    }
  }

  void addFlow(const Flow &flow, const ShownRank &from, const ShownRank &to) {
    const Span &source = getSpan(flow.from);
    const Span &target = getSpan(flow.to);
    const Nanoseconds begin = toNanoseconds(source.start);
    // The arrow ends within the target, and not before it begins.
    const Nanoseconds end =
        std::min(std::max(toNanoseconds(target.start), begin),
                 toNanoseconds(target.end) - 1);
    // An arrow needs slices at both ends, which messages without duration do
    // not have. It must not go back in time, which could happen if clocks
    // differ.
    if (begin == toNanoseconds(source.end) || end < begin)
      return;
    events.addFlowBegin(getTrack(from, flow.from), begin, numFlows);
    events.addFlowEnd(getTrack(to, flow.to), end, numFlows);
    ++numFlows;
  }

  const StepTimeline &timeline;
  const int64_t firstThread;
  ArrayRef<ShownRank> ranks;
  TraceEvents events;
  /// The text of each activity.
  std::vector<ActivityText> texts;
  /// The tracks of each stage.
  std::vector<StageTracks> tracks;
  bool isDetailed = true;
  int64_t numFlows = 0;
};

/// Writes the step's numbers, for users who open the file in an editor.
void printStep(const StepTimeline &timeline, llvm::raw_ostream &os) {
  os << "{\"program\":" << quoteJson(timeline.program)
     << ",\"simulated\":" << (timeline.isSimulated ? "true" : "false");
  if (!timeline.target.empty())
    os << ",\"target\":" << quoteJson(timeline.target);
  os << ",\"ranks\":" << timeline.numRanks << ",\"step_microseconds\":";
  printMicroseconds(os, toNanoseconds(timeline.seconds));
  os << '}';
}

} // namespace

Error checkTraceRanks(const program::Mesh &mesh, ArrayRef<int64_t> ranks) {
  std::set<int64_t> seen;
  for (int64_t rank : ranks) {
    if (rank < 0 || rank >= mesh.getNumRanks())
      return createStringError("cannot show rank " + Twine(rank) +
                               " in the trace: expected one of " +
                               (mesh.getNumRanks() == 1
                                    ? Twine("rank 0 alone")
                                    : "0 to " + Twine(mesh.getNumRanks() - 1)));
    if (!seen.insert(rank).second)
      return createStringError("cannot show rank " + Twine(rank) +
                               " twice in the trace: expected each once");
  }
  return Error::success();
}

Error writeTrace(StringRef path, const StepTimeline &timeline,
                 const program::Mesh &mesh, ArrayRef<int64_t> ranks) {
  if (Error error = checkTraceRanks(mesh, ranks))
    return error;
  if (Error error = checkTimes(timeline))
    return error;
  llvm::Expected<std::vector<ShownRank>> shown =
      getShownRanks(timeline, mesh, ranks);
  if (!shown)
    return shown.takeError();
  return writeFileAtomically(path, [&](llvm::raw_ostream &os) {
    os << "{\"displayTimeUnit\":\"ms\",\"otherData\":";
    printStep(timeline, os);
    os << ",\"traceEvents\":";
    TraceWriter(timeline, mesh.getNumRanks(), *shown, os).write();
    os << "}\n";
  });
}

} // namespace mf::timeline
