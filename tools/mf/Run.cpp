//===- Run.cpp - mf train and mf simulate ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepInput.h"
#include "Verb.h"
#include "tools/help/ToolHelp.h"
#include "tools/mf-run/RunCommand.h"

using llvm::Expected;

namespace mf::tools {

/// Runs the step of the input, which is lowered in memory.
static int runLowered(Options &options, const StepOptions &step,
                      const char *program) {
  Expected<std::vector<std::string>> changes =
      takeYamlChanges(options.set, options.target);
  if (!changes)
    return fail(changes.takeError());
  auto lower = [&](mlir::MLIRContext &context,
                   llvm::raw_ostream &errors) -> Expected<StepInMemory> {
    StepRequest request{options.input, *changes};
    request.keepsModel = !options.simulate;
    request.certify = options.verify;
    if (options.simulate) {
      request.target = options.target;
      request.hbm = options.hbm;
    }
    Expected<InputStep> read = readStep(step, request, context);
    if (!read)
      return read.takeError();
    printWarnings(*read, errors);
    StepInMemory made;
    if (!read->yaml.empty())
      options.title = planner::makeTitle(read->yaml, options.input);
    made.module = std::move(read->module);
    made.digest = getDigest(read->yaml.empty() ? read->source : read->yaml);
    return made;
  };
  return runSteps(options, program, lower);
}

int runSimulate(int argc, char **argv) {
  removeConflictingOptions();
  Options options;
  cl::OptionCategory loweringCategory{"The step"};
  StepOptions step(loweringCategory);
  options.toolName = "mf simulate";
  options.input.setDescription("<train.yaml>");
  options.keepOnly({options.hbm, options.verify, options.target, options.set,
                    options.routing, options.trace, options.traceRanks,
                    options.profile, options.html, options.memoryHtml,
                    options.compare, options.kernelTable, options.report,
                    options.quiet, options.d2hGbps, options.h2dGbps});
  options.report.setArgStr("json");
  options.set.setDescription(setOfBoth);
  setUpHelp({&options.runCategory, &options.deviceCategory,
             &options.timeCategory, &options.outputCategory, &loweringCategory},
            "\nEXAMPLES:\n\n"
            "  mf simulate train.yaml\n"
            "  mf simulate train.yaml --html=step.html --trace=step.json\n"
            "  mf simulate train.yaml --target=atlas-900-a3 "
            "--set networks.roce.collective_share=0.5\n");
  cl::ParseCommandLineOptions(
      argc, argv,
      "mf simulate: times a step on a target\n\n"
      "Prints the memory and the time of each stage, tokens per second, and "
      "what limits\nthe step.\n");
  options.simulate = true;
  const bool isDefault = options.target.empty();
  if (isDefault)
    options.target = defaultTarget.str();
  const int code = runLowered(options, step, argv[0]);
  if (code == 0 && isDefault && !options.quiet)
    llvm::outs() << "target: " << defaultTarget
                 << ", the default; mf targets lists the others\n";
  return code;
}

int runTrain(int argc, char **argv) {
  removeConflictingOptions();
  Options options;
  cl::OptionCategory loweringCategory{"The step"};
  StepOptions step(loweringCategory);
  options.toolName = "mf train";
  options.input.setDescription("<train.yaml>");
  for (cl::Option *option : std::initializer_list<cl::Option *>{
           &options.simulate, &options.listTargets, &options.printTarget,
           &options.listParameters, &options.calibrate, &options.memoryHtml})
    option->removeArgument();
  options.report.setArgStr("json");
  options.set.setDescription("Change a key of the YAML, as "
                             "recompute_config.recompute=True; may be "
                             "repeated");
  setUpHelp({&options.runCategory, &options.stateCategory,
             &options.deviceCategory, &options.timeCategory,
             &options.outputCategory, &loweringCategory},
            "\nEXAMPLES:\n\n"
            "  mf train train.yaml --data=tokens.npy --steps=20\n"
            "  mf train train.yaml --data=tokens.npy --steps=1000 "
            "--checkpoint-dir=run --checkpoint-every=100 --resume\n"
            "  mpirun -n 4 mf train train.yaml --data=tokens.npy\n");
  cl::ParseCommandLineOptions(
      argc, argv,
      "mf train: runs steps on this machine\n\n"
      "Every rank is a thread with an emulated device, whose memory is as "
      "large as planned.\nPrints one line per step. A model without a YAML "
      "runs as it is, before lowering.\n\n"
      "`mpirun -n N mf train ...` divides the ranks over N processes; results "
      "are the same\nto the bit.\n");
  return runLowered(options, step, argv[0]);
}

} // namespace mf::tools
