//===- ExecutedStep.cpp - A recorded step as a timeline -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExecutedStep.h"
#include "mf/Perf/Simulator/Activities.h"
#include "mf/Perf/Simulator/MemoryCurve.h"
#include "mf/Perf/Simulator/ProgramFacts.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using llvm::Error;
using llvm::Expected;

namespace mf::runner {

using namespace program;
using timeline::Span;
using timeline::StageTimeline;
using timeline::StepTimeline;

namespace {

class ExecutionReader {
public:
  ExecutionReader(const Program &program, const StepRecord &record)
      : program(program), record(record), activities(program),
        messages(program) {}

  Expected<StepTimeline> run(llvm::StringRef path);

private:
  double getSeconds(std::chrono::steady_clock::time_point time) const {
    return std::chrono::duration<double>(time - record.step.start).count();
  }
  Error addStage(const RankRecord &rank);
  void addStream(uint32_t number, llvm::ArrayRef<RecordedWork> works);
  void addToTask(const Span &span);
  void addMessage(const RecordedWork &work, timeline::SpanId place);
  void addMemory(const RankRecord &rank);
  void addSeconds();

  const InstructionList &getList(const RecordedWork &work) const;
  std::optional<uint32_t> getRoutine(const RecordedWork &work) const;

  const Program &program;
  const StepRecord &record;
  simulator::ActivityTable activities;
  simulator::MessageTable messages;
  StepTimeline result;
  /// The stage that is being read: its program, its timeline, and the task of
  /// each call by position in the step.
  const StageProgram *stage = nullptr;
  StageTimeline *timeline = nullptr;
  std::vector<int32_t> taskOfCall;
};

} // namespace

std::optional<uint32_t>
ExecutionReader::getRoutine(const RecordedWork &work) const {
  if (!work.instruction)
    return std::nullopt;
  return stage->step.getCall(stage->step.instructions[work.position])->routine;
}

const InstructionList &
ExecutionReader::getList(const RecordedWork &work) const {
  const std::optional<uint32_t> routine = getRoutine(work);
  return routine ? stage->routines[*routine].body : stage->step;
}

void ExecutionReader::addMessage(const RecordedWork &work,
                                 timeline::SpanId place) {
  const InstructionList &list = getList(work);
  if (const Exchange *exchange = list.getExchange(
          list.instructions[work.instruction.value_or(work.position)]))
    messages.add(*exchange, place);
}

void ExecutionReader::addToTask(const Span &span) {
  if (span.task < 0)
    return;
  timeline::TaskSpan &task = timeline->tasks[span.task];
  if (task.end == 0)
    task.start = span.start;
  task.end = span.end;
}

void ExecutionReader::addStream(uint32_t number,
                                llvm::ArrayRef<RecordedWork> works) {
  const program::ProgramStream &stream = stage->streams[number];
  timeline->streams.push_back({stream.name, stream.kind, {}});
  std::vector<Span> &spans = timeline->streams.back().spans;
  spans.reserve(works.size());
  for (const RecordedWork &work : works) {
    Span span;
    // A paced copy may be over by the link's clock before its thread is.
    span.start = std::max(getSeconds(work.times.start),
                          spans.empty() ? 0 : spans.back().end);
    span.end = std::max(getSeconds(work.times.end), span.start);
    span.activity = activities.find(stage->stage, getRoutine(work),
                                    work.instruction.value_or(work.position));
    span.task = taskOfCall[work.position];
    if (number == stage->computeStream)
      addToTask(span);
    addMessage(work, {static_cast<uint32_t>(stage->stage), number,
                      static_cast<uint32_t>(spans.size())});
    spans.push_back(span);
    timeline->end = std::max(timeline->end, span.end);
  }
}

void ExecutionReader::addMemory(const RankRecord &rank) {
  std::map<std::pair<uint32_t, uint32_t>, double> starts;
  for (llvm::ArrayRef<RecordedWork> works : rank.streams)
    for (const RecordedWork &work : works)
      if (work.instruction)
        starts[{work.position, *work.instruction}] =
            getSeconds(work.times.start);
  timeline->memory = simulator::computeMemoryCurve(
      *stage,
      [&](uint32_t position, uint32_t instruction) {
        auto found = starts.find({position, instruction});
        return found == starts.end() ? 0 : found->second;
      },
      0);
}

Error ExecutionReader::addStage(const RankRecord &rank) {
  stage = &program.getStageOf(rank.rank);
  Expected<std::vector<StepTask>> tasks = findTasks(*stage);
  if (!tasks)
    return tasks.takeError();
  timeline = &result.stages.emplace_back();
  timeline->stage = stage->stage;
  timeline->rank = rank.rank;
  timeline->computeStream = stage->computeStream;
  taskOfCall = getTasksOfCalls(*stage, *tasks);
  simulator::addTasks(*tasks, *timeline);
  for (auto [number, works] : llvm::enumerate(rank.streams))
    addStream(static_cast<uint32_t>(number), works);
  addMemory(rank);
  simulator::addStageFacts(program, *stage, *tasks, *timeline);
  simulator::addPeakContents(*stage, *timeline);
  return Error::success();
}

void ExecutionReader::addSeconds() {
  for (StageTimeline &ofStage : result.stages)
    for (const timeline::StreamTimeline &stream : ofStage.streams)
      for (const Span &span : stream.spans)
        ofStage.secondsByKind[result.activities[span.activity].kind] +=
            span.end - span.start;
}

Expected<StepTimeline> ExecutionReader::run(llvm::StringRef path) {
  for (const RankRecord &rank : record.ranks)
    if (Error error = addStage(rank))
      return error;
  result.flows = messages.getFlows();
  result.activities = activities.take();
  addSeconds();
  result.program = path.str();
  result.seconds = getSeconds(record.step.end);
  simulator::addStepFacts(program, result);
  return std::move(result);
}

Expected<StepTimeline> readExecution(const Program &program,
                                     const StepRecord &record,
                                     llvm::StringRef path) {
  return ExecutionReader(program, record).run(path);
}

} // namespace mf::runner
