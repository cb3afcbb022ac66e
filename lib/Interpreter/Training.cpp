//===- Training.cpp - Steps of a model that is not lowered ----------------===//

#include "mf/Interpreter/Training.h"
#include "mf/Data/BatchReader.h"
#include "mf/Data/Safetensors.h"
#include "mf/Data/StepPrint.h"
#include "mf/Interpreter/Interpreter.h"
#include "mf/Program/Attributes.h"
#include "mf/Ranks/LearningRate.h"
#include "mf/Ranks/LossScaler.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <chrono>
#include <set>

using namespace mlir;

namespace mf::interpreter {

namespace {

class Training {
public:
  Training(ir::ModelOp model, const runner::TrainingOptions &options,
           llvm::raw_ostream &out, bool isTerminal,
           llvm::function_ref<void(llvm::StringRef)> note)
      : model(model), options(options), out(out), isTerminal(isTerminal),
        note(note), scaler(getLossScale(model.getTrainingAttr())) {}

  /// Errors that are reported already are success with `hasFailed`.
  llvm::Error run();
  bool hasFailed = false;

private:
  static program::LossScale getLossScale(ir::TrainingAttr training);
  llvm::Error checkOptions() const;
  llvm::Error openSchedule();
  llvm::Error openParameters();
  llvm::Error openModel();
  LogicalResult setReplicas(BatchOptions &batch) const;
  llvm::Error openData();
  llvm::Error runStep(int64_t step);
  llvm::Error dumpGradients(int64_t step) const;
  void printStep(const StepMeasurement &step);

  ir::ModelOp model;
  const runner::TrainingOptions &options;
  llvm::raw_ostream &out;
  const bool isTerminal;
  llvm::function_ref<void(llvm::StringRef)> note;

  std::optional<SafetensorsCheckpoint> parameters;
  std::unique_ptr<Interpreter> interpreter;
  std::optional<BatchReader> reader;
  std::optional<mf::LrSchedule> schedule;
  ranks::LossScaler scaler;
  /// Steps so far that changed the parameters.
  int64_t updates = 0;
  std::vector<int32_t> tokens, labels;
  RunReport report;
};

} // namespace

program::LossScale Training::getLossScale(ir::TrainingAttr training) {
  program::LossScale scale;
  if (!training)
    return scale;
  scale.value = static_cast<float>(training.getLossScale().convertToDouble());
  if (ir::LossScaleUpdateAttr update = training.getLossScaleUpdate()) {
    scale.factor = update.getFactor();
    scale.window = update.getWindow();
  }
  return scale;
}

llvm::Error Training::checkOptions() const {
  const char *wrong = nullptr;
  if (!options.checkpointFolder.empty())
    wrong = "--checkpoint-dir";
  else if (options.debugMemory)
    wrong = "--debug-memory";
  else if (options.deviceToHostRate > 0 || options.hostToDeviceRate > 0)
    wrong = "--d2h-gbps and --h2d-gbps";
  if (wrong)
    return llvm::createStringError(
        llvm::Twine(wrong) +
        ": a model has no memory and no streams; lower it with mf-opt "
        "--recompute-config=FILE");
  if (!options.dumpGradientsFolder.empty())
    if (std::error_code code =
            llvm::sys::fs::create_directories(options.dumpGradientsFolder))
      return llvm::createStringError(options.dumpGradientsFolder + ": " +
                                     code.message());
  return llvm::Error::success();
}

llvm::Error Training::openSchedule() {
  ir::TrainingAttr training = model.getTrainingAttr();
  if (!training)
    return llvm::Error::success();
  NamedAttrList attributes(training.getLrSchedule().getParameters());
  attributes.set("type", training.getLrSchedule().getType());
  FailureOr<program::LrSchedule> decoded = program::decodeLrSchedule(
      model, attributes.getDictionary(model.getContext()));
  if (failed(decoded)) {
    hasFailed = true;
    return llvm::Error::success();
  }
  auto made = ranks::makeLrSchedule(*decoded, options.steps);
  if (!made)
    return made.takeError();
  schedule = *made;
  return llvm::Error::success();
}

llvm::Error Training::openParameters() {
  if (options.initParamsPath.empty())
    return llvm::Error::success();
  auto file = SafetensorsCheckpoint::open(options.initParamsPath);
  if (!file)
    return file.takeError();
  parameters.emplace(std::move(*file));
  std::set<std::string> known;
  for (auto param : model.getBody().getOps<ir::ParamOp>())
    known.insert(param.getSymName().str());
  for (const std::string &name : parameters->getNames())
    if (known.count(name) == 0)
      note(options.initParamsPath + ": tensor '" + name +
           "' is no parameter of the model");
  return llvm::Error::success();
}

llvm::Error Training::openModel() {
  InterpreterOptions wanted;
  wanted.threads = options.threads;
  wanted.seed = options.seed;
  if (parameters)
    wanted.changeParameter =
        [this](llvm::StringRef name, const TensorShape &shape,
               llvm::MutableArrayRef<uint8_t> bytes) -> llvm::Error {
      auto tensor = parameters->find(name);
      if (!tensor)
        return tensor.takeError();
      return readTensor(name, *tensor, shape, bytes);
    };
  FailureOr<std::unique_ptr<Interpreter>> created =
      Interpreter::create(model, wanted);
  if (failed(created)) {
    hasFailed = true;
    return llvm::Error::success();
  }
  interpreter = std::move(*created);
  const bool wantsGradients = !options.dumpGradientsPath.empty() ||
                              !options.dumpGradientsFolder.empty();
  if (wantsGradients && !interpreter->hasBackward())
    return llvm::createStringError("--dump-gradients: the model has no "
                                   "backward yet; run mf-build-backward "
                                   "or lower it");
  return llvm::Error::success();
}

/// Which rows of the data each of the mesh's replicas reads.
LogicalResult Training::setReplicas(BatchOptions &batch) const {
  auto module = model->getParentOfType<ModuleOp>();
  auto mesh = ir::MeshAttr::find(model);
  if (!module || !mesh)
    return success();
  FailureOr<program::Mesh> decoded =
      program::decodeMesh(module, mesh.getSize(program::stageAxis));
  if (failed(decoded))
    return failure();
  batch.replicas = decoded->getNumParts(decoded->getFactors("dp"));
  return program::decodeSampleOrder(module, batch.sampleOrder);
}

llvm::Error Training::openData() {
  if (options.dataPath.empty())
    return llvm::createStringError(
        "the model reads tokens: give a text, .npy or Megatron file with "
        "--data");
  BatchOptions batch;
  batch.sequenceLength = model.getSequenceLength();
  batch.batchSize = model.getMicroBatchSize();
  batch.microBatches = interpreter->getMicroBatches();
  batch.vocabularySize = model.getVocabSize();
  batch.ignoreIndex = static_cast<int32_t>(model.getIgnoreIndex());
  if (static_cast<int64_t>(model.getPadTokenId()) >= 0)
    batch.padTokenId = model.getPadTokenId();
  if (failed(setReplicas(batch))) {
    hasFailed = true;
    return llvm::Error::success();
  }
  auto opened = BatchReader::open(options.dataPath, batch);
  if (!opened)
    return opened.takeError();
  reader.emplace(std::move(*opened));
  tokens.resize(reader->getBatchElements());
  labels.resize(reader->getBatchElements());
  return llvm::Error::success();
}

void Training::printStep(const StepMeasurement &step) {
  if (options.quiet)
    return;
  StepPrintOptions printing;
  printing.steps = options.steps;
  if (isTerminal)
    printing.sequencesPerStep =
        interpreter->getMicroBatches() * model.getMicroBatchSize();
  mf::printStep(step, printing, out);
}

static llvm::Error write(llvm::StringRef path,
                         llvm::Expected<ranks::WholeTensors> tensors) {
  return tensors ? tensors->write(path) : tensors.takeError();
}

llvm::Error Training::dumpGradients(int64_t step) const {
  if (!options.dumpGradientsFolder.empty()) {
    llvm::SmallString<128> path(options.dumpGradientsFolder);
    llvm::sys::path::append(
        path, llvm::formatv("step_{0,0+6}.safetensors", step).str());
    if (llvm::Error error = write(path, interpreter->collectGradients()))
      return error;
  }
  if (!options.dumpGradientsPath.empty() && step == options.steps)
    return write(options.dumpGradientsPath, interpreter->collectGradients());
  return llvm::Error::success();
}

llvm::Error Training::runStep(int64_t step) {
  const auto begin = std::chrono::steady_clock::now();
  if (llvm::Error error = reader->next(tokens, labels))
    return error;
  ranks::StepInput input;
  input.tokens = tokens;
  input.labels = labels;
  if (schedule)
    input.learningRate = schedule->getLearningRate(updates);
  input.stepNumber = updates + 1;
  input.lossScale = scaler.getScale();
  input.seed = options.seed;
  FailureOr<ranks::StepOutput> output = interpreter->runStep(input);
  if (failed(output)) {
    hasFailed = true;
    return llvm::Error::success();
  }
  if (llvm::Error error = dumpGradients(step))
    return error;
  StepMeasurement measurement;
  measurement.step = step;
  measurement.loss = output->loss;
  measurement.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  measurement.learningRate = input.learningRate;
  measurement.lossScale = input.lossScale;
  measurement.globalNorm = output->globalNorm;
  measurement.overflow = output->overflow;
  measurement.dropRates = output->dropRates;
  printStep(measurement);
  report.steps.push_back(measurement);
  if (interpreter->hasUpdate()) {
    updates += output->overflow ? 0 : 1;
    scaler.update(output->overflow);
  }
  return llvm::Error::success();
}

llvm::Error Training::run() {
  if (llvm::Error error = checkOptions())
    return error;
  for (auto part : {&Training::openSchedule, &Training::openParameters,
                    &Training::openModel, &Training::openData}) {
    if (llvm::Error error = (this->*part)())
      return error;
    if (hasFailed)
      return llvm::Error::success();
  }
  for (int64_t step = 1; step <= options.steps; ++step) {
    if (llvm::Error error = runStep(step))
      return error;
    if (hasFailed)
      return llvm::Error::success();
  }
  if (!options.saveParamsPath.empty())
    if (llvm::Error error =
            write(options.saveParamsPath, interpreter->collectParameters()))
      return error;
  if (options.reportPath.empty())
    return llvm::Error::success();
  report.program = options.programPath;
  report.seed = options.seed;
  return writeReport(options.reportPath, report);
}

LogicalResult train(ir::ModelOp model, const runner::TrainingOptions &options,
                    llvm::raw_ostream &out, bool isTerminal,
                    llvm::function_ref<void(llvm::StringRef)> note,
                    llvm::function_ref<void(llvm::StringRef)> fail) {
  Training training(model, options, out, isTerminal, note);
  if (llvm::Error error = training.run()) {
    fail(llvm::toString(std::move(error)));
    return failure();
  }
  return failure(training.hasFailed);
}

} // namespace mf::interpreter
