//===- Check.cpp - mf check -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StageMemory.h"
#include "StepInput.h"
#include "Verb.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Program/Verifier.h"
#include "mf/Support/NumberText.h"
#include "tools/help/ToolHelp.h"
#include "tools/mf-opt/Advice.h"
#include "tools/targets/TargetOptions.h"
#include "tools/terminal/SearchTerminal.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::Error;
using llvm::Expected;
using llvm::formatv;

namespace mf::tools {

/// The exit code for a step that does not fit.
static constexpr int doesNotFit = 2;

namespace {

struct CheckOptions {
  cl::OptionCategory category{"A check"};
  cl::OptionCategory loweringCategory{"Lowering"};
  StepFileOptions file{category};
  HbmOption hbm{category};
  cl::opt<bool> verify{"verify", cl::init(true), cl::cat(category),
                       cl::desc("Prove the step (default: true)")};
  cl::opt<bool> advise{"advise", cl::init(true), cl::cat(category),
                       cl::desc("If the step does not fit, look for settings "
                                "with which it does (default: true)")};
  cl::opt<double> adviseTimeLimit{
      "advise-time-limit", cl::value_desc("seconds"), cl::cat(category),
      cl::desc("End --advise then, as ^C does (default: no limit, so that "
               "advice does not depend on the machine)")};
  cl::opt<std::string> target{
      "target", cl::value_desc("name or file"), cl::cat(category),
      cl::init(defaultTarget.str()),
      cl::desc("The device, with whose memory the limit is compared and on "
               "which --advise times steps (default: atlas-800t-a2)")};
  JsonFile json{category};
  StepOptions step{loweringCategory};
};

/// A step that was checked.
struct CheckedStep {
  InputStep step;
  std::vector<StagePeakMemory> stages;

  bool fits() const {
    return llvm::all_of(
        stages, [](const StagePeakMemory &stage) { return stage.fits(); });
  }
};

} // namespace

static Expected<CheckedStep> check(const CheckOptions &options, int64_t limit,
                                   const target::Memory &device,
                                   mlir::MLIRContext &context) {
  StepRequest request = options.file.getRequest();
  request.verify = options.verify;
  request.target = options.target;
  request.hbm = options.hbm.text;
  Expected<InputStep> step = readStep(options.step, request, context);
  if (!step)
    return step.takeError();
  Expected<program::DecodedProgram> decoded = decodeStep(*step);
  if (!decoded)
    return decoded.takeError();
  if (options.verify && step->verification == "off") {
    Expected<program::ProgramProof> proof = program::prove(decoded->program);
    if (!proof)
      return proof.takeError();
    step->verification = proof->describe();
  }
  Expected<std::vector<StagePeakMemory>> stages =
      measureMemory(*step->module, decoded->program, limit);
  if (!stages)
    return stages.takeError();
  for (StagePeakMemory &stage : *stages)
    if (Error error =
            passes::addDeviceNeed(stage.report, decoded->program, device))
      return error;
  return CheckedStep{std::move(*step), std::move(*stages)};
}

/// Prints the parts of a category at the peak.
static void printCategory(const StagePeakMemory &stage,
                          program::BufferCategory category, int64_t bytes,
                          llvm::raw_ostream &os) {
  const int64_t arena = stage.getHeldBytes();
  os << formatv("  {0,10}  {1}", showBytes(bytes, arena), describe(category));
  const auto largest = llvm::find_if(stage.parts, [&](const MemoryPart &part) {
    return part.category == category;
  });
  if (largest != stage.parts.end() && !isCounted(largest->bytes, arena))
    os << ", in small parts";
  else if (largest != stage.parts.end() && largest->bytes < bytes)
    os << formatv(", of which {0} {1}", showBytes(largest->bytes, arena),
                  largest->name);
  else if (largest != stage.parts.end())
    os << ": " << largest->name;
  os << '\n';
}

static void printStage(const StagePeakMemory &stage, llvm::raw_ostream &os) {
  if (stage.report.trainer)
    return printTrainer(stage, os);
  constexpr size_t mostShown = 5;
  std::vector<std::pair<int64_t, program::BufferCategory>> categories;
  for (size_t i = 0; i < program::numCategories; ++i) {
    if (isCounted(stage.peak.byCategory[i], stage.getHeldBytes()))
      categories.emplace_back(stage.peak.byCategory[i],
                              static_cast<program::BufferCategory>(i));
  }
  llvm::sort(categories, std::greater<>());
  for (const auto &[bytes, category] :
       llvm::ArrayRef(categories).take_front(mostShown))
    printCategory(stage, category, bytes, os);
  if (!stage.moment.empty())
    os << "  the peak is at " << stage.moment << '\n';
}

/// Returns "48.60 of 53 GiB", or the size with a unit of its own if it is much
/// smaller than the limit.
static std::string showUsed(int64_t bytes, int64_t limit) {
  constexpr int64_t gib = int64_t(1) << 30, mib = int64_t(1) << 20;
  const bool isLarge = limit >= gib;
  const std::string all =
      formatRounded(static_cast<double>(limit) /
                    static_cast<double>(isLarge ? gib : mib)) +
      (isLarge ? " GiB" : " MiB");
  return (isLarge && bytes < gib ? showBytes(bytes, bytes)
                                 : countBytes(bytes, limit)) +
         " of " + all;
}

static std::string showSpan(const target::ByteSpan &span) {
  return showBytes(span.least, span.most) + " to " +
         showBytes(span.most, span.most);
}

static void printResult(const CheckOptions &options, const CheckedStep &checked,
                        llvm::raw_ostream &os) {
  const StagePeakMemory &fullest = checked.stages[findFullest(checked.stages)];
  const int64_t arena = fullest.getHeldBytes();
  if (fullest.limitBytes == 0)
    os << "needs " << showBytes(arena, arena) << " on stage "
       << fullest.report.stage << "; no limit is known: expected "
       << known::deviceMemory.name << " in the YAML, or --hbm";
  else
    os << (checked.fits() ? "fits: " : "does not fit: ")
       << showUsed(arena, fullest.limitBytes) << " on stage "
       << fullest.report.stage;
  if (checked.stages.size() > 1)
    os << ", the fullest of " << checked.stages.size();
  os << '\n';
  printStage(fullest, os);
  if (const std::optional<target::DeviceNeed> &need = fullest.report.need)
    os << "a device needs " << showSpan(need->getTotal()) << " in all: pool "
       << showSpan(need->pool)
       << (need->communicators == 0
               ? std::string()
               : ", communicators " +
                     showBytes(need->communicators, need->communicators))
       << ", runtime " << showSpan(need->runtime) << ", device without a job "
       << showBytes(need->idle, need->idle) << '\n';
  const auto host = llvm::max_element(
      checked.stages, [](const StagePeakMemory &a, const StagePeakMemory &b) {
        return a.report.hostBytes < b.report.hostBytes;
      });
  if (hasHostMemory(host->report.hostBytes, arena))
    os << "host memory: "
       << showBytes(host->report.hostBytes, host->report.hostBytes)
       << " pinned for each rank of stage " << host->report.stage << '\n';
  if (checked.step.verification == "proven")
    os << "proven: no races, no deadlock, and the ranks together compute what "
          "the model says\n";
  else if (checked.step.verification != "off")
    os << checked.step.verification << ": the step has no certificate of it\n";
  if (!options.hbm.text.empty())
    os << "limit: --hbm=" << options.hbm.text << " is "
       << showBytes(fullest.limitBytes, fullest.limitBytes) << ", "
       << fullest.limitBytes << " bytes\n";
}

static llvm::json::Object toJson(const CheckedStep &checked) {
  llvm::json::Array stages, warnings;
  for (const StagePeakMemory &stage : checked.stages)
    stages.push_back(toJson(stage));
  for (const Diagnostic &warning : checked.step.warnings)
    warnings.push_back(llvm::json::Object{{"place", warning.location.str()},
                                          {"message", warning.message}});
  const size_t fullest = findFullest(checked.stages);
  return llvm::json::Object{
      {"fits", checked.fits()},
      {"fullest_stage", checked.stages[fullest].report.stage},
      {"verification", checked.step.verification},
      {"warnings", std::move(warnings)},
      {"yaml", llvm::json::fixUTF8(checked.step.yaml)},
      {"stages", std::move(stages)}};
}

/// Looks for settings with which the step fits.
static Error advise(const CheckOptions &options, target::Target target,
                    const CheckedStep &checked) {
  Expected<YamlInput> input = readYaml(options.step, options.file.input);
  if (!input)
    return input.takeError();
  AdviceOptions advice{{}, options.target, {}, doesNotFit};
  planner::PlanRequest &request = advice.request;
  request.input = std::move(input->compiler);
  request.input.quiet = true;
  request.yaml = checked.step.yaml;
  request.target = std::move(target);
  request.limitBytes = checked.stages.front().limitBytes;
  if (options.adviseTimeLimit.getNumOccurrences() > 0)
    advice.seconds = options.adviseTimeLimit;
  printAdvice(advice);
  return Error::success();
}

static Error run(const CheckOptions &options, bool &fits) {
  Expected<int64_t> limit = options.hbm.getBytes();
  if (!limit)
    return limit.takeError();
  if (options.adviseTimeLimit.getNumOccurrences() > 0)
    if (Error error = checkAdviceTime(options.adviseTimeLimit))
      return error;
  Expected<target::Target> target = readTargetOption(options.target);
  if (!target)
    return target.takeError();
  mlir::MLIRContext context;
  ProgressLine line({});
  line.show("lowering and proving the step");
  Expected<CheckedStep> checked =
      check(options, *limit, target->memory, context);
  line.clear();
  if (!checked)
    return checked.takeError();
  printWarnings(checked->step, llvm::errs());
  printResult(options, *checked, options.json.getText());
  fits = checked->fits();
  if (Error error = options.json.write(toJson(*checked)))
    return error;
  if (fits || !options.advise || checked->step.yaml.empty() ||
      options.file.input == "-" || checked->step.isModel)
    return Error::success();
  options.json.getText().flush();
  return advise(options, std::move(*target), *checked);
}

int runCheck(int argc, char **argv) {
  CheckOptions options;
  setUpHelp(
      {&options.category, &options.loweringCategory},
      "\nEXIT CODE:\n\n"
      "  0 the step fits; 1 the input is wrong; 2 the step does not fit\n\n"
      "EXAMPLES:\n\n"
      "  mf check train.yaml\n"
      "  mf check train.yaml --hbm=50GiB\n"
      "  mf check train.yaml --set parallel_config.pipeline_stage=8\n");
  cl::ParseCommandLineOptions(
      argc, argv,
      "mf check: says whether a step fits into the memory of each device\n\n"
      "Reads the YAML, lowers its step and proves it. Prints the fullest stage "
      "with what\nfills it, and each warning about the YAML once.\n");
  bool fits = true;
  if (Error error = run(options, fits))
    return fail(std::move(error));
  return fits ? 0 : doesNotFit;
}

} // namespace mf::tools
