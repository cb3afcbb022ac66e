//===- StepRun.cpp - Training runs of standalone programs -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Step/StepRun.h"
#include "StepEngine.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::step {

static constexpr llvm::StringLiteral help =
    "usage: step --data=FILE [--steps=N] [--seed=N] [--init-params=FILE]\n"
    "            [--save-params=FILE] [--save-trainable=FILE]\n"
    "            [--dump-gradients=FILE] [--report=FILE] [--quiet]\n"
    "            [--checkpoint-dir=FOLDER [--checkpoint-every=N]\n"
    "            [--keep-checkpoints=N] [--resume]] [--capture]\n"
    "            [--dump-tensors=PATTERN -o=FILE]\n"
    "The options are those of mf-run. --capture records the work of a step up "
    "to its gradients once, and gives the device all of it by one call from "
    "then on. ASCEND_DEVICE_ID says which device the "
    "step runs on. Of several ranks each is a process: RANK_ID says which, "
    "and\n"
    "MF_ROOT_INFO_DIR is an empty folder where they find each other.\n";

namespace {

/// The values of --dump-tensors and of the option for its file.
struct DumpOptions {
  std::string pattern, path;
};

} // namespace

/// Parses `--name=value`, or `--name` for a flag. Returns false for an unknown
/// option or an invalid value.
static bool takeOption(llvm::StringRef argument,
                       ranks::TrainingOptions &options, DumpOptions &dump) {
  auto [name, value] = argument.split('=');
  if (name == "--quiet")
    return options.quiet = true;
  if (name == "--resume")
    return options.resume = true;
  if (name == "--steps")
    return !value.getAsInteger(10, options.steps) && options.steps > 0;
  if (name == "--checkpoint-every")
    return !value.getAsInteger(10, options.checkpointEvery) &&
           options.checkpointEvery > 0;
  if (name == "--keep-checkpoints")
    return !value.getAsInteger(10, options.keepCheckpoints) &&
           options.keepCheckpoints >= 0;
  if (name == "--seed")
    return !value.getAsInteger(10, options.seed);
  const std::pair<llvm::StringRef, std::string *> paths[] = {
      {"--data", &options.dataPath},
      {"--init-params", &options.initParamsPath},
      {"--save-params", &options.saveParamsPath},
      {"--save-trainable", &options.saveTrainablePath},
      {"--dump-gradients", &options.dumpGradientsPath},
      {"--checkpoint-dir", &options.checkpointFolder},
      {"--dump-tensors", &dump.pattern},
      {"-o", &dump.path},
      {"--report", &options.reportPath}};
  for (const auto &[option, path] : paths)
    if (name == option && !value.empty()) {
      *path = value.str();
      return true;
    }
  return false;
}

/// Opens the dump that `given` asks for. Returns the text of the error, or an
/// empty text.
static std::string openDump(const DumpOptions &given,
                            ranks::TrainingOptions &options) {
  if (given.pattern.empty() != given.path.empty())
    return "--dump-tensors and -o, the safetensors file to write, need each "
           "other";
  if (given.pattern.empty())
    return "";
  auto dump = ranks::TensorDump::create(given.pattern, given.path);
  if (!dump)
    return llvm::toString(dump.takeError());
  options.dump = std::move(*dump);
  return "";
}

int run(int argc, char **argv, const Facts &facts, const StepDevice &device) {
  ranks::TrainingOptions options;
  DumpOptions dump;
  for (int i = 1; i < argc; ++i) {
    const llvm::StringRef argument = argv[i];
    if (argument == "--help") {
      llvm::outs() << help;
      return 0;
    }
    if (!takeOption(argument, options, dump)) {
      llvm::errs() << "error: '" << argument
                   << "' is no option, or lacks its value\n"
                   << help;
      return 1;
    }
  }
  if (options.checkpointFolder.empty() &&
      (options.resume || options.checkpointEvery > 0)) {
    llvm::errs() << "error: --resume and --checkpoint-every need "
                    "--checkpoint-dir\n";
    return 1;
  }
  if (const std::string failure = openDump(dump, options); !failure.empty()) {
    llvm::errs() << "error: " << failure << "\n";
    return 1;
  }
  llvm::Expected<ReadFacts> read = readFacts(facts);
  if (!read) {
    llvm::errs() << "error: " << llvm::toString(read.takeError()) << "\n";
    return 1;
  }
  // Only the first rank prints, as the others have the same values.
  const bool isFirst = facts.rank == 0;
  options.quiet |= !isFirst;
  StepEngine engine(facts, std::move(*read), device, options);
  llvm::Error error =
      ranks::train(engine, options, llvm::outs(), /*isTerminal=*/false,
                   [&](llvm::StringRef text) {
                     if (isFirst)
                       llvm::errs() << "note: " << text << "\n";
                   });
  if (!error)
    return 0;
  llvm::errs() << "error: ";
  if (getNumRanks(facts) > 1)
    llvm::errs() << "rank " << facts.rank << ": ";
  llvm::errs() << llvm::toString(std::move(error)) << "\n";
  return 1;
}

} // namespace mf::step
