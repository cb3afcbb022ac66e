//===- ModuleEngine.cpp - Steps of a module at any level ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Interpreter/ModuleEngine.h"
#include "mf/Exec/Interpreter/Interpreter.h"
#include "mf/Exec/Runner/ProgramEngine.h"
#include "mf/Program/Verifier.h"

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

} // namespace mf::interpreter
