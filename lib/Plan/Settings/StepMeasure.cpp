//===- StepMeasure.cpp - Costs of a compiled step -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Settings/StepMeasure.h"
#include "mf/Perf/Simulator/StepSimulator.h"
#include "mf/Program/StepTasks.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace mf;
using namespace mf::planner;
using llvm::Expected;

namespace {

/// The shortest run of each phase of a chunk, which is the one that waited
/// least.
struct ShortestTasks {
  double forward = std::numeric_limits<double>::infinity();
  double backward = forward, input = forward, weight = forward;
  double recompute = forward;
  uint32_t layout = 0;

  void add(const timeline::TaskSpan &task) {
    const double time = task.end - task.start;
    double &shortest = task.phase == schedule::Phase::Forward         ? forward
                       : task.phase == schedule::Phase::Backward      ? backward
                       : task.phase == schedule::Phase::InputGradient ? input
                       : task.phase == schedule::Phase::Recompute ? recompute
                                                                  : weight;
    shortest = std::min(shortest, time);
  }
};

} // namespace

static int64_t getStaticBytes(const program::StageProgram &stage) {
  int64_t bytes = 0;
  for (const program::Static &entry : stage.statics)
    if (entry.space == program::Space::Device)
      bytes += entry.bytes;
  return bytes;
}

/// Returns the time for which any stream works after `begin`.
static double sumWork(const timeline::StageTimeline &stage, double begin) {
  std::vector<std::pair<double, double>> spans;
  for (const timeline::StreamTimeline &stream : stage.streams)
    for (const timeline::Span &span : stream.spans)
      if (span.end > begin)
        spans.emplace_back(std::max(span.start, begin), span.end);
  std::sort(spans.begin(), spans.end());
  double work = 0, reached = begin;
  for (const auto &[start, end] : spans) {
    work += std::max(0.0, end - std::max(start, reached));
    reached = std::max(reached, end);
  }
  return work;
}

/// Returns the average time of a message, from the arrival of both sides.
static double getTransferTime(const timeline::StepTimeline &timeline) {
  double seconds = 0, count = 0;
  for (const timeline::StageTimeline &stage : timeline.stages)
    for (const timeline::StreamTimeline &stream : stage.streams)
      for (const timeline::Span &span : stream.spans)
        if (timeline.activities[span.activity].category ==
            timeline::Category::Send) {
          seconds += span.end - span.start;
          ++count;
        }
  return count > 0 ? seconds / count : 0;
}

static ChunkMeasure makeChunk(int64_t stage, const ShortestTasks &tasks,
                              int64_t frameBytes) {
  ChunkMeasure chunk;
  chunk.stage = stage;
  chunk.frameBytes = frameBytes;
  chunk.forward = tasks.forward;
  const bool isSplit = std::isfinite(tasks.input);
  chunk.weightGradient = isSplit ? tasks.weight : 0;
  chunk.backward = isSplit ? tasks.input + tasks.weight : tasks.backward;
  // Neither this chunk nor an earlier one has anything to train.
  if (!std::isfinite(chunk.backward))
    chunk.backward = 0;
  chunk.recompute = std::isfinite(tasks.recompute) ? tasks.recompute : 0;
  chunk.backward += chunk.recompute;
  return chunk;
}

/// Returns the bytes of the parts of a layout's frames that the forward does
/// not use, if there are recompute tasks. Micro-batches without such a task
/// have frames of another layout.
static int64_t getRecomputedBytes(const program::StageProgram &stage,
                                  llvm::ArrayRef<program::StepTask> tasks,
                                  uint32_t layout) {
  auto find = [&](schedule::Phase phase) {
    return llvm::find_if(tasks, [&](const program::StepTask &task) {
      const program::Call *call =
          stage.step.getCall(stage.step.instructions[task.calls.front()]);
      return task.phase == phase && stage.frames[*call->frame].layout == layout;
    });
  };
  const auto forward = find(schedule::Phase::Forward);
  if (find(schedule::Phase::Recompute) == tasks.end() || forward == tasks.end())
    return 0;
  const program::FrameLayout &frame = stage.layouts[layout];
  std::vector<bool> isUsed(frame.parts.size(), false);
  for (const uint32_t position : forward->calls) {
    const program::Call *call =
        stage.step.getCall(stage.step.instructions[position]);
    for (const program::Buffer &buffer :
         stage.routines[call->routine].body.buffers)
      if (buffer.kind == program::BufferKind::Slot &&
          buffer.space == program::Space::Device)
        isUsed[frame.slots[buffer.index].part] = true;
  }
  int64_t bytes = 0;
  for (size_t part = 0; part < isUsed.size(); ++part)
    bytes += isUsed[part] ? 0 : frame.getPartBytes(static_cast<uint32_t>(part));
  return bytes;
}

bool StepMeasure::fits(int64_t limitBytes) const {
  return llvm::all_of(stages, [&](const StageMeasure &stage) {
    return stage.getMissingBytes(limitBytes) <= 0;
  });
}

bool StepMeasure::isExact() const {
  return llvm::all_of(stages,
                      [](const StageMeasure &stage) { return stage.isExact; });
}

size_t StepMeasure::findFullest() const {
  return static_cast<size_t>(
      llvm::max_element(stages,
                        [](const StageMeasure &a, const StageMeasure &b) {
                          return a.peakBytes < b.peakBytes;
                        }) -
      stages.begin());
}

Expected<StepMeasure> planner::measureStep(const CompiledStep &step,
                                           const target::Target &target,
                                           bool withCriticalPath) {
  simulator::SimulationOptions options;
  options.withSpans = false;
  options.withCriticalPath = withCriticalPath;
  options.withPeakContents = false;
  options.withSensitivity = false;
  Expected<timeline::StepTimeline> timeline =
      simulator::simulate(step.program, target, options);
  if (!timeline)
    return timeline.takeError();
  return measureStep(step, *timeline);
}

Expected<StepMeasure>
planner::measureStep(const CompiledStep &step,
                     const timeline::StepTimeline &timeline) {
  const program::Program &program = step.program;
  StepMeasure measure;
  measure.seconds = timeline.seconds;
  measure.transferTime = getTransferTime(timeline);
  measure.criticalPath = timeline.criticalPath;
  measure.tokens = timeline.tokens;
  measure.numRanks = timeline.numRanks;
  const double ranksPerStage =
      static_cast<double>(timeline.numRanks) /
      static_cast<double>(std::max<size_t>(1, timeline.stages.size()));
  for (const timeline::StageTimeline &stage : timeline.stages) {
    const program::StageProgram &code =
        program.stages[static_cast<size_t>(stage.stage)];
    std::map<int32_t, ShortestTasks> shortest;
    Expected<std::vector<program::StepTask>> tasks = program::findTasks(code);
    if (!tasks)
      return tasks.takeError();
    double last = 0;
    for (size_t index = 0; index < stage.tasks.size(); ++index) {
      ShortestTasks &entry = shortest[stage.tasks[index].chunk];
      entry.add(stage.tasks[index]);
      entry.layout = (*tasks)[index].layout;
      last = std::max(last, stage.tasks[index].end);
    }
    for (const auto &[chunk, entry] : shortest) {
      if (measure.chunks.size() <= static_cast<size_t>(chunk))
        measure.chunks.resize(static_cast<size_t>(chunk) + 1);
      ChunkMeasure &made = measure.chunks[static_cast<size_t>(chunk)];
      made = makeChunk(stage.stage, entry, code.layouts[entry.layout].bytes);
      made.recomputedBytes = getRecomputedBytes(code, *tasks, entry.layout);
      if (code.trainerPeak) {
        made.frameBytes =
            code.trainerPeak->keptByChunk[static_cast<size_t>(chunk)];
        made.recomputedBytes = 0;
      }
    }
    measure.flops += ranksPerStage * static_cast<double>(stage.hardwareFlops);
    StageMeasure own;
    own.peakBytes = stage.peakBytes;
    own.isExact = step.effort == PlanEffort::Full;
    own.liveBytes = code.maxLiveBytes.value_or(stage.peakBytes);
    own.hostBytes = stage.hostBytes;
    own.staticBytes = getStaticBytes(code);
    if (code.trainerPeak) {
      own.peakBytes = own.liveBytes = code.getLimitedBytes();
      own.isExact = true;
      own.staticBytes = code.trainerPeak->lastingBytes;
    }
    own.updateTime = sumWork(stage, last);
    measure.stages.push_back(own);
  }
  return measure;
}
