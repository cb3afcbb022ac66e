//===- Options.cpp - The command line of mf-run ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Options.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "tools/help/ToolHelp.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

namespace mf::tools {

void removeConflictingOptions() {
  // The option of the parallel code in LLVM's Support library.
  auto &known = cl::getRegisteredOptions();
  if (auto found = known.find("threads"); found != known.end())
    found->second->removeArgument();
}

void Options::parse(int argc, char **argv) {
  setUpHelp({&runCategory, &stateCategory, &deviceCategory, &timeCategory,
             &outputCategory},
            "\nEXAMPLES:\n\n"
            "  mf-run step.mlir --steps=20 --data=tokens.npy\n"
            "  mf-run step.mlir --steps=1000 --checkpoint-dir=run "
            "--checkpoint-every=100 --resume\n"
            "  mpirun -n 4 mf-run step.mlir --steps=20\n"
            "  mf-run --simulate --target=atlas-800t-a2 --html=step.html "
            "step.mlir\n"
            "  mf-run --memory-html=memory.html step.mlir\n");
  cl::ParseCommandLineOptions(
      argc, argv,
      "mf-run: executes training steps that mf-opt has lowered, or a model\n"
      "at any level before\n\n"
      "Every rank of the program is a thread with an emulated device. One line "
      "per step goes\nto standard output, everything else to standard "
      "error.\n\n"
      "`mpirun -n N mf-run step.mlir ...` divides the ranks over N processes; "
      "results are\nthe same to the bit.\n");
}

void Options::keepOnly(
    std::initializer_list<std::reference_wrapper<const cl::Option>> kept) {
  const cl::OptionCategory *own[] = {&runCategory, &stateCategory,
                                     &deviceCategory, &timeCategory,
                                     &outputCategory};
  auto isKept = [&](const cl::Option *option) {
    return llvm::any_of(
        kept, [&](const cl::Option &other) { return &other == option; });
  };
  llvm::SmallVector<cl::Option *> dropped;
  for (auto &[name, option] : cl::getRegisteredOptions())
    if (llvm::is_contained(own, option->Categories.front()) && !isKept(option))
      dropped.push_back(option);
  for (cl::Option *option : dropped)
    option->removeArgument();
}

std::string Options::check() const {
  const bool runs =
      !listTargets && !listParameters && !printTarget && calibrate.empty();
  if (runs && input.empty())
    return "expected a file: mf-run step.mlir";
  if (runs && !simulate && !set.empty())
    return "--set is about --simulate; --d2h-gbps and --h2d-gbps are the rates "
           "of copies in both";
  if (runs && quiet && !routing.empty())
    return "--routing prints a table, which --quiet would leave out; expected "
           "one of them";
  if (simulate && runsSteps())
    return "--simulate executes nothing: it takes no data, parameters, "
           "checkpoints, gradients, steps or threads";
  if (steps < 1)
    return "--steps must be at least 1";
  if (threads < 0 || threads > 4096)
    return "--threads must be between 0 and 4096";
  if (checkpointEvery < 0 || keepCheckpoints < 0)
    return "--checkpoint-every and --keep-checkpoints cannot be negative";
  if (checkpointDir.empty() && (resume || checkpointEvery > 0))
    return "--resume and --checkpoint-every need --checkpoint-dir";
  if (!dumpTensors.empty() && compareWith.empty() && output == "-")
    return "--dump-tensors needs -o, the safetensors file to write";
  if (!initAdapters.empty() && initParams.empty())
    return "--init-adapters needs --init-params, the weights that adapters are "
           "for";
  if (!hbm.empty() && !parseMemorySize(hbm))
    return "--hbm: expected " + explainMemorySize(hbm);
  for (double rate : {d2hGbps.getValue(), h2dGbps.getValue()})
    if (!std::isfinite(rate) || rate < 0 || rate > 1e6)
      return "--d2h-gbps and --h2d-gbps must be rates up to 1000000, in 10^9 "
             "bytes per second";
  return {};
}

bool Options::runsSteps() const {
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           &steps, &data, &seed, &threads, &initParams, &initAdapters,
           &saveParams, &saveTrainable, &dumpGradients, &dumpGradientsEveryStep,
           &dumpTensors, &compareWith, &checkpointDir, &checkpointEvery,
           &keepCheckpoints, &resume, &debugMemory, &orderSeed})
    if (option->getNumOccurrences() > 0)
      return true;
  return false;
}

int64_t Options::getHbmBytes() const {
  return hbm.empty() ? 0 : parseMemorySize(hbm).value_or(0);
}

ranks::TrainingOptions Options::getTrainingOptions() const {
  ranks::TrainingOptions options;
  options.steps = steps;
  options.seed = seed;
  options.threads = threads;
  options.debugMemory = debugMemory;
  constexpr double bytesPerGb = 1e9;
  options.deviceToHostRate = d2hGbps * bytesPerGb;
  options.hostToDeviceRate =
      (h2dGbps.getNumOccurrences() > 0 ? h2dGbps : d2hGbps) * bytesPerGb;
  options.quiet = quiet;
  options.programPath = input;
  options.dataPath = data;
  options.initParamsPath = initParams;
  options.initAdaptersPath = initAdapters;
  options.saveParamsPath = saveParams;
  options.saveTrainablePath = saveTrainable;
  options.dumpGradientsPath = dumpGradients;
  options.dumpGradientsFolder = dumpGradientsEveryStep;
  options.reportPath = report;
  options.checkpointFolder = checkpointDir;
  options.checkpointEvery = checkpointEvery;
  options.keepCheckpoints = keepCheckpoints;
  options.resume = resume;
  options.recordsStep = writesStep();
  options.measuresRates = kernelTable;
  return options;
}

std::vector<ranks::SharedValue> Options::getSharedValues() const {
  std::vector<ranks::SharedValue> values = {
      {"--steps", std::to_string(steps)},
      {"--seed", std::to_string(seed)},
      {"--threads", std::to_string(threads)},
      {"--checkpoint-every", std::to_string(checkpointEvery)},
      {"--keep-checkpoints", std::to_string(keepCheckpoints)},
      {"--hbm", hbm},
      {"--routing", llvm::join(routing, ",")},
      {"--d2h-gbps", std::to_string(d2hGbps)},
      {"--h2d-gbps", std::to_string(h2dGbps)},
      {"--verify", std::to_string(verify)}};
  auto addGiven = [&](const cl::Option &option, bool isGiven) {
    values.emplace_back("--" + option.ArgStr.str(),
                        isGiven ? "given" : "not given");
  };
  addGiven(resume, resume);
  addGiven(debugMemory, debugMemory);
  addGiven(kernelTable, kernelTable);
  for (const auto *path :
       {&data, &initParams, &initAdapters, &saveParams, &saveTrainable,
        &dumpGradients, &dumpGradientsEveryStep, &checkpointDir, &report,
        &trace, &profile, &html, &compare})
    addGiven(*path, !path->empty());
  return values;
}

} // namespace mf::tools
