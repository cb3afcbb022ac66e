//===- mf-opt.cpp - The compiler's driver ---------------------------------===//
//
// mlir-opt with mf's dialects and passes, and with the options of a training
// step: `mf-opt --recompute-config=train.yaml model.mlir`.
//
//===----------------------------------------------------------------------===//

#include "LayerReportWriter.h"
#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/pipeline/Pipeline.h"
#include "tools/help/HideInherited.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace llvm;

static cl::OptionCategory category("mf options");
static cl::opt<std::string> recomputeConfig(
    "recompute-config", cl::value_desc("yaml"), cl::cat(category),
    cl::desc("Lower one training step as this MindSpore Transformers YAML "
             "says; it may hold only some sections"));
static cl::opt<int64_t> gradientAccumulationSteps(
    "gradient_accumulation_steps", cl::value_desc("n"), cl::cat(category),
    cl::init(0),
    cl::desc("Replace runner_config.gradient_accumulation_steps of the YAML"));
static cl::opt<std::string> schedule(
    "schedule", cl::value_desc("name"), cl::cat(category),
    cl::desc("Order of the stages' runs, by a name that mf-schedule --help "
             "lists (default: pipeline_scheduler of the YAML)"));
static cl::opt<std::string>
    hbm("hbm", cl::value_desc("size"), cl::cat(category),
        cl::desc("Device memory per rank, as 54GB; a step that does not fit "
                 "is an error (default: max_device_memory of the YAML)"));
static cl::opt<bool> quiet("quiet", cl::cat(category),
                           cl::desc("No INFO lines about what layers got"));
static cl::opt<std::string> reportFile(
    "json", cl::value_desc("file"), cl::ValueOptional, cl::cat(category),
    cl::desc("What layers got as one line of JSON instead of INFO lines, and "
             "what stages keep and exchange as another, in the file or on "
             "standard error"));
static cl::opt<bool>
    printPlan("mf-print-plan", cl::cat(category),
              cl::desc("Print the plan of each pass on standard error"));

static LogicalResult addTrainingStep(mlir::PassManager &manager,
                                     mf::LayerReportWriter *report) {
  // An error names the operator; the program around it would bury the message.
  manager.getContext()->printOpOnDiagnostic(false);
  // Plans of chunks are printed in their order, and reports of models.
  if (printPlan || report)
    manager.getContext()->disableMultithreading();
  mf::passes::TrainingStepOptions options;
  options.config = recomputeConfig;
  options.gradientAccumulationSteps = gradientAccumulationSteps;
  options.schedule = schedule;
  options.hbm = hbm;
  options.quiet = quiet || report;
  options.printPlan = printPlan;
  if (report) {
    report->countWarnings(*manager.getContext());
    options.layerReportHandler = [report](json::Object object) {
      report->write(std::move(object));
    };
    options.stageReportHandler = options.layerReportHandler;
  }
  mf::passes::buildTrainingStepPipeline(manager, options);
  return success();
}

/// Prints without looking for aliases first, which takes as long as printing
/// and finds none in programs, unless the user says otherwise. True if so.
static bool printInLocalScope() {
  auto &known = cl::getRegisteredOptions();
  auto found = known.find("mlir-print-local-scope");
  if (found == known.end() || found->second->getNumOccurrences() > 0)
    return false;
  static_cast<cl::opt<bool> *>(found->second)->setValue(true);
  return true;
}

static LogicalResult run(StringRef inputName, StringRef outputName,
                         mlir::DialectRegistry &registry) {
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  mf::LayerReportWriter report;
  bool wantsReport = reportFile.getNumOccurrences() > 0;
  if (wantsReport && recomputeConfig.empty()) {
    errs() << "error: --json needs --recompute-config\n";
    return failure();
  }
  if (wantsReport && failed(report.open(reportFile)))
    return failure();
  if (!recomputeConfig.empty()) {
    if (gradientAccumulationSteps.getNumOccurrences() > 0 &&
        gradientAccumulationSteps < 1) {
      errs() << "error: gradient_accumulation_steps must be at least 1\n";
      return failure();
    }
    config.setPassPipelineSetupFn([&](mlir::PassManager &manager) {
      return addTrainingStep(manager, wantsReport ? &report : nullptr);
    });
  }
  std::string error;
  std::unique_ptr<MemoryBuffer> input = mlir::openInputFile(inputName, &error);
  if (!input) {
    errs() << "error: " << error << "\n";
    return failure();
  }
  std::unique_ptr<ToolOutputFile> output =
      mlir::openOutputFile(outputName, &error);
  if (!output) {
    errs() << "error: " << error << "\n";
    return failure();
  }
  bool isLocal = !recomputeConfig.empty() && printInLocalScope();
  if (failed(
          mlir::MlirOptMain(output->os(), std::move(input), registry, config)))
    return failure();
  // Printing for the whole file ends with an empty line; keep the same bytes.
  if (isLocal && !config.shouldEmitBytecode())
    output->os() << '\n';
  output->keep();
  return success();
}

int main(int argc, char **argv) {
  InitLLVM initLlvm(argc, argv);
  mf::tools::hideInheritedOptions({&category});
  mlir::DialectRegistry registry;
  registry.insert<mf::ir::MfDialect, mf::ascend::AscendDialect,
                  mlir::DLTIDialect>();
  mlir::registerTransformsPasses();
  mf::passes::registerAll();
  auto [inputName, outputName] = mlir::registerAndParseCLIOptions(
      argc, argv, "mf: training steps for Ascend NPUs, from YAML to programs\n",
      registry);
  return mlir::asMainReturnCode(run(inputName, outputName, registry));
}
