//===- Training.cpp - The steps of a training run -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/Training.h"
#include "mf/Exec/Data/Checkpoint.h"
#include "mf/Exec/Data/LossMonitor.h"
#include "mf/Exec/Ranks/LearningRate.h"
#include "mf/Exec/Ranks/LossScaler.h"
#include "mf/Support/AtomicFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

namespace mf::ranks {

char ReportedError::ID = 0;

RankEngine::~RankEngine() = default;

/// Fails if a file cannot be written, so that a run does not discover this at
/// its end.
static llvm::Error checkWritable(llvm::StringRef path) {
  if (path.empty())
    return llvm::Error::success();
  auto file = AtomicFile::create(path);
  return file ? llvm::Error::success() : file.takeError();
}

namespace {

/// The files of a run and its progress.
class TrainingRun {
public:
  TrainingRun(RankEngine &engine, const TrainingOptions &options,
              llvm::raw_ostream &out, bool isTerminal, NoteUser note)
      : engine(engine), properties(engine.getProperties()), options(options),
        out(out), isTerminal(isTerminal), note(note),
        scaler(properties.lossScale) {}

  llvm::Error run() {
    if (llvm::Error error = engine.agree(prepare()))
      return error;
    if (llvm::Error error = checkStart())
      return error;
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

private:
  llvm::Error prepare() {
    if (llvm::Error error = engine.check())
      return error;
    if (llvm::Error error = checkOutputs())
      return error;
    if (llvm::Error error = openSchedule())
      return error;
    if (llvm::Error error = openData())
      return error;
    if (llvm::Error error = engine.start(note))
      return error;
    return options.resume ? resume() : llvm::Error::success();
  }
  llvm::Error checkOutputs() const {
    if (!engine.isWriter())
      return llvm::Error::success();
    for (const std::string &path :
         {options.saveParamsPath, options.saveTrainablePath,
          options.dumpGradientsPath, options.reportPath,
          options.dump ? options.dump->getPath().str() : std::string()})
      if (llvm::Error error = checkWritable(path))
        return error;
    for (const std::string &folder :
         {options.dumpGradientsFolder, options.checkpointFolder})
      if (!folder.empty())
        if (std::error_code code = llvm::sys::fs::create_directories(folder))
          return llvm::createStringError(folder + ": " + code.message());
    return llvm::Error::success();
  }
  llvm::Error openSchedule() {
    if (!properties.lrSchedule)
      return llvm::Error::success();
    auto add = [&](const program::LearningRateRule &rule) -> llvm::Error {
      auto made = makeLrSchedule(rule, options.steps);
      if (!made)
        return made.takeError();
      schedules.push_back(*made);
      return llvm::Error::success();
    };
    if (llvm::Error error = add(*properties.lrSchedule))
      return error;
    for (const program::LearningRateRule &group : properties.lrSchedule->groups)
      if (llvm::Error error = add(group))
        return error;
    return llvm::Error::success();
  }
  llvm::Error openData() {
    if (options.dataPath.empty()) {
      if (properties.readsData)
        return llvm::createStringError(
            "the " + properties.kind +
            " reads tokens: give a text, .npy or Megatron file with --data");
      return llvm::Error::success();
    }
    auto opened = BatchReader::open(options.dataPath, properties.batch);
    if (!opened)
      return opened.takeError();
    reader.emplace(std::move(*opened));
    tokens.resize(reader->getBatchElements());
    labels.resize(reader->getBatchElements());
    return llvm::Error::success();
  }
  llvm::Error resume() {
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
          llvm::formatv(
              "{0}: is {1} steps into the run, but --steps asks for {2}",
              latest->path, latest->state.step, options.steps)
              .str());
    if (llvm::Error error = engine.loadRanks(latest->rankPaths))
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
  /// Checks conditions that processes may see differently although they were
  /// started alike.
  llvm::Error checkStart() {
    uint64_t dataBytes = 0;
    // Data that is not one file of this name is not compared.
    if (reader && llvm::sys::fs::file_size(options.dataPath, dataBytes))
      dataBytes = 0;
    return engine.expectSame(
        {{"the number of steps in the checkpoint", std::to_string(stepsDone)},
         {"the size of the data", std::to_string(dataBytes)}});
  }
  llvm::Error runStep(int64_t step) {
    const auto begin = std::chrono::steady_clock::now();
    StepInput input;
    if (reader) {
      if (llvm::Error error = reader->next(tokens, labels))
        return error;
      input.tokens = tokens;
      input.labels = labels;
    }
    if (!schedules.empty())
      input.learningRates.clear();
    for (const mf::LrSchedule &schedule : schedules)
      input.learningRates.push_back(schedule.getLearningRate(updates));
    input.stepNumber = updates + 1;
    input.lossScale = scaler.getScale();
    input.seed = options.seed;
    const bool isRecorded =
        step == options.steps &&
        (options.recordsStep || !options.reportPath.empty());
    if (isRecorded)
      engine.startRecord();
    if (dumpsTensors(step))
      options.dump->beginStep(step, properties.ranksPerStage);
    auto dump = [&] { return dumpGradients(step); };
    auto output = dumpsGradients(step) ? engine.runStep(input, dump)
                                       : engine.runStep(input, nullptr);
    if (!output)
      return output.takeError();
    if (dumpsTensors(step) && engine.isWriter())
      if (llvm::Error error = options.dump->write())
        return error;
    const auto end = std::chrono::steady_clock::now();
    if (isRecorded)
      if (llvm::Error error = engine.takeRecord(begin, end))
        return error;
    StepMeasurement measurement;
    measurement.step = step;
    measurement.loss = output->loss;
    measurement.lossParts = output->lossParts;
    measurement.seconds = std::chrono::duration<double>(end - begin).count();
    measurement.learningRate = input.learningRates.front();
    measurement.lossScale = input.lossScale;
    measurement.globalNorm = output->globalNorm;
    measurement.overflow = output->overflow;
    measurement.dropRates = output->dropRates;
    printStep(measurement);
    report.steps.push_back(measurement);
    if (properties.hasUpdate) {
      updates += output->overflow ? 0 : 1;
      scaler.update(output->overflow);
    }
    return llvm::Error::success();
  }
  llvm::Error dumpGradients(int64_t step) {
    if (!options.dumpGradientsFolder.empty()) {
      llvm::SmallString<128> path(options.dumpGradientsFolder);
      llvm::sys::path::append(
          path, llvm::formatv("step_{0,0+6}.safetensors", step).str());
      if (llvm::Error error = writeTensors(path, engine.collectGradients()))
        return error;
    }
    if (!options.dumpGradientsPath.empty() && step == options.steps)
      if (llvm::Error error = writeTensors(options.dumpGradientsPath,
                                           engine.collectGradients()))
        return error;
    if (!dumpsTensors(step))
      return llvm::Error::success();
    auto gradients = engine.collectGradients();
    if (!gradients)
      return gradients.takeError();
    auto values = gradients->get();
    if (!values)
      return values.takeError();
    options.dump->addGradients(std::move(*values));
    return llvm::Error::success();
  }
  llvm::Error saveCheckpoint(int64_t step) {
    CheckpointState checkpoint;
    checkpoint.step = step;
    checkpoint.seed = options.seed;
    checkpoint.updates = updates;
    checkpoint.lossScale = scaler.getScale();
    checkpoint.cleanSteps = scaler.getCleanSteps();
    if (reader)
      checkpoint.dataPosition = reader->getPosition();
    std::optional<CheckpointWriter> writer;
    if (engine.isWriter()) {
      auto created = CheckpointWriter::create(options.checkpointFolder,
                                              checkpoint, properties.numRanks);
      if (!created)
        return created.takeError();
      writer.emplace(std::move(*created));
    }
    for (int64_t rank = 0; rank < properties.numRanks; ++rank)
      if (llvm::Error error = engine.saveRank(
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
  void printStep(const StepMeasurement &step) const {
    if (options.quiet)
      return;
    StepPrintOptions printing;
    printing.steps = options.steps;
    if (properties.flopsPerStep > 0)
      printing.teraflopsPerRank = properties.flopsPerStep / step.seconds /
                                  1e12 /
                                  static_cast<double>(properties.numRanks);
    if (isTerminal)
      printing.sequencesPerStep =
          properties.batch.microBatches * properties.batch.batchSize;
    mf::printStep(step, printing, out);
  }

  llvm::Error writeResults() {
    if (!options.saveParamsPath.empty())
      if (llvm::Error error =
              writeTensors(options.saveParamsPath, engine.collectParameters()))
        return error;
    if (!options.saveTrainablePath.empty())
      if (llvm::Error error =
              writeTensors(options.saveTrainablePath, engine.collectTrained()))
        return error;
    if (llvm::Error error = engine.useRecord())
      return error;
    return options.reportPath.empty() ? llvm::Error::success() : writeReport();
  }
  llvm::Error writeReport() {
    report.program = options.programPath;
    report.seed = options.seed;
    report.verification = options.verification;
    if (llvm::Error error = engine.addRanks(report))
      return error;
    if (!engine.isWriter())
      return llvm::Error::success();
    return mf::writeReport(
        options.reportPath, report,
        [&](llvm::json::OStream &json) { engine.addMembers(json); });
  }

  bool dumpsGradients(int64_t step) const {
    return !options.dumpGradientsFolder.empty() ||
           (!options.dumpGradientsPath.empty() && step == options.steps) ||
           (dumpsTensors(step) && properties.hasBackward);
  }
  bool dumpsTensors(int64_t step) const {
    return options.dump && step == options.steps;
  }

  RankEngine &engine;
  const TrainingProperties properties;
  const TrainingOptions &options;
  llvm::raw_ostream &out;
  const bool isTerminal;
  NoteUser note;

  std::optional<BatchReader> reader;
  /// The schedule of parameters in no group, then one for each group. Empty
  /// where the program has no schedule.
  std::vector<mf::LrSchedule> schedules;
  /// Steps done when the run begins.
  int64_t stepsDone = 0;
  /// Steps so far that changed the parameters. The optimizer and the learning
  /// rate count these, as MindSpore's global_step does.
  int64_t updates = 0;
  LossScaler scaler;
  std::vector<int32_t> tokens, labels;
  RunReport report;
};

} // namespace

llvm::Error train(RankEngine &engine, const TrainingOptions &options,
                  llvm::raw_ostream &out, bool isTerminal, NoteUser note) {
  return TrainingRun(engine, options, out, isTerminal, note).run();
}

} // namespace mf::ranks
