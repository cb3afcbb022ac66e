//===- StepInput.cpp - The step that a verb is about ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepInput.h"
#include "Verb.h"
#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/ChangedText.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "mf/Perf/Target/TargetFields.h"
#include "mf/Support/Diagnostic.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "tools/bytecode/GuardedParse.h"
#include "tools/mf-plan/PlanCommand.h"
#include "tools/targets/TargetOptions.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include <set>

using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace mf::tools {

StepOptions::StepOptions(cl::OptionCategory &category, bool hasTasks)
    : model("model", cl::value_desc("file"), cl::cat(category),
            cl::desc("Take this model, as mf import wrote it, instead of the "
                     "one that the YAML describes")),
      pretrainedConfig(
          "pretrained-config", cl::value_desc("file"), cl::cat(category),
          cl::desc("Hugging Face config.json that completes model_config")),
      lossChunks("loss-chunks", cl::value_desc("n"), cl::cat(category),
                 cl::init(0),
                 cl::desc("Compute the loss by n pieces of the sequence")),
      gradientAccumulationSteps(
          "gradient_accumulation_steps", cl::value_desc("n"), cl::cat(category),
          cl::init(0),
          cl::desc("Replace runner_config.gradient_accumulation_steps")),
      log("log", cl::cat(category),
          cl::desc("Print what each layer got, as MindSpore Transformers' log "
                   "does")),
      lowering(category) {
  if (!hasTasks)
    return;
  schedule.emplace("schedule", cl::value_desc("name"), cl::cat(category),
                   cl::desc("Order of the stages' runs (default: the YAML's; "
                            "mf schedule --help lists the names)"));
  recomputeTasks.emplace("recompute-tasks", cl::cat(category),
                         cl::desc("Recompute in tasks of their own, which run "
                                  "before the gradient arrives"));
}

bool isIr(StringRef path, StringRef text) {
  if (path.ends_with(".mlir") || path.ends_with(".mlirbc"))
    return true;
  if (mlir::isBytecode(llvm::MemoryBufferRef(text, path)))
    return true;
  // Comments of MLIR are no YAML, so its text begins with an operation or an
  // alias.
  static const llvm::Regex begin(
      "^[[:space:]]*(//|module|mf\\.|ascend\\.|\"|[#!][a-z_]+[0-9]* = )");
  return begin.match(text);
}

static Expected<std::unique_ptr<llvm::MemoryBuffer>> openInput(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer)
    return createStringError("cannot read '" + path +
                             "': " + buffer.getError().message());
  return std::move(*buffer);
}

static std::string describeChange(StringRef change) {
  return "--set " + change.str() + ": ";
}

Expected<std::vector<KeyChange>>
parseChanges(llvm::ArrayRef<std::string> changes) {
  std::vector<KeyChange> keys;
  for (StringRef change : changes) {
    auto [path, text] = change.split('=');
    path = path.trim();
    if (path.empty() || text.trim().empty())
      return createStringError(
          describeChange(change) +
          "expected section.key=value, as recompute_config.recompute=True");
    DiagnosticList diagnostics;
    Node value = parseYaml(text.trim(), "--set " + path.str(), diagnostics);
    if (diagnostics.hasErrors())
      return toError(std::move(diagnostics));
    keys.push_back({path.str(), std::move(value)});
  }
  return keys;
}

Expected<std::string> changeYaml(StringRef yaml, StringRef fileName,
                                 llvm::ArrayRef<std::string> changes) {
  Expected<std::vector<KeyChange>> keys = parseChanges(changes);
  if (!keys)
    return keys.takeError();
  return keys->empty() ? Expected<std::string>(yaml.str())
                       : applyKeyChanges(yaml, fileName, *keys);
}

/// Returns whether a path is a number of a target rather than a key of a YAML.
static bool isOfTarget(StringRef path, const target::Target &target) {
  target::Target copy = target;
  return llvm::any_of(target::getParameters(copy),
                      [&](const target::Parameter &parameter) {
                        return StringRef(parameter.path).split('.').first ==
                               path.trim().split('.').first;
                      });
}

Expected<std::vector<std::string>> takeYamlChanges(cl::list<std::string> &set,
                                                   StringRef target) {
  std::vector<std::string> changes;
  if (set.empty())
    return changes;
  Expected<target::Target> read =
      readTargetOption(target.empty() ? StringRef(defaultTarget) : target);
  if (!read)
    return read.takeError();
  std::vector<std::string> ofTarget;
  for (const std::string &change : set)
    (isOfTarget(StringRef(change).split('=').first, *read) ? ofTarget : changes)
        .push_back(change);
  set.clear();
  for (std::string &change : ofTarget)
    set.push_back(std::move(change));
  return changes;
}

static Error addModel(const StepOptions &options, StringRef path,
                      planner::CompilerInput &input) {
  auto model = openInput(path);
  if (!model)
    return model.takeError();
  input.model = (*model)->getBuffer().str();
  input.modelName = nameInput(path).str();
  return Error::success();
}

static planner::CompilerInput getCompilerInput(const StepOptions &options,
                                               const StepRequest &request) {
  planner::CompilerInput input;
  input.pretrainedConfig = options.pretrainedConfig;
  input.lowering = options.lowering.getOptions();
  input.lowering.schedule =
      options.schedule ? options.schedule->getValue() : request.schedule;
  input.lowering.lossChunks = options.lossChunks;
  input.lowering.gradientAccumulationSteps = options.gradientAccumulationSteps;
  input.lowering.recomputeTasks = options.recomputeTasks
                                      ? options.recomputeTasks->getValue()
                                      : request.recomputeTasks;
  input.quiet = !options.log;
  return input;
}

Expected<YamlInput> readYaml(const StepOptions &options, StringRef path) {
  auto text = openInput(path);
  if (!text)
    return text.takeError();
  if (isIr(path, (*text)->getBuffer()))
    return createStringError("'" + path +
                             "' is IR; expected a training YAML, whose "
                             "settings can be changed");
  YamlInput input{getCompilerInput(options, StepRequest()),
                  (*text)->getBuffer().str()};
  input.compiler.fileName = nameInput(path).str();
  if (!options.model.empty())
    if (Error error = addModel(options, options.model, input.compiler))
      return error;
  return input;
}

static void loadDialects(mlir::MLIRContext &context) {
  context
      .loadDialect<ir::MfDialect, ascend::AscendDialect, mlir::DLTIDialect>();
  context.printOpOnDiagnostic(false);
}

static bool isModel(mlir::ModuleOp module) {
  return !module.getOps<ir::ModelOp>().empty();
}

/// Moves the places of an error to the text before it was changed.
static Error moveBack(Error error, const ChangedText &changed,
                      StringRef fileName) {
  return llvm::handleErrors(
      std::move(error), [&](const DiagnosticError &located) {
        DiagnosticList list;
        for (Diagnostic diagnostic : located.getList().getAll()) {
          changed.moveBack(diagnostic, fileName);
          if (diagnostic.severity == Severity::Error)
            list.error(diagnostic.location, diagnostic.message).notes =
                std::move(diagnostic.notes);
        }
        return toError(std::move(list));
      });
}

Expected<InputStep> lowerYaml(planner::CompilerInput input, std::string yaml,
                              StringRef original, const StepRequest &request,
                              mlir::MLIRContext &context) {
  InputStep step;
  const ChangedText changed(original, yaml);
  input.target = request.target;
  input.hbm = request.hbm;
  input.verify = request.verify;
  step.verification = request.verify ? "proven" : "off";
  input.certify = request.verify || request.certify;
  std::set<std::string> printed;
  input.handleWarning = [&](Diagnostic warning) {
    changed.moveBack(warning, input.fileName);
    if (printed.insert(warning.str()).second)
      step.warnings.push_back(std::move(warning));
  };
  Expected<planner::LoweredStep> lowered =
      planner::lowerStep(input, yaml, planner::PlanEffort::Full, context);
  if (!lowered)
    return moveBack(lowered.takeError(), changed, input.fileName);
  llvm::sort(step.warnings, [](const Diagnostic &a, const Diagnostic &b) {
    return std::tie(a.location.file, a.location.line, a.location.column,
                    a.message) < std::tie(b.location.file, b.location.line,
                                          b.location.column, b.message);
  });
  step.module = std::move(lowered->module);
  step.yaml = std::move(yaml);
  return step;
}

/// Reads a file with IR: a step, or a model, which is lowered with the settings
/// that a YAML without any section has.
static Expected<InputStep> readIr(const StepOptions &options,
                                  const StepRequest &request,
                                  std::unique_ptr<llvm::MemoryBuffer> text,
                                  mlir::MLIRContext &context) {
  if (!request.changes.empty())
    return createStringError(describeChange(request.changes.front()) + "'" +
                             request.input +
                             "' is IR, which has no keys; expected a YAML");
  planner::CompilerInput input = getCompilerInput(options, request);
  input.model = text->getBuffer().str();
  input.modelName = nameInput(request.input).str();
  InputStep step;
  step.source = *input.model;
  {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(std::move(text), llvm::SMLoc());
    mlir::SourceMgrDiagnosticHandler handler(sources, &context, llvm::errs());
    step.module = parseGuarded(sources, context);
  }
  if (!step.module)
    return createStringError("'" + request.input + "' cannot be read");
  if (!isModel(*step.module))
    return step;
  step.isModel = true;
  if (request.keepsModel)
    return step;
  input.fileName = "<no YAML>";
  return lowerYaml(std::move(input), "{}", "{}", request, context);
}

Expected<InputStep> readStep(const StepOptions &options,
                             const StepRequest &request,
                             mlir::MLIRContext &context) {
  loadDialects(context);
  auto text = openInput(request.input);
  if (!text)
    return text.takeError();
  if (isIr(request.input, (*text)->getBuffer())) {
    if (!options.model.empty())
      return createStringError("'" + request.input +
                               "' and --model are both IR; expected a YAML "
                               "beside --model");
    return readIr(options, request, std::move(*text), context);
  }
  planner::CompilerInput input = getCompilerInput(options, request);
  input.fileName = nameInput(request.input).str();
  if (!options.model.empty())
    if (Error error = addModel(options, options.model, input))
      return error;
  Expected<std::string> yaml =
      changeYaml((*text)->getBuffer(), input.fileName, request.changes);
  if (!yaml)
    return yaml.takeError();
  return lowerYaml(std::move(input), std::move(*yaml), (*text)->getBuffer(),
                   request, context);
}

Expected<program::DecodedProgram> decodeStep(const InputStep &step) {
  mlir::ModuleOp module = *step.module;
  mlir::ScopedDiagnosticHandler handler(
      module.getContext(), [](mlir::Diagnostic &diagnostic) {
        llvm::errs() << diagnostic.getLocation() << ": error: " << diagnostic
                     << '\n';
      });
  mlir::FailureOr<program::DecodedProgram> decoded =
      program::decodeProgram(module);
  if (failed(decoded))
    return createStringError("the step cannot be decoded");
  return std::move(*decoded);
}

void printWarnings(const InputStep &step, llvm::raw_ostream &os) {
  for (const Diagnostic &warning : step.warnings)
    warning.print(os);
}

StepFileOptions::StepFileOptions(cl::OptionCategory &category)
    : input(cl::Positional, cl::Required, cl::desc("<train.yaml>"),
            cl::cat(category)),
      set("set", cl::value_desc("key=value"), cl::cat(category),
          cl::desc("Change a key of the YAML, as "
                   "recompute_config.recompute=True; may be repeated")) {}

HbmOption::HbmOption(cl::OptionCategory &category)
    : text("hbm", cl::value_desc("size"), cl::cat(category),
           cl::desc("Device memory per rank, as 50GiB (default: "
                    "max_device_memory of the YAML)")) {}

Expected<int64_t> HbmOption::getBytes() const {
  if (text.getNumOccurrences() == 0)
    return 0;
  const std::optional<int64_t> bytes = parseMemorySize(text);
  if (!bytes)
    return createStringError("--hbm: expected " + explainMemorySize(text));
  return *bytes;
}

int fail(Error error) {
  llvm::outs().flush();
  printError(std::move(error), llvm::errs());
  return 1;
}

} // namespace mf::tools
