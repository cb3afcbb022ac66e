//===- Engine.cpp - Steps of a module at any level ------------------------===//

#include "mf/Interpreter/Engine.h"
#include "mf/Program/Decoder.h"
#include "mf/Program/LocatedError.h"
#include "mf/Program/Verifier.h"
#include "mf/Runner/ModelState.h"

using namespace mlir;

namespace mf::interpreter {

static llvm::Expected<TensorValues>
getValues(llvm::Expected<ranks::WholeTensors> tensors) {
  return tensors ? tensors->get() : tensors.takeError();
}

namespace {

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

class ModelEngine : public Engine {
public:
  ModelEngine(ir::ModelOp model, std::unique_ptr<Interpreter> interpreter)
      : model(model), interpreter(std::move(interpreter)) {}

  DataSizes getDataSizes() const override {
    ir::ModelOp op = model;
    return {interpreter->getMicroBatches(),
            static_cast<int64_t>(op.getMicroBatchSize()),
            static_cast<int64_t>(op.getSequenceLength()),
            static_cast<int64_t>(op.getVocabSize()),
            static_cast<int64_t>(op.getPadTokenId()),
            static_cast<int64_t>(op.getIgnoreIndex())};
  }
  bool knowsMicroBatches() const override {
    return bool(ir::ModelOp(model).getTrainingAttr());
  }
  float getLossScale() const override {
    ir::TrainingAttr training = ir::ModelOp(model).getTrainingAttr();
    return training
               ? static_cast<float>(training.getLossScale().convertToDouble())
               : 1.0F;
  }
  bool hasBackward() const override { return interpreter->hasBackward(); }
  bool hasUpdate() const override { return interpreter->hasUpdate(); }
  FailureOr<ranks::StepOutput> runStep(const ranks::StepInput &input) override {
    return interpreter->runStep(input);
  }
  llvm::Expected<TensorValues> getGradients() const override {
    return getValues(interpreter->collectGradients());
  }
  llvm::Expected<TensorValues> getParameters() const override {
    return getValues(interpreter->collectParameters());
  }
  LogicalResult report(llvm::Error error) const override {
    return error
               ? ir::ModelOp(model).emitError(llvm::toString(std::move(error)))
               : success();
  }

private:
  ir::ModelOp model;
  std::unique_ptr<Interpreter> interpreter;
};

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

class ProgramEngine : public Engine {
public:
  explicit ProgramEngine(program::DecodedProgram decoded)
      : decoded(std::move(decoded)) {}

  LogicalResult start(const InterpreterOptions &options);

  DataSizes getDataSizes() const override {
    const program::Program &program = decoded.program;
    return {program.microBatches,   program.microBatchSize,
            program.sequenceLength, program.vocabSize,
            program.padTokenId,     program.ignoreIndex};
  }
  bool knowsMicroBatches() const override { return true; }
  float getLossScale() const override {
    return decoded.program.lossScale.value;
  }
  bool hasBackward() const override { return has(program::Role::Gradient); }
  bool hasUpdate() const override { return has(program::Role::FirstMoment); }
  FailureOr<ranks::StepOutput> runStep(const ranks::StepInput &input) override;
  llvm::Expected<TensorValues> getGradients() const override {
    return gradients;
  }
  llvm::Expected<TensorValues> getParameters() const override {
    return getValues(runner::ModelState(*runner).collectParameters());
  }
  LogicalResult report(llvm::Error error) const override;

private:
  bool has(program::Role role) const;
  llvm::Error startRunner(const InterpreterOptions &options);

  program::DecodedProgram decoded;
  std::unique_ptr<runner::Runner> runner;
  TensorValues gradients;
};

} // namespace

bool ProgramEngine::has(program::Role role) const {
  for (const program::StageProgram &stage : decoded.program.stages)
    for (const program::Static &buffer : stage.statics)
      if (buffer.role == role)
        return true;
  return false;
}

LogicalResult ProgramEngine::report(llvm::Error error) const {
  if (!error)
    return success();
  llvm::handleAllErrors(
      std::move(error),
      [&](const program::LocatedError &located) {
        emitError(decoded.locations[located.getLocation()])
            << located.getMessage();
      },
      [&](const llvm::ErrorInfoBase &other) {
        emitError(decoded.locations.front()) << other.message();
      });
  return failure();
}

llvm::Error ProgramEngine::startRunner(const InterpreterOptions &options) {
  if (llvm::Error error = program::verifyProgress(decoded.program))
    return error;
  runner::RunnerOptions runnerOptions;
  runnerOptions.threads = options.threads;
  auto created = runner::Runner::create(decoded.program, runnerOptions);
  if (!created)
    return created.takeError();
  runner = std::move(*created);
  runner::ModelState state(*runner);
  if (llvm::Error error = state.initialize(options.seed))
    return error;
  return options.changeParameter
             ? state.changeParameters(options.seed, options.changeParameter)
             : llvm::Error::success();
}

LogicalResult ProgramEngine::start(const InterpreterOptions &options) {
  return report(startRunner(options));
}

FailureOr<ranks::StepOutput>
ProgramEngine::runStep(const ranks::StepInput &input) {
  auto output = runner->runStep(input, [this]() -> llvm::Error {
    auto values = getValues(runner::ModelState(*runner).collectGradients());
    if (!values)
      return values.takeError();
    gradients = std::move(*values);
    return llvm::Error::success();
  });
  if (!output)
    return report(output.takeError());
  return *output;
}

FailureOr<std::unique_ptr<Engine>>
Engine::create(ModuleOp module, const InterpreterOptions &options) {
  auto models = module.getOps<ir::ModelOp>();
  if (llvm::hasSingleElement(models)) {
    ir::ModelOp model = *models.begin();
    FailureOr<std::unique_ptr<Interpreter>> interpreter =
        Interpreter::create(model, options);
    if (failed(interpreter))
      return failure();
    return std::unique_ptr<Engine>(
        std::make_unique<ModelEngine>(model, std::move(*interpreter)));
  }
  FailureOr<program::DecodedProgram> decoded = program::decodeProgram(module);
  if (failed(decoded))
    return failure();
  auto engine = std::make_unique<ProgramEngine>(std::move(*decoded));
  if (failed(engine->start(options)))
    return failure();
  return std::unique_ptr<Engine>(std::move(engine));
}

} // namespace mf::interpreter
