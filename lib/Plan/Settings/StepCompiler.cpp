//===- StepCompiler.cpp - From a YAML to a decoded step -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Settings/StepCompiler.h"
#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/DiscardableAttributes.h"
#include "dialects/mf/ErrorCollector.h"
#include "dialects/mf/MfOps.h"
#include "mf/Decode/Decoder.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "mf/Frontend/Import/ModelBuilder.h"
#include "mf/Frontend/Import/ModelReader.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/pipeline/Pipeline.h"
#include "passes/plan-memory/PlanMemory.h"
#include "llvm/Support/Path.h"
#include <map>
#include <mutex>

using namespace mf;
using namespace mf::planner;
using llvm::Expected;
using mlir::OwningOpRef;

/// Returns the model that the YAML describes.
static Expected<OwningOpRef<mlir::ModuleOp>>
importModel(const CompilerInput &input, llvm::StringRef yaml,
            mlir::MLIRContext &context) {
  DiagnosticList diagnostics;
  TrainingConfig config =
      parseTrainingConfig(yaml, input.fileName, diagnostics);
  if (!diagnostics.hasErrors() && !input.pretrainedConfig.empty())
    addPretrainedConfig(parseYamlFile(input.pretrainedConfig, diagnostics),
                        config, diagnostics);
  if (diagnostics.hasErrors())
    return toError(diagnostics);
  // The warnings of other sections are those of mf-read-config.
  DiagnosticList ofModel;
  const std::optional<ModelSpec> spec = readModelSpec(config, {}, ofModel);
  if (!spec)
    return toError(std::move(ofModel));
  if (input.handleWarning)
    for (const Diagnostic &diagnostic : ofModel.getAll())
      input.handleWarning(diagnostic);
  return buildModel(&context, *spec);
}

/// Returns a copy of a layer without the properties in which layers of one kind
/// differ: its name, the names and initial values of its parameters, which are
/// numbered in the order of their uses, and the names that seed its random
/// bits.
static OwningOpRef<ir::LayerOp>
copyWithoutNames(ir::LayerOp layer, mlir::SymbolTableCollection &symbols) {
  OwningOpRef<ir::LayerOp> copy(layer.clone());
  copy->setSymName("");
  mlir::Builder builder(layer.getContext());
  llvm::SmallVector<mlir::Attribute> params;
  mlir::AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](mlir::SymbolRefAttr name) -> std::optional<mlir::Attribute> {
        auto param = symbols.lookupNearestSymbolFrom<ir::ParamOp>(layer, name);
        if (!param)
          return std::nullopt;
        mlir::NamedAttrList facts(param->getAttrDictionary());
        facts.erase(param.getSymNameAttrName());
        facts.erase(param.getInitAttrName());
        params.push_back(facts.getDictionary(layer.getContext()));
        return mlir::FlatSymbolRefAttr::get(
            layer.getContext(), "param" + llvm::Twine(params.size()).str());
      });
  replacer.recursivelyReplaceElementsIn(*copy, /*replaceAttrs=*/true);
  copy->walk([](ir::DropoutMaskOp mask) { mask.setSource(""); });
  copy->getOperation()->setAttr("mf.params", builder.getArrayAttr(params));
  return copy;
}

std::vector<ModelLayer> planner::findLayers(mlir::ModuleOp module) {
  std::vector<ModelLayer> layers;
  // A layer of each kind.
  std::vector<OwningOpRef<ir::LayerOp>> kinds;
  mlir::SymbolTableCollection symbols;
  module.walk([&](ir::LayerOp layer) {
    if (!layer.isNumbered())
      return;
    OwningOpRef<ir::LayerOp> copy = copyWithoutNames(layer, symbols);
    auto found = llvm::find_if(kinds, [&](OwningOpRef<ir::LayerOp> &other) {
      return mlir::OperationEquivalence::isEquivalentTo(
          *other, *copy, mlir::OperationEquivalence::IgnoreLocations);
    });
    layers.push_back(
        {layer.getCell().str(), static_cast<size_t>(found - kinds.begin())});
    if (found == kinds.end())
      kinds.push_back(std::move(copy));
  });
  return layers;
}

static void addPasses(mlir::PassManager &manager, const CompilerInput &input,
                      llvm::StringRef yaml, PlanEffort effort,
                      passes::LayerNamesHandler namesHandler,
                      passes::MemoryProblemHandler problemHandler) {
  passes::TrainingStepOptions options;
  options.verify = input.verify;
  options.certify = input.certify;
  options.config = input.fileName;
  options.configText = yaml.str();
  options.setLowering(input.lowering);
  // There is no limit, because callers check whether the result fits.
  options.hbm = passes::noMemoryLimit.str();
  options.quiet = input.quiet;
  options.layerNamesHandler = std::move(namesHandler);
  options.memoryProblemHandler = std::move(problemHandler);
  options.planEffort.memo = input.memo;
  if (effort == PlanEffort::Quick) {
    options.planEffort.acceptableGap = 0.05;
    options.planEffort.packingWork = 100'000;
    options.planEffort.searchWork = 0;
    options.planEffort.shapeWork = 500'000;
  }
  // The model is compared before lowering, the programs after.
  auto addDeviceCheck = [&] {
    passes::CheckDeviceOptions check;
    check.targetName = input.target;
    check.file = input.fileName;
    check.hbm = input.hbm;
    if (!input.target.empty())
      manager.addPass(passes::createCheckDevice(check, yaml.str()));
  };
  addDeviceCheck();
  passes::buildTrainingStepPipeline(manager, options);
  addDeviceCheck();
}

Expected<OwningOpRef<mlir::ModuleOp>>
planner::readModel(const CompilerInput &input, llvm::StringRef yaml,
                   mlir::MLIRContext &context) {
  context
      .loadDialect<ir::MfDialect, ascend::AscendDialect, mlir::DLTIDialect>();
  context.printOpOnDiagnostic(false);
  if (!input.model)
    return importModel(input, yaml, context);
  ErrorCollector errors(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(*input.model, &context,
                                                        input.modelName);
  if (!module)
    return errors.take();
  return module;
}

std::string planner::makeTitle(llvm::StringRef yaml, llvm::StringRef fileName) {
  DiagnosticList ignored;
  const TrainingConfig config = parseTrainingConfig(yaml, fileName, ignored);
  std::string name = config.root["trainer"]["model_name"].getText().str();
  if (name.empty())
    if (auto spec = readModelSpec(config, {}, ignored))
      name = spec->name;
  const std::string file = llvm::sys::path::filename(fileName).str();
  return name.empty() ? file : name + " · " + file;
}

Expected<std::vector<ModelLayer>>
planner::readLayers(const CompilerInput &input, llvm::StringRef yaml) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Expected<OwningOpRef<mlir::ModuleOp>> module =
      readModel(input, yaml, context);
  if (!module)
    return module.takeError();
  return findLayers(**module);
}

bool planner::hasOwnModel(const CompilerInput &input, llvm::StringRef yaml) {
  if (!input.model)
    return true;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Expected<OwningOpRef<mlir::ModuleOp>> module =
      readModel(input, yaml, context);
  CompilerInput own = input;
  own.model.reset();
  Expected<OwningOpRef<mlir::ModuleOp>> imported =
      readModel(own, yaml, context);
  // The same model can be written with other keys.
  for (Expected<OwningOpRef<mlir::ModuleOp>> *each : {&module, &imported})
    if (*each)
      (**each)->getOperation()->removeAttr(ir::ModelSource::attributeName);
  const bool isSame =
      module && imported &&
      mlir::OperationEquivalence::isEquivalentTo(
          **module, **imported, mlir::OperationEquivalence::IgnoreLocations);
  llvm::consumeError(module.takeError());
  llvm::consumeError(imported.takeError());
  return isSame;
}

Expected<LoweredStep> planner::lowerStep(const CompilerInput &input,
                                         llvm::StringRef yaml,
                                         PlanEffort effort,
                                         mlir::MLIRContext &context) {
  Expected<OwningOpRef<mlir::ModuleOp>> read = readModel(input, yaml, context);
  if (!read)
    return read.takeError();
  OwningOpRef<mlir::ModuleOp> module = std::move(*read);
  ErrorCollector errors(context, input.handleWarning);
  LoweredStep step;
  step.layers = findLayers(*module);
  mlir::PassManager manager(&context);
  // The verifier of MLIR is disabled to save time; passes have their own tests.
  manager.enableVerifier(false);
  std::mutex isTaking;
  std::map<int64_t, memory::StepProblem> arenas;
  addPasses(
      manager, input, yaml, effort,
      [&](llvm::StringRef layer, const CellTree &names) {
        const std::lock_guard<std::mutex> lock(isTaking);
        step.names.insert_or_assign(layer.str(), names);
      },
      [&](int64_t stage, const memory::StepProblem &problem) {
        const std::lock_guard<std::mutex> lock(isTaking);
        arenas.insert_or_assign(stage, problem);
      });
  if (failed(manager.run(*module)))
    return errors.take();
  step.module = std::move(module);
  for (auto &[stage, problem] : arenas)
    step.arenas.push_back(std::move(problem));
  return step;
}

Expected<CompiledStep> planner::compileStep(const CompilerInput &input,
                                            llvm::StringRef yaml,
                                            PlanEffort effort) {
  // Stages are planned concurrently.
  mlir::MLIRContext context;
  Expected<LoweredStep> lowered = lowerStep(input, yaml, effort, context);
  if (!lowered)
    return lowered.takeError();
  ErrorCollector errors(context);
  mlir::FailureOr<program::DecodedProgram> decoded =
      program::decodeProgram(*lowered->module);
  if (failed(decoded))
    return errors.take();
  CompiledStep step;
  step.effort = effort;
  step.layers = std::move(lowered->layers);
  step.names = std::move(lowered->names);
  step.program = std::move(decoded->program);
  if (input.lowering.memory == passes::LimitedMemory::Program)
    for (program::StageProgram &stage : step.program.stages)
      stage.trainerPeak.reset();
  step.arenas = std::move(lowered->arenas);
  return step;
}
