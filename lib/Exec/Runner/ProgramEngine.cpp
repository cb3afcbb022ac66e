//===- ProgramEngine.cpp - Steps of a program on a runner -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Runner/ProgramEngine.h"
#include "ProcessReports.h"
#include "mf/Exec/Kernels/InstructionSet.h"
#include "mf/Exec/Kernels/MachineRates.h"
#include "mf/Exec/Ranks/SliceRuns.h"
#include "mf/Exec/Runner/MemoryReport.h"
#include "mf/Exec/Runner/StepRecord.h"
#include "mf/Perf/Simulator/Activities.h"
#include "mf/Perf/Simulator/MemoryCurve.h"
#include "mf/Perf/Simulator/ProgramProperties.h"
#include "mf/Perf/Timeline/KernelTable.h"
#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Perf/Timeline/Writers.h"
#include "mf/Program/LocatedError.h"
#include "mf/Program/Program.h"
#include "mf/Program/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include <chrono>
#include <map>
#include <set>

using namespace mf::program;
using namespace mf::ranks;
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

  Expected<StepTimeline> run(llvm::StringRef path) {
    for (const RankRecord &rank : record.ranks)
      if (Error error = addStage(rank))
        return error;
    result.flows = messages.getFlows();
    result.activities = activities.take();
    addSeconds();
    result.program = path.str();
    result.seconds = getSeconds(record.step.end);
    simulator::addStepProperties(program, result);
    return std::move(result);
  }

private:
  double getSeconds(std::chrono::steady_clock::time_point time) const {
    return std::chrono::duration<double>(time - record.step.start).count();
  }

  Error addStage(const RankRecord &rank) {
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
    simulator::addStageProperties(program, *stage, *tasks, *timeline);
    simulator::addPeakContents(*stage, *timeline);
    return Error::success();
  }

  void addStream(uint32_t number, llvm::ArrayRef<RecordedWork> works) {
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

  void addToTask(const Span &span) {
    if (span.task < 0)
      return;
    timeline::TaskSpan &task = timeline->tasks[span.task];
    if (task.end == 0)
      task.start = span.start;
    task.end = span.end;
  }

  void addMessage(const RecordedWork &work, timeline::SpanId place) {
    const InstructionList &list = getList(work);
    if (const Exchange *exchange = list.getExchange(
            list.instructions[work.instruction.value_or(work.position)]))
      messages.add(*exchange, place);
  }

  void addMemory(const RankRecord &rank) {
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

  void addSeconds() {
    for (StageTimeline &ofStage : result.stages)
      for (const timeline::StreamTimeline &stream : ofStage.streams)
        for (const Span &span : stream.spans)
          ofStage.secondsByKind[result.activities[span.activity].kind] +=
              span.end - span.start;
  }

  const InstructionList &getList(const RecordedWork &work) const {
    const std::optional<uint32_t> routine = getRoutine(work);
    return routine ? stage->routines[*routine].body : stage->step;
  }
  std::optional<uint32_t> getRoutine(const RecordedWork &work) const {
    if (!work.instruction)
      return std::nullopt;
    return stage->step.getCall(stage->step.instructions[work.position])
        ->routine;
  }

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

/// Returns the executed step of each stage's first rank, in the form of
/// simulated steps. The record has all of these ranks. `path` is the program's
/// file.
static Expected<StepTimeline> readExecution(const Program &program,
                                            const StepRecord &record,
                                            llvm::StringRef path) {
  return ExecutionReader(program, record).run(path);
}

/// Returns whether a stage has a static of this role.
static bool hasStatic(const Program &program, Role role) {
  for (const StageProgram &stage : program.stages)
    for (const Static &buffer : stage.statics)
      if (buffer.role == role)
        return true;
  return false;
}

/// Returns whether the host writes (or reads) a static of this role.
static bool usesHostStatic(const Program &program, Role role) {
  for (const StageProgram &stage : program.stages)
    for (const Static &buffer : stage.statics)
      if (buffer.role == role && buffer.space == Space::Host)
        return true;
  return false;
}

/// Returns the sequences of a micro-batch on all ranks together.
static int64_t countBatchRows(const Program &program) {
  for (const StageProgram &stage : program.stages) {
    int64_t elements = 0;
    for (const Static &buffer : stage.statics)
      if (buffer.role == Role::Tokens && buffer.space == Space::Host)
        elements += ranks::getWholeShape(buffer).getNumElements();
    if (elements > 0)
      return elements / std::max<int64_t>(1, program.microBatches *
                                                 program.sequenceLength);
  }
  return program.microBatchSize;
}

/// Returns the FLOPs of all kernels of all ranks in a step, recomputation
/// included.
static double countFlops(const Program &program) {
  double flops = 0;
  for (const StageProgram &stage : program.stages) {
    std::vector<double> ofRoutine;
    auto count = [&](const InstructionList &list) {
      double sum = 0;
      for (const Instruction &instruction : list.instructions)
        if (instruction.work == Work::Kernel)
          sum += static_cast<double>(program.kernels[instruction.index].flops);
        else if (const Call *call = list.getCall(instruction))
          sum += ofRoutine[call->routine];
      return sum;
    };
    for (const Routine &routine : stage.routines)
      ofRoutine.push_back(count(routine.body));
    flops += count(stage.step);
  }
  return flops * static_cast<double>(program.mesh.getRanksPerStage());
}

//===----------------------------------------------------------------------===//
// Before the first step
//===----------------------------------------------------------------------===//

TrainingProperties ProgramEngine::getProperties() const {
  TrainingProperties properties;
  properties.kind = "program";
  properties.batch.sequenceLength = program.sequenceLength;
  properties.batch.batchSize = countBatchRows(program);
  properties.batch.microBatches = program.microBatches;
  properties.batch.vocabularySize = program.vocabSize;
  properties.batch.ignoreIndex = static_cast<int32_t>(program.ignoreIndex);
  if (program.padTokenId >= 0)
    properties.batch.padTokenId = program.padTokenId;
  properties.batch.sampleOrder = program.sampleOrder;
  properties.batch.replicas =
      program.mesh.getNumParts(program.mesh.getFactors("dp"));
  properties.readsData = usesHostStatic(program, Role::Tokens) ||
                         usesHostStatic(program, Role::Labels);
  properties.lrSchedule = program.lrSchedule;
  properties.lossScale = program.lossScale;
  properties.hasBackward = hasStatic(program, Role::Gradient);
  properties.hasUpdate =
      hasStatic(program, Role::FirstMoment) ||
      llvm::any_of(program.stages, [](const StageProgram &stage) {
        return findUpdate(stage).has_value();
      });
  properties.numRanks = program.getNumRanks();
  properties.ranksPerStage = program.mesh.getRanksPerStage();
  properties.flopsPerStep = countFlops(program);
  return properties;
}

llvm::Error ProgramEngine::check() {
  if (processes && options.recordsStep && !processes->isOneMachine())
    return llvm::createStringError(
        "--trace, --profile, --html, --compare and --kernel-table expect all "
        "processes on one machine: the clocks of several do not agree");
  if (!program.lrSchedule && usesHostStatic(program, Role::LearningRate))
    return llvm::make_error<LocatedError>(
        program.stages.front().location,
        "reads a learning rate, but has no lr_schedule");
  if (!options.dumpsGradients() || !isWriter())
    return llvm::Error::success();
  // The ranks stop before their updates, so all messages before that point must
  // be able to complete.
  std::vector<uint32_t> ends;
  for (const StageProgram &stage : program.stages)
    ends.push_back(findUpdate(stage).value_or(stage.step.instructions.size()));
  return verifyProgress(program, ends);
}

llvm::Error ProgramEngine::createRunner() {
  RunnerOptions runnerOptions;
  runnerOptions.threads = options.threads;
  runnerOptions.dividesThreads = options.recordsStep;
  if (processes) {
    runnerOptions.threads = processes->getThreads(options.threads);
    runnerOptions.localRanks = processes->getLocalRanks();
    auto communicator = processes->makeCommunicator(program);
    if (!communicator)
      return communicator.takeError();
    runnerOptions.communicator = std::move(*communicator);
  }
  runnerOptions.debugMemory = options.debugMemory;
  runnerOptions.turns = options.turns;
  runnerOptions.routerChoices = routerChoices;
  runnerOptions.dump = options.dump;
  // Operators of several stages only have a deterministic order if they run in
  // turns.
  if (options.dump && !options.turns)
    runnerOptions.turns = std::make_shared<TurnSchedule>(options.seed);
  runnerOptions.deviceToHostRate = options.deviceToHostRate;
  runnerOptions.hostToDeviceRate = options.hostToDeviceRate;
  auto created = Runner::create(program, runnerOptions);
  if (!created)
    return created.takeError();
  runner = std::move(*created);
  state.emplace(*runner, processes);
  return llvm::Error::success();
}

llvm::Error ProgramEngine::start(NoteUser note) {
  if (llvm::Error error = createRunner())
    return error;
  if (llvm::Error error = state->initialize(options.seed))
    return error;
  if (options.changeParameter)
    return state->changeParameters(options.seed, options.changeParameter);
  const std::vector<std::string> paths = options.getInitPaths();
  if (paths.empty())
    return llvm::Error::success();
  std::vector<std::string> notes;
  if (llvm::Error error = state->loadParameters(paths, notes))
    return error;
  for (const std::string &text : notes)
    note(text);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

llvm::Expected<StepOutput>
ProgramEngine::runStep(const StepInput &input,
                       llvm::function_ref<llvm::Error()> useGradients) {
  if (routerChoices)
    routerChoices->startStep(input.stepNumber - 1);
  auto output = runner->runStep(input, useGradients);
  if (!output)
    return output;
  if (processes) {
    StepReports reports = runner->getReports();
    if (llvm::Error error = gatherReports(*processes, reports))
      return error;
    output = StepOutput(reports);
  }
  losses.clear();
  if (output->loss)
    losses.emplace("loss", *output->loss);
  losses.insert(output->lossParts.begin(), output->lossParts.end());
  if (options.debugMemory)
    if (llvm::Error error = runner->checkMemory())
      return error;
  return output;
}

/// One rank of each stage is recorded, which represents all of its ranks. With
/// several processes all ranks are, because a process does not know when ranks
/// of others have arrived.
void ProgramEngine::startRecord() {
  if (!recordsSteps())
    return;
  if (processes)
    return runner->recordNextStep(runner->getLocalRanks());
  std::vector<int64_t> ranks;
  for (const StageProgram &stage : program.stages)
    ranks.push_back(stage.stage * program.mesh.getRanksPerStage());
  runner->recordNextStep(ranks);
}

llvm::Error ProgramEngine::takeRecord(Time begin, Time end) {
  if (!recordsSteps())
    return llvm::Error::success();
  record.step = {begin, end};
  record.ranks = runner->takeRecord();
  return processes ? gatherRecords(*processes, record) : llvm::Error::success();
}

static std::set<DType> getProductTypes(const timeline::StepTimeline &timeline) {
  std::set<DType> types;
  for (const timeline::Activity &activity : timeline.activities)
    if (activity.category == timeline::Category::Kernel &&
        activity.engine == Engine::Cube)
      types.insert(timeline::getWorkType(activity));
  return types;
}

/// Measures the rates that a step's kernels could reach on the threads of a
/// rank while nothing else runs: matrix products in the types that the step
/// has, and memory streaming. Takes a fraction of a second.
static timeline::BoundRates measureRates(const timeline::StepTimeline &timeline,
                                         ThreadPool &pool) {
  auto clock = [] {
    return std::chrono::duration<double>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  timeline::BoundRates rates;
  for (const DType type : getProductTypes(timeline))
    rates.flopsPerSecond[type] = measureProductRate(type, pool, clock);
  rates.bytesPerSecond = measureStreamingRate(pool, clock);
  const int threads = pool.getNumThreads();
  rates.source = "measured on " + std::to_string(threads) + " thread" +
                 (threads == 1 ? "" : "s") + " with " +
                 getInstructionSetName().str();
  return rates;
}

llvm::Error ProgramEngine::useRecord() {
  if (record.ranks.empty() || !isWriter())
    return llvm::Error::success();
  if (processes)
    alignExchanges(program, record);
  llvm::erase_if(record.ranks, [&](const RankRecord &rank) {
    return rank.rank % program.mesh.getRanksPerStage() != 0;
  });
  auto read = readExecution(program, record, options.programPath);
  if (!read)
    return read.takeError();
  timeline = std::move(*read);
  timeline->target = options.targetName;
  timeline->peakFlopsPerSecond = options.peakFlopsPerSecond;
  if (options.measuresRates)
    timeline->rates = measureRates(
        *timeline, runner->getPool(runner->getLocalRanks().front()));
  return options.recordsStep && useTimeline ? useTimeline(*timeline)
                                            : llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

RankMeasurement ProgramEngine::measureRank(int64_t rank) const {
  const MemoryReport memory = reportMemory(program.getStageOf(rank));
  RankMeasurement measurement;
  measurement.rank = rank;
  measurement.stage = program.mesh.getStage(rank);
  measurement.plannedBytes = memory.planned;
  measurement.peakBytes = memory.used;
  measurement.usedBytes =
      options.debugMemory
          ? addPadding(runner->getTouchedBytes(rank, Space::Device),
                       memory.planned)
          : memory.used;
  measurement.hostBytes = memory.hostPlanned;
  measurement.hostUsedBytes = options.debugMemory
                                  ? runner->getTouchedBytes(rank, Space::Host)
                                  : memory.hostUsed;
  measurement.bytesAtPeak = memory.atPeak;
  for (const StreamUse &use : runner->getStreamUse(rank))
    measurement.stallSeconds[use.name] = use.statistics.stallSeconds;
  measurement.operatorStallSeconds = runner->getStalls(rank);
  return measurement;
}

llvm::Error ProgramEngine::addRanks(RunReport &report) {
  for (const int64_t rank : runner->getLocalRanks())
    report.ranks.push_back(measureRank(rank));
  return processes ? gatherMeasurements(*processes, report.ranks)
                   : llvm::Error::success();
}

void ProgramEngine::addMembers(llvm::json::OStream &json) const {
  if (timeline)
    timeline::writeReportMembers(*timeline, json);
}

} // namespace mf::runner
