//===- Trainer.cpp - The steps of a training run --------------------------===//

#include "mf/Runner/Trainer.h"
#include "ExecutedStep.h"
#include "MeasuredRates.h"
#include "ProcessReports.h"
#include "RecordGather.h"
#include "StepFacts.h"
#include "TrainingRun.h"
#include "mf/Data/Checkpoint.h"
#include "mf/Data/StepPrint.h"
#include "mf/Ranks/LearningRate.h"
#include "mf/Runner/MemoryReport.h"
#include "mf/Timeline/Writers.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <chrono>
#include <cmath>

using namespace mf::program;
using namespace mf::ranks;

namespace mf::runner {

void TrainingRun::printStep(const StepMeasurement &step) const {
  if (options.quiet)
    return;
  StepPrintOptions printing;
  printing.steps = options.steps;
  if (flopsPerStep > 0)
    printing.teraflopsPerRank = flopsPerStep / step.seconds / 1e12 /
                                static_cast<double>(program.getNumRanks());
  if (isTerminal)
    printing.sequencesPerStep = program.microBatches * countBatchRows(program);
  mf::printStep(step, printing, out);
}

llvm::Error TrainingRun::dumpGradients(int64_t step) {
  if (!options.dumpGradientsFolder.empty()) {
    llvm::SmallString<128> path(options.dumpGradientsFolder);
    llvm::sys::path::append(
        path, llvm::formatv("step_{0,0+6}.safetensors", step).str());
    if (llvm::Error error = state->saveGradients(path))
      return error;
  }
  if (!options.dumpGradientsPath.empty() && step == options.steps)
    return state->saveGradients(options.dumpGradientsPath);
  return llvm::Error::success();
}

llvm::Error TrainingRun::runStep(int64_t step) {
  const auto begin = std::chrono::steady_clock::now();
  StepInput input;
  if (reader) {
    if (llvm::Error error = reader->next(tokens, labels))
      return error;
    input.tokens = tokens;
    input.labels = labels;
  }
  if (schedule)
    input.learningRate = schedule->getLearningRate(updates);
  input.stepNumber = updates + 1;
  input.lossScale = scaler.getScale();
  input.seed = options.seed;
  if (recordsStep(step))
    recordNextStep();
  auto dump = [&] { return dumpGradients(step); };
  auto output = dumpsGradients(step) ? runner->runStep(input, dump)
                                     : runner->runStep(input);
  if (!output)
    return output.takeError();
  if (processes) {
    StepReports reports = runner->getReports();
    if (llvm::Error error = gatherReports(*processes, reports))
      return error;
    output = StepOutput(reports);
  }
  if (options.debugMemory)
    if (llvm::Error error = runner->checkMemory())
      return error;
  const auto end = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(end - begin).count();
  if (recordsStep(step)) {
    record.step = {begin, end};
    record.ranks = runner->takeRecord();
    if (processes)
      if (llvm::Error error = gatherRecords(*processes, record))
        return error;
  }
  StepMeasurement measurement;
  measurement.step = step;
  measurement.loss = output->loss;
  measurement.seconds = seconds;
  measurement.learningRate = input.learningRate;
  measurement.lossScale = input.lossScale;
  measurement.globalNorm = output->globalNorm;
  measurement.overflow = output->overflow;
  measurement.dropRates = output->dropRates;
  printStep(measurement);
  report.steps.push_back(measurement);
  updates += output->overflow ? 0 : 1;
  scaler.update(output->overflow);
  return llvm::Error::success();
}

llvm::Error TrainingRun::saveCheckpoint(int64_t step) {
  CheckpointState checkpoint;
  checkpoint.step = step;
  checkpoint.seed = options.seed;
  checkpoint.updates = updates;
  checkpoint.lossScale = scaler.getScale();
  checkpoint.cleanSteps = scaler.getCleanSteps();
  if (reader)
    checkpoint.dataPosition = reader->getPosition();
  std::optional<CheckpointWriter> writer;
  if (isWriter()) {
    auto created = CheckpointWriter::create(options.checkpointFolder,
                                            checkpoint, program.getNumRanks());
    if (!created)
      return created.takeError();
    writer.emplace(std::move(*created));
  }
  for (int64_t rank = 0; rank < program.getNumRanks(); ++rank)
    if (llvm::Error error = state->saveRank(
            rank, writer ? writer->getRankPath(rank) : std::string()))
      return error;
  if (!writer)
    return llvm::Error::success();
  std::vector<std::string> notes;
  auto path = writer->commit(options.keepCheckpoints, notes);
  if (!path)
    return path.takeError();
  for (const std::string &text : notes)
    note(text);
  return llvm::Error::success();
}

RankMeasurement TrainingRun::measureRank(int64_t rank) const {
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

llvm::Error TrainingRun::writeResults() {
  if (!options.saveParamsPath.empty())
    if (llvm::Error error = state->saveParameters(options.saveParamsPath))
      return error;
  if (llvm::Error error = readTimeline())
    return error;
  if (timeline && options.recordsStep && useTimeline)
    if (llvm::Error error = useTimeline(*timeline))
      return error;
  return options.reportPath.empty() ? llvm::Error::success() : writeReport();
}

/// One rank of each stage, which stands for all of them; of several processes
/// all ranks, since a process does not know when those of others have come.
void TrainingRun::recordNextStep() {
  if (processes)
    return runner->recordNextStep(runner->getLocalRanks());
  std::vector<int64_t> ranks;
  for (const StageProgram &stage : program.stages)
    ranks.push_back(stage.stage * program.mesh.getRanksPerStage());
  runner->recordNextStep(ranks);
}

llvm::Error TrainingRun::readTimeline() {
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
  return llvm::Error::success();
}

llvm::Error TrainingRun::writeReport() {
  report.program = options.programPath;
  report.seed = options.seed;
  report.verification = options.verification;
  for (const int64_t rank : runner->getLocalRanks())
    report.ranks.push_back(measureRank(rank));
  if (processes)
    if (llvm::Error error = gatherMeasurements(*processes, report.ranks))
      return error;
  if (!isWriter())
    return llvm::Error::success();
  return mf::writeReport(options.reportPath, report,
                         [&](llvm::json::OStream &json) {
                           if (timeline)
                             timeline::writeReportMembers(*timeline, json);
                         });
}

llvm::Error TrainingRun::run() {
  llvm::Error prepared = prepare();
  if (processes)
    prepared = processes->agree(std::move(prepared));
  if (prepared)
    return prepared;
  if (processes)
    if (llvm::Error error = checkStart())
      return error;
  flopsPerStep = countFlops(program);
  for (int64_t step = stepsDone + 1; step <= options.steps; ++step) {
    if (llvm::Error error = runStep(step))
      return error;
    const bool isDue =
        step == options.steps ||
        (options.checkpointEvery > 0 && step % options.checkpointEvery == 0);
    if (!options.checkpointFolder.empty() && isDue)
      if (llvm::Error error = saveCheckpoint(step))
        return error;
  }
  return writeResults();
}

llvm::Error train(const Program &program, const TrainingOptions &options,
                  llvm::raw_ostream &out, bool isTerminal,
                  llvm::function_ref<void(llvm::StringRef)> note,
                  ProcessGroup *processes, TimelineUser useTimeline) {
  return TrainingRun(program, options, out, isTerminal, note, processes,
                     useTimeline)
      .run();
}

} // namespace mf::runner
