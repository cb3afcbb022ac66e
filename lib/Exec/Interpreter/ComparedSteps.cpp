//===- ComparedSteps.cpp - Results of steps of a module -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ComparedSteps.h"
#include "mf/Exec/Data/ElementConversion.h"
#include "mf/Exec/Interpreter/Interpreter.h"
#include "mf/Exec/Runner/ProgramEngine.h"
#include "mf/Program/Verifier.h"
#include <cmath>
#include <random>

using namespace mlir;

namespace mf::interpreter {

LogicalResult ModuleEngine::report(llvm::Error error) const {
  if (!error)
    return success();
  llvm::handleAllErrors(
      std::move(error), [](const ranks::ReportedError &) {},
      [&](const program::LocatedError &located) { decoded->emit(located); },
      [&](const llvm::ErrorInfoBase &other) {
        emitError(decoded ? decoded->locations.front()
                          : ModuleOp(module).getLoc())
            << other.message();
      });
  return failure();
}

LogicalResult ModuleEngine::start() {
  auto models = module.getOps<ir::ModelOp>();
  if (llvm::hasSingleElement(models)) {
    ir::ModelOp model = *models.begin();
    FailureOr<std::unique_ptr<Interpreter>> interpreter =
        Interpreter::create(model, options);
    if (failed(interpreter))
      return failure();
    engine = std::move(*interpreter);
    isTrained = model.getTrainingAttr() != nullptr;
  } else {
    FailureOr<program::DecodedProgram> program = program::decodeProgram(module);
    if (failed(program))
      return failure();
    decoded = std::move(*program);
    if (failed(report(program::verifyProgress(decoded->program))))
      return failure();
    engine = std::make_unique<runner::ProgramEngine>(decoded->program, options);
  }
  properties = engine->getProperties();
  return report(engine->start([](llvm::StringRef) {}));
}

FailureOr<std::unique_ptr<ModuleEngine>>
ModuleEngine::create(ModuleOp module, const ranks::TrainingOptions &options) {
  std::unique_ptr<ModuleEngine> engine(new ModuleEngine(module, options));
  if (failed(engine->start()))
    return failure();
  return engine;
}

FailureOr<ranks::StepOutput>
ModuleEngine::runStep(const ranks::StepInput &input) {
  auto collect = [&]() -> llvm::Error {
    auto tensors = engine->collectGradients();
    if (!tensors)
      return tensors.takeError();
    return tensors->get().moveInto(gradients);
  };
  auto output = engine->runStep(input, collect);
  if (!output)
    return report(output.takeError());
  return *output;
}

FailureOr<ranks::TensorValues> ModuleEngine::getParameters() const {
  auto tensors = engine->collectParameters();
  if (!tensors)
    return report(tensors.takeError());
  auto values = tensors->get();
  if (!values)
    return report(values.takeError());
  return std::move(*values);
}

namespace {

/// Tokens and labels of one step.
struct RandomBatch {
  std::vector<int32_t> tokens, labels;
};

} // namespace

/// Every fifth label is ignored, and so are those of padding.
static RandomBatch drawBatch(const BatchOptions &sizes,
                             std::mt19937_64 &random) {
  const int64_t count =
      sizes.microBatches * sizes.batchSize * sizes.sequenceLength;
  RandomBatch batch;
  for (int64_t i = 0; i < count; ++i) {
    const auto token = static_cast<int32_t>(random() % sizes.vocabularySize);
    const auto label = static_cast<int32_t>(random() % sizes.vocabularySize);
    batch.tokens.push_back(token);
    batch.labels.push_back(
        i % 5 == 4 || token == sizes.padTokenId ? sizes.ignoreIndex : label);
  }
  return batch;
}

FailureOr<ComparedSteps> runSteps(ModuleEngine &engine, int64_t steps,
                                  uint64_t seed, float lossScale) {
  std::mt19937_64 random(seed);
  ComparedSteps outcome;
  for (int64_t step = 1; step <= steps; ++step) {
    const RandomBatch batch = drawBatch(engine.getProperties().batch, random);
    ranks::StepInput input;
    input.tokens = batch.tokens;
    input.labels = batch.labels;
    input.learningRates.assign(1 + engine.getProperties().getNumRateGroups(),
                               comparedLearningRate);
    input.stepNumber = step;
    input.lossScale = lossScale;
    input.seed = seed;
    FailureOr<ranks::StepOutput> output = engine.runStep(input);
    if (failed(output))
      return failure();
    outcome.losses.push_back(output->loss.value_or(std::nanf("")));
    outcome.globalNorms.push_back(output->globalNorm);
  }
  FailureOr<ranks::TensorValues> parameters = engine.getParameters();
  if (failed(parameters))
    return failure();
  outcome.gradients = engine.getGradients();
  outcome.parameters = std::move(*parameters);
  return outcome;
}

std::vector<double> getNumbers(const ranks::TensorValue &value) {
  std::vector<float> floats(value.shape.getNumElements());
  llvm::cantFail(convertElements(value.shape.type, value.bytes, DType::F32,
                                 {reinterpret_cast<uint8_t *>(floats.data()),
                                  floats.size() * sizeof(float)}));
  return {floats.begin(), floats.end()};
}

double getNorm(llvm::ArrayRef<double> values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

} // namespace mf::interpreter
