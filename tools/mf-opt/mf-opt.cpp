//===- mf-opt.cpp - The compiler's driver ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// mlir-opt with mf's dialects and passes, and with the options of a training
// step: `mf-opt --recompute-config=train.yaml model.mlir`.
//
//===----------------------------------------------------------------------===//

#include "Advice.h"
#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Plan/Settings/ChoiceCosts.h"
#include "mf/Support/TextTable.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/LLVM.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/pipeline/Pipeline.h"
#include "passes/plan-memory/MemoryLimit.h"
#include "tools/bytecode/GuardedParse.h"
#include "tools/help/ToolHelp.h"
#include "tools/lowering/LoweringFlags.h"
#include "tools/main/ToolMains.h"
#include "tools/targets/TargetOptions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"
#include <memory>
#include <mutex>

using namespace llvm;
using namespace mf;
using namespace mf::planner;
using mf::passes::StageOverflow;

//===----------------------------------------------------------------------===//
// mf-opt --json
//===----------------------------------------------------------------------===//

namespace {

/// Writes the settings of each model's layers, one JSON object per line, with
/// the number of warnings about the configuration so far.
class LayerReportWriter {
public:
  /// Opens `path`; standard error if it is empty. Prints the error if that
  /// fails.
  llvm::LogicalResult open(llvm::StringRef path) {
    if (path.empty())
      return llvm::success();
    std::string error;
    file = mlir::openOutputFile(path, &error);
    if (!file)
      llvm::errs() << "error: " << error << "\n";
    return llvm::success(file != nullptr);
  }

  /// Counts the warnings of `context` from now on; they are still printed.
  void countWarnings(mlir::MLIRContext &context) {
    context.getDiagEngine().registerHandler([this](
                                                mlir::Diagnostic &diagnostic) {
      warnings += diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning;
      // The next handler prints the diagnostic.
      return llvm::failure();
    });
  }

  void write(llvm::json::Object report) {
    report["warnings"] = warnings;
    llvm::raw_ostream &stream =
        file ? static_cast<llvm::raw_ostream &>(file->os()) : llvm::errs();
    stream << llvm::json::Value(std::move(report)) << '\n';
    if (file)
      file->keep();
  }

private:
  std::unique_ptr<llvm::ToolOutputFile> file;
  int64_t warnings = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// The error of a step that does not fit
//===----------------------------------------------------------------------===//

/// Names the other stages that do not fit, in order.
static std::string nameOthers(llvm::ArrayRef<StageOverflow> stages,
                              int64_t fullest) {
  constexpr size_t mostNamed = 4;
  constexpr double gib = 1 << 30;
  std::string names;
  size_t count = 0;
  for (const StageOverflow &stage : stages) {
    if (stage.stage == fullest)
      continue;
    if (++count <= mostNamed)
      names += (count > 1 ? ", " : "") +
               llvm::formatv("{0} ({1:f2} GiB)", stage.stage,
                             static_cast<double>(stage.bytes) / gib)
                   .str();
  }
  return llvm::formatv("{0} other {1} not fit: {2}{3}; --all-stages prints all "
                       "that is known of each",
                       count, count == 1 ? "stage does" : "stages do", names,
                       count > mostNamed ? ", .." : "");
}

namespace {

/// Collects the stages that do not fit, and prints them as one error.
class MemoryError {
public:
  /// Safe to call from several threads.
  void add(StageOverflow overflow) {
    const std::lock_guard<std::mutex> lock(isAdding);
    stages.push_back(std::move(overflow));
  }

  bool empty() const { return stages.empty(); }
  int64_t getLimitBytes() const {
    return stages.empty() ? 0 : stages.front().limitBytes;
  }

  /// Prints the fullest stage in about ten lines, at the place of the limit in
  /// the YAML, or, with `allStages`, all that is known of each stage. `hbm` is
  /// the limit of the command line, empty if it has none.
  void print(llvm::StringRef yaml, llvm::StringRef fileName,
             llvm::StringRef hbm, bool allStages) {
    DiagnosticList ignored;
    const TrainingConfig config = parseTrainingConfig(yaml, fileName, ignored);
    Location place = {fileName.str(), 0, 0};
    if (Node limit = config.context.node[known::deviceMemory.name];
        limit && hbm.empty())
      place = limit.getLocation();
    llvm::sort(stages, [](const StageOverflow &a, const StageOverflow &b) {
      return a.stage < b.stage;
    });
    DiagnosticList errors;
    if (allStages) {
      for (const StageOverflow &stage : stages) {
        Diagnostic &error = errors.error(place, stage.describe());
        for (const std::string &fact : stage.listFacts())
          error.attachNote(fact, place);
      }
      errors.print(llvm::errs());
      return;
    }
    const StageOverflow &fullest = *llvm::max_element(
        stages, [](const StageOverflow &a, const StageOverflow &b) {
          return a.bytes < b.bytes;
        });
    Diagnostic &error = errors.error(
        place, fullest.describe() + (hbm.empty() ? "" : " by --hbm"));
    for (const std::string &fact : fullest.summarize())
      error.attachNote(fact, place);
    if (stages.size() > 1)
      error.attachNote(nameOthers(stages, fullest.stage), place);
    if (config.isOfDynamicGraph() && !llvm::sys::Process::GetEnv("RANK_SIZE"))
      error.attachNote(
          llvm::formatv(
              "RANK_SIZE is not set in the environment, so the step is for the "
              "fewest ranks that the YAML allows, {0}; set it to the number "
              "that is started: ranks share parameters",
              config.parallel.getDeviceCount()),
          place);
    errors.print(llvm::errs());
  }

private:
  std::mutex isAdding;
  std::vector<passes::StageOverflow> stages;
};

} // namespace

//===----------------------------------------------------------------------===//
// Prints the costs of choices
//===----------------------------------------------------------------------===//

static void printTable(const ChoiceCosts &costs) {
  TextTable table({"choice", "given", "instead", "fullest stage", "peak, bytes",
                   "costs, bytes"});
  for (const ChoiceCost &cost : costs.costs)
    if (cost.peak)
      table.addRow({cost.choice.name, cost.choice.given, cost.choice.instead,
                    std::to_string(cost.peak->stage),
                    std::to_string(cost.peak->bytes),
                    std::to_string(costs.given.bytes - cost.peak->bytes)});
  table.print(errs());
}

/// Compiles a step once with each of MindSpore's choices changed, and prints
/// the costs as a table on standard error, or the reason why it cannot.
static void printChoices(const CompilerInput &input, StringRef yaml) {
  Expected<ChoiceCosts> found = measureChoices(input, yaml);
  if (!found) {
    llvm::WithColor::note() << "what choices cost cannot be measured: "
                            << toString(found.takeError()) << '\n';
    return;
  }
  errs() << "stage " << found->given.stage << " needs most, "
         << describeMemorySize(found->given.bytes)
         << "; with each choice made otherwise alone:\n";
  printTable(*found);
  for (const HeldBytes &held : found->held)
    errs() << "of it, " << held.name << ": " << describeMemorySize(held.bytes)
           << '\n';
  for (const ChoiceCost &cost : found->costs)
    if (!cost.peak)
      errs() << cost.choice.name << ' ' << cost.choice.instead
             << " does not compile: " << cost.problem << '\n';
}

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

namespace {

struct OptOptions {
  // Categories are shown in the order of their names, before MLIR's.
  cl::OptionCategory category{"A training step"};
  cl::OptionCategory adviceCategory{"Advice for a step that does not fit"};
  cl::opt<std::string> recomputeConfig{
      "recompute-config", cl::value_desc("yaml"), cl::cat(category),
      cl::desc("Lower one training step as this MindSpore Transformers YAML "
               "says; it may hold only some sections")};
  cl::opt<int64_t> gradientAccumulationSteps{
      "gradient_accumulation_steps", cl::value_desc("n"), cl::cat(category),
      cl::init(0),
      cl::desc(
          "Replace runner_config.gradient_accumulation_steps of the YAML")};
  cl::opt<std::string> schedule{
      "schedule", cl::value_desc("name"), cl::cat(category),
      cl::desc("Order of the stages' runs, by a name that mf-schedule --help "
               "lists (default: pipeline_scheduler of the YAML)")};
  cl::opt<std::string> hbm{
      "hbm", cl::value_desc("size"), cl::cat(category),
      cl::desc(
          "Device memory per rank, as 54GB, or none for no limit; a step that "
          "does not fit is an error (default: max_device_memory of the YAML)")};
  cl::opt<int64_t> lossChunks{"loss-chunks", cl::value_desc("n"),
                              cl::cat(category), cl::init(0),
                              cl::desc("Compute the loss by n pieces of the "
                                       "sequence, as chunk_loss_num asks for")};
  cl::opt<bool> recomputeTasks{
      "recompute-tasks", cl::cat(category),
      cl::desc("Recompute in tasks of their own, which run before the gradient "
               "arrives")};
  mf::tools::LoweringFlags lowering{category};

  /// Returns the options of lowering, for the step and for the search for
  /// advice.
  mf::passes::LoweringOptions getLowering() const {
    mf::passes::LoweringOptions options = lowering.getOptions();
    options.schedule = schedule;
    options.gradientAccumulationSteps = gradientAccumulationSteps;
    options.recomputeTasks = recomputeTasks;
    options.lossChunks = lossChunks;
    return options;
  }

  cl::opt<bool> verify{
      "verify", cl::init(true), cl::cat(category),
      cl::desc("Prove that the step has no races, that its ranks do not wait "
               "for each other for ever, that together they compute what one "
               "would and that its routines compute what the model says "
               "(default: true); --json says whether it was done")};
  cl::opt<bool> quiet{"quiet", cl::cat(category),
                      cl::desc("No INFO lines about what layers got")};
  cl::opt<std::string> reportFile{
      "json", cl::value_desc("file"), cl::ValueOptional, cl::cat(category),
      cl::desc("What layers got as one line of JSON instead of INFO lines, and "
               "what stages keep and exchange as another, in the file or on "
               "standard error")};
  cl::opt<bool> printPlan{
      "mf-print-plan", cl::cat(category),
      cl::desc("Print the plan of each pass on standard error")};
  cl::opt<bool> allStages{
      "all-stages", cl::cat(category),
      cl::desc("Where stages do not fit, print all that is known of each "
               "(default: the fullest stage in short)")};
  cl::opt<bool> printChoices{
      "print-choices", cl::cat(category),
      cl::desc("Print what MindSpore's choices cost: the step is compiled with "
               "each made otherwise")};

  cl::opt<bool> advise{"advise", cl::init(true), cl::cat(adviceCategory),
                       cl::desc("Where a step does not fit, look for the "
                                "settings with which it does (default: true)")};
  cl::opt<std::string> target{
      "target", cl::value_desc("name or file"), cl::cat(adviceCategory),
      cl::init("atlas-800t-a2"),
      cl::desc("The device with whose memory the limit is compared, and on "
               "which --advise times steps (default: atlas-800t-a2; mf-run "
               "--list-targets prints the names)")};
  cl::opt<double> adviseTimeLimit{
      "advise-time-limit", cl::value_desc("seconds"), cl::cat(adviceCategory),
      cl::desc("End --advise then, as ^C does (default: no limit, so that "
               "advice does not depend on the machine)")};
};

} // namespace

/// Registers the options at the first call.
static OptOptions &getOptions() {
  static OptOptions options;
  return options;
}

namespace {

/// The input, and the part of it that is kept for advice.
struct TrainingStep {
  /// The text of the YAML; none if it cannot be read, which a pass reports.
  std::optional<std::string> config;
  /// The stages that do not fit.
  MemoryError memory;
  /// What was proven of the step, for --json.
  std::string verification = "off";

  std::string getName() const {
    return getOptions().recomputeConfig == "-"
               ? "<stdin>"
               : getOptions().recomputeConfig.getValue();
  }
};

} // namespace

/// Returns MLIR's option of this name if the user did not set it.
static cl::Option *findUnsetOption(StringRef name) {
  auto &known = cl::getRegisteredOptions();
  auto found = known.find(name);
  return found == known.end() || found->second->getNumOccurrences() > 0
             ? nullptr
             : found->second;
}

/// Turns on one of MLIR's options unless the user set it. Returns whether it
/// did.
static bool turnOn(StringRef name) {
  // Only MLIR knows the type of its option, so it is set as on the command
  // line.
  cl::Option *option = findUnsetOption(name);
  return option && !option->addOccurrence(/*pos=*/0, option->ArgStr, "true");
}

static LogicalResult addTrainingStep(mlir::PassManager &manager,
                                     TrainingStep &step, bool expectsErrors,
                                     LayerReportWriter *report) {
  // An error names the operator; the program around it would bury the message.
  manager.getContext()->printOpOnDiagnostic(false);
  // The parser verifies the model, and ascend-verify-program the step. To
  // verify after each pass as well only helps to find mistakes of passes, and
  // takes a fifth of the time.
  if (findUnsetOption("verify-each"))
    manager.enableVerifier(false);
  // Reports of models are written in their order.
  if (report)
    manager.getContext()->disableMultithreading();
  mf::passes::TrainingStepOptions options;
  options.config =
      step.config ? step.getName() : getOptions().recomputeConfig.getValue();
  options.configText = step.config;
  options.hbm = getOptions().hbm;
  options.target = getOptions().target;
  options.setLowering(getOptions().getLowering());
  options.quiet = getOptions().quiet || report;
  options.printPlan = getOptions().printPlan;
  options.verify = getOptions().verify;
  // Expected errors are those of passes.
  if (step.config && !expectsErrors)
    options.memoryLimitHandler = [&step](mf::passes::StageOverflow overflow) {
      step.memory.add(std::move(overflow));
    };
  options.proofHandler = [&step](StringRef proven) {
    step.verification = proven.str();
    // The proof began with what MLIR verifies before it prints.
    turnOn("mlir-print-assume-verified");
  };
  if (report) {
    report->countWarnings(*manager.getContext());
    options.layerReportHandler = [report](json::Object object) {
      report->write(std::move(object));
    };
    options.stageReportHandler = [report, &step](json::Object object) {
      object["verification"] = step.verification;
      report->write(std::move(object));
    };
  }
  mf::passes::buildTrainingStepPipeline(manager, options);
  return success();
}

/// Unless the user sets the option, prints without searching for aliases, as
/// that takes as long as the printing itself and finds none in programs.
/// Returns true if it has set the option.
static bool printInLocalScope() { return turnOn("mlir-print-local-scope"); }

static LogicalResult fail(const Twine &message) {
  errs() << "error: " << message << "\n";
  return failure();
}

static LogicalResult checkOptions() {
  if (getOptions().recomputeConfig.empty()) {
    SmallVector<const cl::Option *> options{
        &getOptions().reportFile, &getOptions().target,
        &getOptions().printChoices, &getOptions().verify};
    append_range(options, getOptions().lowering.list());
    for (const cl::Option *option : options)
      if (option->getNumOccurrences() > 0)
        return fail("--" + option->ArgStr + " needs --recompute-config");
    return success();
  }
  if (getOptions().gradientAccumulationSteps.getNumOccurrences() > 0 &&
      getOptions().gradientAccumulationSteps < 1)
    return fail("gradient_accumulation_steps must be at least 1");
  if (getOptions().adviseTimeLimit.getNumOccurrences() > 0)
    if (llvm::Error error =
            mf::tools::checkAdviceTime(getOptions().adviseTimeLimit))
      return fail(toString(std::move(error)));
  // The default is read where it is needed.
  if (getOptions().target.getNumOccurrences() > 0)
    if (Error error =
            mf::tools::readTargetOption(getOptions().target).takeError())
      return fail(toString(std::move(error)));
  return success();
}

/// Compiles the input and writes the result; writes nothing after an error.
static LogicalResult compile(std::unique_ptr<MemoryBuffer> input,
                             StringRef outputName, TrainingStep &step,
                             mlir::MlirOptMainConfig config,
                             mlir::DialectRegistry &registry) {
  LayerReportWriter report;
  const bool wantsReport = getOptions().reportFile.getNumOccurrences() > 0;
  if (wantsReport && failed(report.open(getOptions().reportFile)))
    return failure();
  if (!getOptions().recomputeConfig.empty())
    config.setPassPipelineSetupFn([&](mlir::PassManager &manager) {
      return addTrainingStep(manager, step, config.shouldVerifyDiagnostics(),
                             wantsReport ? &report : nullptr);
    });
  std::string error;
  std::unique_ptr<ToolOutputFile> output =
      mlir::openOutputFile(outputName, &error);
  if (!output)
    return fail(error);
  const bool isLocal =
      !getOptions().recomputeConfig.empty() && printInLocalScope();
  if (failed(
          mlir::MlirOptMain(output->os(), std::move(input), registry, config)))
    return failure();
  // Printing with aliases ends with an empty line; this keeps the output
  // identical.
  if (isLocal && !config.shouldEmitBytecode())
    output->os() << '\n';
  output->keep();
  return success();
}

static mf::planner::CompilerInput getCompilerInput(StringRef model,
                                                   const TrainingStep &step) {
  mf::planner::CompilerInput input;
  input.fileName = step.getName();
  input.model = model.str();
  input.lowering = getOptions().getLowering();
  return input;
}

/// Prints settings with which the step fits.
static void printAdvice(StringRef model, const TrainingStep &step) {
  Expected<mf::target::Target> read =
      mf::tools::readTargetOption(getOptions().target);
  if (!read) {
    errs() << "error: " << toString(read.takeError()) << "\n";
    return;
  }
  mf::tools::AdviceOptions advice{{}, getOptions().target};
  mf::planner::PlanRequest &request = advice.request;
  request.input = getCompilerInput(model, step);
  request.yaml = *step.config;
  request.target = std::move(*read);
  request.limitBytes = step.memory.getLimitBytes();
  if (getOptions().adviseTimeLimit.getNumOccurrences() > 0)
    advice.seconds = getOptions().adviseTimeLimit;
  mf::tools::printAdvice(advice);
}

static LogicalResult run(StringRef inputName, StringRef outputName,
                         mlir::DialectRegistry &registry) {
  if (failed(checkOptions()))
    return failure();
  std::string error;
  std::unique_ptr<MemoryBuffer> input = mlir::openInputFile(inputName, &error);
  if (!input)
    return fail(error);
  mf::tools::refuseUnreadable(input->getMemBufferRef(), registry);
  TrainingStep step;
  // The YAML is read only once because it may be a pipe and advice needs it
  // again.
  if (!getOptions().recomputeConfig.empty())
    if (auto text = MemoryBuffer::getFileOrSTDIN(getOptions().recomputeConfig,
                                                 /*IsText=*/true))
      step.config = (*text)->getBuffer().str();
  const auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  const LogicalResult result =
      compile(MemoryBuffer::getMemBuffer(input->getMemBufferRef(),
                                         /*RequiresNullTerminator=*/false),
              outputName, step, config, registry);
  const bool isTooLarge = failed(result) && !step.memory.empty();
  if (isTooLarge)
    step.memory.print(*step.config, step.getName(), getOptions().hbm,
                      getOptions().allStages);
  // Advice would be noise if errors are expected or if the input contains
  // several models.
  if (!step.config || config.shouldVerifyDiagnostics() ||
      !config.inputSplitMarker().empty())
    return result;
  if (getOptions().printChoices && (succeeded(result) || isTooLarge))
    printChoices(getCompilerInput(input->getBuffer(), step), *step.config);
  if (getOptions().advise && isTooLarge)
    printAdvice(input->getBuffer(), step);
  return result;
}

int mf::tools::mfOptMain(int argc, char **argv) {
  InitLLVM initLlvm(argc, argv);
  mf::tools::setUpHelp({&getOptions().category, &getOptions().adviceCategory},
                       "\nEXAMPLES:\n\n"
                       "  mf-translate --import-mindformers train.yaml | "
                       "mf-opt --recompute-config=train.yaml -o step.mlir\n"
                       "  mf-opt --recompute-config=train.yaml --hbm=54GB "
                       "--print-choices model.mlir -o step.mlir\n"
                       "  mf-opt "
                       "--pass-pipeline='builtin.module(mf-read-config{file="
                       "train.yaml},mf.model(mf-partition))' model.mlir\n");
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
