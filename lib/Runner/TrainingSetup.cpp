//===- TrainingSetup.cpp - What a run needs before its first step ---------===//

#include "StepFacts.h"
#include "TrainingRun.h"
#include "mf/Data/AtomicFile.h"
#include "mf/Data/Checkpoint.h"
#include "mf/Program/LocatedError.h"
#include "mf/Program/Verifier.h"
#include "mf/Ranks/LearningRate.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mf::program;
using namespace mf::ranks;

namespace mf::runner {

/// Where a file's folder does not exist or cannot be written, a run should not
/// find out at its end.
static llvm::Error checkWritable(llvm::StringRef path) {
  if (path.empty())
    return llvm::Error::success();
  auto file = AtomicFile::create(path);
  return file ? llvm::Error::success() : file.takeError();
}

llvm::Error TrainingRun::checkOutputs() const {
  if (processes && options.recordsStep && !processes->isOneMachine())
    return llvm::createStringError(
        "--trace, --profile, --html, --compare and --kernel-table expect all "
        "processes on one machine: the clocks of several do not agree");
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

llvm::Error TrainingRun::openData() {
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

llvm::Error TrainingRun::openSchedule() {
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

llvm::Error TrainingRun::start() {
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

llvm::Error TrainingRun::resume() {
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
llvm::Error TrainingRun::checkStart() {
  uint64_t dataBytes = 0;
  // Data that is not one file of this name is not compared.
  if (reader && llvm::sys::fs::file_size(options.dataPath, dataBytes))
    dataBytes = 0;
  return processes->expectSame(
      {{"the number of steps in the checkpoint", std::to_string(stepsDone)},
       {"the size of the data", std::to_string(dataBytes)}});
}

llvm::Error TrainingRun::prepare() {
  if (llvm::Error error = checkOutputs())
    return error;
  if (llvm::Error error = openSchedule())
    return error;
  if (llvm::Error error = openData())
    return error;
  return start();
}

} // namespace mf::runner
