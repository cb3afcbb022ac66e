//===- ProgramEngine.cpp - Steps of a program on a runner -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Runner/ProgramEngine.h"
#include "ExecutedStep.h"
#include "ProcessReports.h"
#include "StepFacts.h"
#include "mf/Exec/Kernels/InstructionSet.h"
#include "mf/Exec/Kernels/MachineRates.h"
#include "mf/Exec/Runner/MemoryReport.h"
#include "mf/Perf/Timeline/KernelTable.h"
#include "mf/Perf/Timeline/Writers.h"
#include "mf/Program/LocatedError.h"
#include "mf/Program/Verifier.h"
#include <chrono>
#include <set>

using namespace mf::program;
using namespace mf::ranks;

namespace mf::runner {

//===----------------------------------------------------------------------===//
// Before the first step
//===----------------------------------------------------------------------===//

TrainingFacts ProgramEngine::getFacts() const {
  TrainingFacts facts;
  facts.kind = "program";
  facts.batch.sequenceLength = program.sequenceLength;
  facts.batch.batchSize = countBatchRows(program);
  facts.batch.microBatches = program.microBatches;
  facts.batch.vocabularySize = program.vocabSize;
  facts.batch.ignoreIndex = static_cast<int32_t>(program.ignoreIndex);
  if (program.padTokenId >= 0)
    facts.batch.padTokenId = program.padTokenId;
  facts.batch.sampleOrder = program.sampleOrder;
  facts.batch.replicas =
      program.mesh.getNumParts(program.mesh.getFactors("dp"));
  facts.readsData = usesHostStatic(program, Role::Tokens) ||
                    usesHostStatic(program, Role::Labels);
  facts.lrSchedule = program.lrSchedule;
  facts.lossScale = program.lossScale;
  facts.hasBackward = hasStatic(program, Role::Gradient);
  facts.hasUpdate = hasStatic(program, Role::FirstMoment) ||
                    llvm::any_of(program.stages, [](const StageProgram &stage) {
                      return findUpdate(stage).has_value();
                    });
  facts.numRanks = program.getNumRanks();
  facts.ranksPerStage = program.mesh.getRanksPerStage();
  facts.flopsPerStep = countFlops(program);
  return facts;
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
  runnerOptions.faults = options.faults;
  runnerOptions.routerChoices = routerChoices;
  runnerOptions.dump = options.dump;
  // Operators of several stages only have a deterministic order if they run in
  // turns.
  if (options.dump && !options.faults)
    runnerOptions.faults = std::make_shared<FaultSchedule>(
        options.seed, llvm::ArrayRef<FaultKind>());
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
