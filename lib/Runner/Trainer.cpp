//===- Trainer.cpp - A training run ---------------------------------------===//

#include "mf/Runner/Trainer.h"
#include "ProcessReports.h"
#include "StepFacts.h"
#include "mf/Data/AtomicFile.h"
#include "mf/Data/BatchReader.h"
#include "mf/Data/Checkpoint.h"
#include "mf/Data/LossMonitor.h"
#include "mf/Data/RunReport.h"
#include "mf/Program/LocatedError.h"
#include "mf/Program/Verifier.h"
#include "mf/Runner/LearningRate.h"
#include "mf/Runner/LossScaler.h"
#include "mf/Runner/MemoryReport.h"
#include "mf/Runner/ModelState.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <chrono>
#include <cmath>

using namespace mf::program;

namespace mf::runner {

namespace {

class Trainer {
public:
  Trainer(const Program &program, const TrainingOptions &options,
          llvm::raw_ostream &out, bool isTerminal,
          llvm::function_ref<void(llvm::StringRef)> note,
          ProcessGroup *processes)
      : program(program), options(options), out(out), isTerminal(isTerminal),
        note(note), processes(processes), scaler(program.lossScale) {}

  llvm::Error run();

private:
  llvm::Error prepare();
  llvm::Error checkOutputs() const;
  llvm::Error openData();
  llvm::Error openSchedule();
  llvm::Error start();
  llvm::Error resume();
  llvm::Error checkStart();
  llvm::Error runStep(int64_t step);
  llvm::Error dumpGradients(int64_t step);
  llvm::Error saveCheckpoint(int64_t step);
  void printStep(const StepMeasurement &step) const;
  llvm::Error writeResults();
  RankMeasurement measureRank(int64_t rank) const;

  /// Whether this process writes files.
  bool isWriter() const { return !processes || processes->isFirst(); }

  bool dumpsGradients(int64_t step) const {
    return !options.dumpGradientsFolder.empty() ||
           (!options.dumpGradientsPath.empty() && step == options.steps);
  }

  const Program &program;
  const TrainingOptions &options;
  llvm::raw_ostream &out;
  const bool isTerminal;
  llvm::function_ref<void(llvm::StringRef)> note;
  /// Null for one process.
  ProcessGroup *processes;

  std::optional<BatchReader> reader;
  std::optional<mf::LrSchedule> schedule;
  std::unique_ptr<Runner> runner;
  std::optional<ModelState> state;
  /// Steps done when the run begins.
  int64_t stepsDone = 0;
  /// Steps so far that changed the parameters. The optimizer and the learning
  /// rate count these, as MindSpore's global_step does.
  int64_t updates = 0;
  LossScaler scaler;
  std::vector<int32_t> tokens, labels;
  RunReport report;
  /// FLOPs of all ranks in a step.
  double flopsPerStep = 0;
};

/// Where a file's folder does not exist or cannot be written, a run should not
/// find out at its end.
llvm::Error checkWritable(llvm::StringRef path) {
  if (path.empty())
    return llvm::Error::success();
  auto file = AtomicFile::create(path);
  return file ? llvm::Error::success() : file.takeError();
}

} // namespace

llvm::Error Trainer::checkOutputs() const {
  if (!isWriter())
    return llvm::Error::success();
  for (const std::string &path :
       {options.saveParamsPath, options.dumpGradientsPath, options.reportPath})
    if (llvm::Error error = checkWritable(path))
      return error;
  for (const std::string &folder :
       {options.dumpGradientsFolder, options.checkpointFolder})
    if (!folder.empty())
      if (std::error_code code = llvm::sys::fs::create_directories(folder))
        return llvm::createStringError(folder + ": " + code.message());
  if (options.dumpGradientsPath.empty() && options.dumpGradientsFolder.empty())
    return llvm::Error::success();
  // The ranks stop before their updates, so all messages before must be able to
  // come to their end by then.
  std::vector<uint32_t> ends;
  for (const StageProgram &stage : program.stages)
    ends.push_back(findUpdate(stage).value_or(stage.step.instructions.size()));
  return verifyProgress(program, ends);
}

llvm::Error Trainer::openData() {
  const bool needsData = usesHostStatic(program, Role::Tokens) ||
                         usesHostStatic(program, Role::Labels);
  if (options.dataPath.empty()) {
    if (needsData)
      return llvm::createStringError(
          "the program reads tokens: give a text, .npy or Megatron file with "
          "--data");
    return llvm::Error::success();
  }
  BatchOptions batch;
  batch.sequenceLength = program.sequenceLength;
  batch.batchSize = countBatchRows(program);
  batch.microBatches = program.microBatches;
  batch.vocabularySize = program.vocabSize;
  batch.ignoreIndex = static_cast<int32_t>(program.ignoreIndex);
  if (program.padTokenId >= 0)
    batch.padTokenId = program.padTokenId;
  batch.sampleOrder = program.sampleOrder;
  batch.replicas = program.mesh.getNumParts(program.mesh.getFactors("dp"));
  auto opened = BatchReader::open(options.dataPath, batch);
  if (!opened)
    return opened.takeError();
  reader.emplace(std::move(*opened));
  tokens.resize(reader->getBatchElements());
  labels.resize(reader->getBatchElements());
  return llvm::Error::success();
}

llvm::Error Trainer::openSchedule() {
  if (!program.lrSchedule) {
    if (usesHostStatic(program, Role::LearningRate))
      return llvm::make_error<LocatedError>(
          program.stages.front().location,
          "reads a learning rate, but has no lr_schedule");
    return llvm::Error::success();
  }
  auto made = makeLrSchedule(*program.lrSchedule, options.steps);
  if (!made)
    return made.takeError();
  schedule = *made;
  return llvm::Error::success();
}

llvm::Error Trainer::start() {
  RunnerOptions runnerOptions;
  runnerOptions.threads = options.threads;
  if (processes) {
    runnerOptions.threads = processes->getThreads(options.threads);
    runnerOptions.localRanks = processes->getLocalRanks();
    auto communicator = processes->makeCommunicator(program);
    if (!communicator)
      return communicator.takeError();
    runnerOptions.communicator = std::move(*communicator);
  }
  runnerOptions.debugMemory = options.debugMemory;
  runnerOptions.deviceToHostRate = options.deviceToHostRate;
  runnerOptions.hostToDeviceRate = options.hostToDeviceRate;
  auto created = Runner::create(program, runnerOptions);
  if (!created)
    return created.takeError();
  runner = std::move(*created);
  state.emplace(*runner, processes);
  if (llvm::Error error = state->initialize(options.seed))
    return error;
  if (!options.initParamsPath.empty()) {
    std::vector<std::string> notes;
    if (llvm::Error error =
            state->loadParameters(options.initParamsPath, notes))
      return error;
    for (const std::string &text : notes)
      note(text);
  }
  return options.resume ? resume() : llvm::Error::success();
}

llvm::Error Trainer::resume() {
  auto search = findCheckpoints(options.checkpointFolder);
  if (!search)
    return search.takeError();
  for (const std::string &text : search->notes)
    note(text);
  const Checkpoint *latest = search->getLatest();
  if (!latest) {
    note(options.checkpointFolder + ": no checkpoint; starting at step 1");
    return llvm::Error::success();
  }
  if (latest->state.step > options.steps)
    return llvm::createStringError(
        llvm::formatv("{0}: is {1} steps into the run, but --steps asks for "
                      "{2}",
                      latest->path, latest->state.step, options.steps)
            .str());
  if (llvm::Error error = state->loadRanks(latest->rankPaths))
    return llvm::createStringError(latest->path + ": " +
                                   llvm::toString(std::move(error)));
  if (reader)
    if (llvm::Error error = reader->setPosition(latest->state.dataPosition))
      return error;
  stepsDone = latest->state.step;
  updates = latest->state.updates;
  scaler.restore(latest->state.lossScale, latest->state.cleanSteps);
  note("resumed " + latest->path);
  return llvm::Error::success();
}

/// What processes may find different although they were started alike.
llvm::Error Trainer::checkStart() {
  uint64_t dataBytes = 0;
  // Data that is not one file of this name is not compared.
  if (reader && llvm::sys::fs::file_size(options.dataPath, dataBytes))
    dataBytes = 0;
  return processes->expectSame(
      {{"the number of steps in the checkpoint", std::to_string(stepsDone)},
       {"the size of the data", std::to_string(dataBytes)}});
}

void Trainer::printStep(const StepMeasurement &step) const {
  if (options.quiet)
    return;
  StepReport line;
  line.step = step.step;
  line.stepsPerEpoch = options.steps;
  line.loss = step.loss;
  line.stepMilliseconds = step.seconds * 1e3;
  line.learningRate = step.learningRate;
  line.lossScale = step.lossScale;
  line.globalNorm = step.globalNorm;
  line.overflow = step.overflow;
  if (flopsPerStep > 0)
    line.teraflopsPerRank = flopsPerStep / step.seconds / 1e12 /
                            static_cast<double>(program.getNumRanks());
  out << formatStepLine(line) << '\n';
  if (isTerminal)
    out << formatProgressLine(line,
                              program.microBatches * countBatchRows(program))
        << '\n';
  out.flush();
}

llvm::Error Trainer::dumpGradients(int64_t step) {
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

llvm::Error Trainer::runStep(int64_t step) {
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
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  StepMeasurement measurement;
  measurement.step = step;
  measurement.loss = output->loss;
  measurement.seconds = seconds;
  measurement.learningRate = input.learningRate;
  measurement.lossScale = input.lossScale;
  measurement.globalNorm = output->globalNorm;
  measurement.overflow = output->overflow;
  printStep(measurement);
  report.steps.push_back(measurement);
  updates += output->overflow ? 0 : 1;
  scaler.update(output->overflow);
  return llvm::Error::success();
}

llvm::Error Trainer::saveCheckpoint(int64_t step) {
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

RankMeasurement Trainer::measureRank(int64_t rank) const {
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

llvm::Error Trainer::writeResults() {
  if (!options.saveParamsPath.empty())
    if (llvm::Error error = state->saveParameters(options.saveParamsPath))
      return error;
  if (options.reportPath.empty())
    return llvm::Error::success();
  report.program = options.programPath;
  report.seed = options.seed;
  for (const int64_t rank : runner->getLocalRanks())
    report.ranks.push_back(measureRank(rank));
  if (processes)
    if (llvm::Error error = gatherMeasurements(*processes, report.ranks))
      return error;
  if (!isWriter())
    return llvm::Error::success();
  return writeReport(options.reportPath, report);
}

llvm::Error Trainer::prepare() {
  if (llvm::Error error = checkOutputs())
    return error;
  if (llvm::Error error = openSchedule())
    return error;
  if (llvm::Error error = openData())
    return error;
  return start();
}

llvm::Error Trainer::run() {
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
                  ProcessGroup *processes) {
  return Trainer(program, options, out, isTerminal, note, processes).run();
}

} // namespace mf::runner
