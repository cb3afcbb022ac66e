//===- Targets.cpp - mf targets and mf calibrate --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepInput.h"
#include "Verb.h"
#include "mf/Decode/TargetFile.h"
#include "mf/Perf/Target/TargetFields.h"
#include "tools/help/ToolHelp.h"
#include "tools/mf-run/RunCommand.h"
#include "tools/targets/TargetOptions.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace mf::tools {

static Expected<llvm::json::Object> describeTarget(StringRef name) {
  Expected<target::Target> target = readTargetOption(name);
  if (!target)
    return target.takeError();
  auto buffer = target::openTarget(name);
  if (!buffer)
    return buffer.takeError();
  llvm::json::Object numbers;
  for (const target::Parameter &parameter : target::getParameters(*target))
    numbers[parameter.path] = *parameter.value;
  return llvm::json::Object{
      {"name", target->name},
      {"summary", getTargetSummary((*buffer)->getBuffer())},
      {"is_default", name == defaultTarget},
      {"numbers", std::move(numbers)}};
}

static Error writeTargets(const JsonFile &json, StringRef chosen) {
  llvm::json::Array targets;
  std::vector<StringRef> names = target::getShippedTargets();
  if (!chosen.empty())
    names = {chosen};
  for (const StringRef name : names) {
    Expected<llvm::json::Object> described = describeTarget(name);
    if (!described)
      return described.takeError();
    targets.push_back(std::move(*described));
  }
  return json.write(llvm::json::Object{{"targets", std::move(targets)}});
}

int runTargets(int argc, char **argv) {
  removeConflictingOptions();
  Options options;
  JsonFile json(options.runCategory);
  options.toolName = "mf targets";
  options.input.setDescription("[name or file]");
  options.keepOnly(
      {options.set, options.listParameters, options.output, json.path});
  options.listParameters.setDescription("Print the numbers of the target that "
                                        "--set can change");
  options.output.setDescription("Where the target is written (default: "
                                "standard output)");
  setUpHelp({&options.runCategory, &options.timeCategory},
            "\nEXAMPLES:\n\n"
            "  mf targets\n"
            "  mf targets atlas-800t-a2 -o mine.mlir\n"
            "  mf targets atlas-800t-a2 --list-parameters\n");
  cl::ParseCommandLineOptions(
      argc, argv,
      "mf targets: lists the devices on which steps can be timed, or prints "
      "one\n\n"
      "Without a name it prints a line for each target. With one it prints the "
      "file of the\ntarget, to edit.\n");
  const std::string chosen = options.input;
  if (!json.path.empty())
    if (Error error = writeTargets(json, chosen))
      return fail(std::move(error));
  if (json.isStandardOutput())
    return 0;
  options.listTargets = chosen.empty();
  options.target = chosen;
  options.printTarget = !chosen.empty() && !options.listParameters;
  const int code = runSteps(options, argv[0]);
  if (code == 0 && chosen.empty())
    llvm::outs() << defaultTarget << " is the default\n";
  return code;
}

int runCalibrate(int argc, char **argv) {
  removeConflictingOptions();
  Options options;
  options.toolName = "mf calibrate";
  options.input.setDescription("<folder of a profile>");
  options.input.setNumOccurrencesFlag(cl::Required);
  options.keepOnly(
      {options.target, options.set, options.output, options.quiet});
  JsonFile json(options.runCategory);
  options.target.setDescription("The target to start from (default: "
                                "atlas-800t-a2)");
  options.output.setDescription("Where the fitted target is written (default: "
                                "standard output)");
  setUpHelp({&options.runCategory, &options.timeCategory},
            "\nEXAMPLES:\n\n"
            "  mf calibrate profile/ -o mine.mlir\n"
            "  mf simulate train.yaml --target=mine.mlir\n");
  cl::ParseCommandLineOptions(
      argc, argv,
      "mf calibrate: fits the numbers of a target to a profile\n\n"
      "The folder is one that MindSpore's profiler wrote, or mf simulate "
      "--profile. Prints\nhow well each number fits.\n");
  if (options.target.empty()) {
    options.target = defaultTarget.str();
    if (!options.quiet)
      llvm::errs() << "note: starting from the target " << defaultTarget
                   << ", the default\n";
  }
  if (!json.path.empty() && options.output == "-")
    return fail(llvm::createStringError(
        "--json needs -o, the file of the target that it describes"));
  options.calibrate = options.input;
  if (const int code = runSteps(options, argv[0]))
    return code;
  if (json.path.empty())
    return 0;
  Error error = writeTargets(json, options.output);
  return error ? fail(std::move(error)) : 0;
}

} // namespace mf::tools
