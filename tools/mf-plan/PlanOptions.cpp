//===- PlanOptions.cpp - The command line of mf-plan ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanOptions.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Pipeline/Policy.h"
#include "tools/help/ToolHelp.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;

namespace mf::tools {

static constexpr int defaultSteps = 10;
static constexpr int mostSteps = 1000;

/// Parses a size such as 40GB, or a number.
static std::optional<double> parseLimit(StringRef text) {
  double number = 0;
  if (!text.getAsDouble(number))
    return std::isfinite(number) && number > 0 ? std::optional(number)
                                               : std::nullopt;
  if (const auto bytes = parseMemorySize(text))
    return static_cast<double>(*bytes);
  return std::nullopt;
}

Expected<LimitRange> LimitRange::parse(StringRef text) {
  SmallVector<StringRef, 3> parts;
  text.split(parts, ':');
  std::vector<double> numbers;
  for (const StringRef part : parts)
    if (const auto number = parseLimit(part))
      numbers.push_back(*number);
  if (numbers.size() != parts.size() || parts.size() < 2 || parts.size() > 3)
    return createStringError("--frontier: expected LOW:HIGH or LOW:HIGH:STEP "
                             "in sizes such as 40GB or numbers, found '" +
                             text + "'");
  LimitRange range;
  range.low = numbers[0], range.high = numbers[1];
  if (range.low >= range.high)
    return createStringError(
        "--frontier: expected the lower limit first, found '" + text + "'");
  range.step =
      numbers.size() > 2 ? numbers[2] : (range.high - range.low) / defaultSteps;
  const double steps = (range.high - range.low) / range.step;
  if (steps > mostSteps)
    return createStringError(
        formatv("--frontier: '{0}' makes {1:f0} limits, expected at most {2}",
                text, steps + 1, mostSteps + 1));
  return range;
}

std::vector<double> LimitRange::list() const {
  std::vector<double> limits;
  // A limit that is below the highest one only by a rounding error is left out,
  // because the highest one is added at the end.
  for (int i = 0; low + i * step < high - step * 1e-6; ++i)
    limits.push_back(low + i * step);
  limits.push_back(high);
  return limits;
}

static const char overview[] = "mf-plan: finds the memory settings with which "
                               "a training step is shortest and fits\n\n"
                               "Chooses the layers of each stage and which of "
                               "them are kept, recomputed or swapped.\n"
                               "Of a training YAML each step is compiled as "
                               "mf-opt does and timed on --target.\n";

static const char extraHelp[] =
    "\nEXIT CODE:\n\n"
    "  0 there is a plan; 1 the input is wrong; 2 no plan fits, or none was "
    "found in time\n\n"
    "EXAMPLES:\n\n"
    "  mf-plan train.yaml --target=atlas-800t-a2 --hbm=55GB -o planned.yaml\n"
    "  mf-plan train.yaml --target=atlas-800t-a2 --html=plan.html\n"
    "  mf-plan train.yaml --target=atlas-800t-a2 --keep=swap --interleave=1,2\n"
    "  mf-plan train.yaml --target=atlas-800t-a2 --devices=64 -o planned.yaml\n"
    "  mf-plan train.yaml --target=atlas-800t-a2 --frontier=40GB:60GB "
    "--plot=frontier.svg\n"
    "  mf-plan --problem=problem.json --explain\n";

static const char trainingOverview[] =
    "mf plan: finds the memory settings with which a training step is shortest "
    "and fits\n\n"
    "Chooses the layers of each stage and which of them are kept, recomputed "
    "or swapped.\n"
    "Each step is compiled and timed on --target. With --devices the layout of "
    "ranks is\nchosen, too.\n";

static const char trainingHelp[] =
    "\nEXIT CODE:\n\n"
    "  0 there is a plan; 1 the input is wrong; 2 no plan fits, or none was "
    "found in time\n\n"
    "EXAMPLES:\n\n"
    "  mf plan train.yaml --hbm=55G -o planned.yaml\n"
    "  mf plan train.yaml --html=plan.html\n"
    "  mf plan train.yaml --devices=64 -o planned.yaml\n";

void PlanOptions::restrictToTraining(llvm::StringRef target) {
  defaultTarget = target.str();
  input.setDescription("<train.yaml>");
  problem.removeArgument();
  json.setValueExpectedFlag(cl::ValueRequired);
}

void PlanOptions::parse(int argc, char **argv) {
  const bool isMf = !defaultTarget.empty();
  setUpHelp({&category}, isMf ? trainingHelp : extraHelp);
  cl::ParseCommandLineOptions(argc, argv, isMf ? trainingOverview : overview);
  if (isMf && target.empty())
    target = defaultTarget;
}

Error PlanOptions::check() const {
  if (Error error = checkInput())
    return error;
  if (Error error = checkTraining())
    return error;
  if (Error error = checkOutputs())
    return error;
  constexpr double mostSeconds = 1e6;
  constexpr int64_t mostCandidates = 1'000'000'000;
  if (isGiven(candidates) && (candidates < 1 || candidates > mostCandidates))
    return createStringError(
        formatv("--candidates is {0}, expected a number from 1 to {1}",
                +candidates, mostCandidates));
  if (isGiven(timeLimit) &&
      (!std::isfinite(timeLimit) || timeLimit <= 0 || timeLimit > mostSeconds))
    return createStringError(
        formatv("--time-limit is {0}, expected seconds from above 0 to {1:f0}",
                +timeLimit, mostSeconds));
  if (frontier.empty())
    return Error::success();
  return LimitRange::parse(frontier).takeError();
}

Error PlanOptions::checkInput() const {
  if (input.empty() && problem.empty())
    return createStringError(
        "expected a training YAML, or --problem=FILE.json");
  if (!input.empty() && !problem.empty())
    return createStringError("expected either the training YAML '" + input +
                             "' or --problem='" + problem + "', found both");
  if (problem.empty())
    return Error::success();
  for (const cl::Option &option :
       std::initializer_list<std::reference_wrapper<const cl::Option>>{
           model, pretrainedConfig, target, set, hbm, lowering.fuseElementwise,
           lowering.castOnce, lowering.foldGradientScales,
           lowering.fuseAccumulation, keep, interleave, microBatches, schedules,
           recomputeTasks, expertLevels, devices, output, html})
    if (isGiven(option))
      return createStringError((option.ArgStr.size() > 1 ? "--" : "-") +
                               option.ArgStr +
                               " is about a training YAML, but --problem has "
                               "costs, limits and a schedule of its own");
  return Error::success();
}

static Error checkCounts(ArrayRef<int64_t> counts, llvm::StringRef name,
                         int64_t most) {
  for (const int64_t count : counts)
    if (count < 1 || count > most)
      return createStringError(formatv(
          "--{0} has {1}, expected numbers from 1 to {2}", name, count, most));
  return Error::success();
}

Error PlanOptions::checkTraining() const {
  constexpr int64_t mostChunks = 1 << 10, mostMicroBatches = 1 << 20,
                    mostDevices = 1 << 20;
  if (!hbm.empty() && !parseMemorySize(hbm))
    return createStringError("--hbm: expected " + explainMemorySize(hbm));
  if (Error error = checkCounts(interleave, "interleave", mostChunks))
    return error;
  if (Error error =
          checkCounts(microBatches, "micro-batches", mostMicroBatches))
    return error;
  if (isGiven(devices)) {
    if (Error error = checkCounts(+devices, "devices", mostDevices))
      return error;
    if (Error error = checkLayouts())
      return error;
  }
  for (const std::string &name : schedules)
    if (auto policy = schedule::findPolicy(name); !policy)
      return createStringError("--schedules: " +
                               llvm::toString(policy.takeError()));
  return Error::success();
}

/// Rejects options that make no sense while layouts are chosen.
Error PlanOptions::checkLayouts() const {
  for (const Setting setting : keep)
    if (setting != Setting::Swap)
      return createStringError(
          "--keep has a setting that counts layers by stage, but --devices "
          "chooses the stages; expected --keep=swap, or no --devices");
  if (isGiven(model))
    return createStringError(
        "--model is made for one layout, but --devices tries many: leave it "
        "out, the YAML describes the model");
  for (const cl::Option &option :
       std::initializer_list<std::reference_wrapper<const cl::Option>>{
           interleave, microBatches, schedules, expertLevels, frontier, html})
    if (isGiven(option))
      return createStringError(
          "--" + option.ArgStr +
          " is about one layout, but --devices tries many: give it for the "
          "YAML that --devices writes with -o");
  return Error::success();
}

Error PlanOptions::checkOutputs() const {
  if (isGiven(plot) && frontier.empty())
    return createStringError("--plot draws a --frontier=LOW:HIGH");
  if (html == "-")
    return createStringError("--html: expected a file, found '-'");
  if (!frontier.empty() && (explain || isGiven(output) || isGiven(html)))
    return createStringError(
        "--explain, --html and -o are about one plan, but --frontier makes "
        "many: give the limit that you choose with --hbm");
  if (printsJson() && printsYaml())
    return createStringError(
        "-o=- and --json both take standard output: give one of them a file");
  if (!frontier.empty() && isGiven(hbm))
    return createStringError(
        "--hbm is one limit, --frontier has several: give either");
  return Error::success();
}

} // namespace mf::tools
