//===- mf.cpp - One command for users -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// `mf VERB FILE` does what a user of a training YAML means. Each verb calls the
// libraries of the compiler, the simulator, the planner and the runner in this
// process.
//
//===----------------------------------------------------------------------===//

#include "Verb.h"
#include "mf/Support/NearestName.h"
#include "tools/help/ToolHelp.h"
#include "tools/main/ToolMains.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace mf::tools;
using llvm::formatv;
using llvm::outs;
using llvm::StringRef;

static constexpr Verb verbs[] = {
    {"check", "say whether a step fits, and what fills the memory", runCheck},
    {"memory", "show the memory of each stage, by part, operator and layer",
     runMemory},
    {"simulate", "time a step on a target, and say what limits it",
     runSimulate},
    {"plan", "find the settings with which a step is shortest and fits",
     runPlan},
    {"compare", "show memory and time of several settings side by side",
     runCompare},
    {"train", "run steps on this machine", runTrain},
    {"schedule", "show when each stage runs what", runSchedule},
    {"import", "write the model that a YAML or a config.json describes",
     runImport},
    {"export", "write the lowered step, or a program on CANN", runExport},
    {"targets", "list the targets, or print one", runTargets},
    {"calibrate", "fit a target to a profile", runCalibrate},
};

static void printOverview(llvm::raw_ostream &os) {
  os << "OVERVIEW: mf: answers questions about a training step of MindSpore "
        "Transformers\n\n"
        "Takes an unmodified training YAML, and needs no NPU. A model or a "
        "lowered step\n(.mlir) does in place of the YAML.\n\n"
        "USAGE: mf VERB FILE [options]\n\n"
        "OPTIONS:\n\n"
        "Verbs:\n\n";
  for (const Verb &verb : verbs)
    os << formatv("  {0,-12} - {1}\n", verb.name, verb.summary);
  os << formatv("  {0,-12} - {1}\n", "help",
                "say what a verb does and which options it has: mf help VERB")
     << "\nEXAMPLES:\n\n"
        "  mf check train.yaml\n"
        "  mf memory train.yaml --html=memory.html\n"
        "  mf simulate train.yaml --html=step.html\n"
        "  mf plan train.yaml --hbm=50G -o planned.yaml\n"
        "  mf compare train.yaml --set recompute_config.recompute=True\n"
        "  mf train train.yaml --data=FILE --steps=10\n";
}

static int failWithVerbs(StringRef name) {
  llvm::SmallVector<StringRef> names;
  for (const Verb &verb : verbs)
    names.push_back(verb.name);
  const bool isFile = name.contains('.') || name.contains('/');
  const std::string suggestion = mf::suggestName(name, names);
  llvm::errs() << "error: '" << name << "' is not a verb of mf";
  if (isFile)
    llvm::errs() << "; expected a verb before the file, as mf check " << name;
  else if (!suggestion.empty())
    llvm::errs() << suggestion;
  else
    llvm::errs() << "; expected " << llvm::join(names, ", ") << " or help";
  llvm::errs() << '\n';
  return 1;
}

static const Verb *findVerb(StringRef name) {
  const auto *found =
      llvm::find_if(verbs, [&](const Verb &verb) { return verb.name == name; });
  return found == std::end(verbs) ? nullptr : found;
}

/// Runs a verb on the words behind it.
static int runVerb(const Verb &verb, llvm::ArrayRef<char *> words) {
  // An option without a value would mean its default, as when a variable of the
  // shell is empty.
  for (StringRef word : words)
    if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      llvm::errs() << "error: expected a value after " << word
                   << ", or no such option\n";
      return 1;
    }
  std::string program = "mf " + verb.name.str();
  std::vector<char *> arguments = {program.data()};
  arguments.insert(arguments.end(), words.begin(), words.end());
  arguments.push_back(nullptr);
  return verb.run(static_cast<int>(arguments.size()) - 1, arguments.data());
}

static int help(llvm::ArrayRef<char *> words) {
  if (words.empty()) {
    printOverview(outs());
    return 0;
  }
  const Verb *verb = findVerb(words.front());
  if (!verb && StringRef(words.front()) != "help")
    return failWithVerbs(words.front());
  if (!verb) {
    printOverview(outs());
    return 0;
  }
  std::string option = "--help";
  return runVerb(*verb, {option.data()});
}

int mf::tools::mfMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  const llvm::ArrayRef<char *> words(argv + 1, argv + std::max(argc, 1));
  if (words.empty()) {
    printOverview(llvm::errs());
    return 1;
  }
  const StringRef first = words.front();
  if (first == "help" || first == "--help" || first == "-h" || first == "-help")
    return help(words.drop_front());
  if (first == "--version" || first == "-version") {
    outs() << "mf " << getVersion() << ", with LLVM " LLVM_VERSION_STRING "\n";
    return 0;
  }
  const Verb *verb = findVerb(first);
  return verb ? runVerb(*verb, words.drop_front()) : failWithVerbs(first);
}
