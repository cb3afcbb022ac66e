//===- Options.h - The command line of mf-run ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_RUN_OPTIONS_H
#define MF_TOOLS_MF_RUN_OPTIONS_H

#include "mf/Exec/Ranks/Training.h"
#include "llvm/Support/CommandLine.h"

namespace mf::tools {

namespace cl = llvm::cl;

/// The options as llvm::cl parses them. The only object is created in main,
/// after LLVM's own option `threads` has been removed.
struct Options {
  // Shown in the order of their names.
  cl::OptionCategory runCategory{"A run"};
  cl::OptionCategory stateCategory{"Checkpoints, parameters and gradients"};
  cl::OptionCategory deviceCategory{"Devices: memory, proofs and links"};
  cl::OptionCategory timeCategory{"Estimates of a step's time, and targets"};
  cl::OptionCategory outputCategory{"Files that show a step"};

  cl::opt<std::string> input{cl::Positional, cl::desc("<step.mlir>"),
                             cl::cat(runCategory)};

  // Options for the run.
  cl::opt<int64_t> steps{
      "steps", cl::value_desc("n"), cl::init(1), cl::cat(runCategory),
      cl::desc("Optimizer steps of the whole run (default: 1)")};
  cl::opt<std::string> data{
      "data", cl::value_desc("file"), cl::cat(runCategory),
      cl::desc("Training data: a .npy of token ids, a Megatron .bin/.idx pair, "
               "or any other file, whose bytes are the tokens")};
  cl::opt<uint64_t> seed{
      "seed", cl::value_desc("n"), cl::init(0), cl::cat(runCategory),
      cl::desc("Seed of the initial parameters (default: 0)")};
  cl::opt<int> threads{
      "threads", cl::value_desc("n"), cl::init(0), cl::cat(runCategory),
      cl::desc("Threads that compute, shared by the ranks; results do not "
               "depend on it (default: as many as the machine has)")};

  // Parameters and gradients.
  cl::opt<std::string> initParams{
      "init-params", cl::value_desc("file"), cl::cat(stateCategory),
      cl::desc("Start from the parameters of a safetensors file, index or "
               "folder instead of random ones")};
  cl::opt<std::string> initAdapters{
      "init-adapters", cl::value_desc("file"), cl::cat(stateCategory),
      cl::desc("Take adapters, and what else was trained beside them, from a "
               "file of --save-trainable instead of --init-params")};
  cl::opt<std::string> saveParams{
      "save-params", cl::value_desc("file"), cl::cat(stateCategory),
      cl::desc("Write the parameters after the last step")};
  cl::opt<std::string> saveTrainable{
      "save-trainable", cl::value_desc("file"), cl::cat(stateCategory),
      cl::desc("Write only those that the optimizer trains, such as adapters")};
  cl::opt<std::string> dumpGradients{
      "dump-gradients", cl::value_desc("file"), cl::cat(stateCategory),
      cl::desc("Write the last step's accumulated gradients, before clipping")};
  cl::opt<std::string> dumpGradientsEveryStep{
      "dump-gradients-every-step", cl::value_desc("folder"),
      cl::cat(stateCategory),
      cl::desc("Write each step's gradients to step_000001.safetensors, ...")};

  cl::opt<std::string> dumpTensors{
      "dump-tensors", cl::value_desc("pattern"), cl::cat(stateCategory),
      cl::desc("Write what operators whose names fit the pattern make in the "
               "last step, and gradients of parameters, to -o for mf-compare")};

  cl::opt<std::string> compareWith{
      "compare-with", cl::value_desc("folder"), cl::cat(stateCategory),
      cl::desc("Run a program that mf-translate --ascend-to-cpp wrote, too, "
               "and print the first operator of the last step that makes "
               "something else there. The folder is where it was built")};

  // Checkpoints.
  cl::opt<std::string> checkpointDir{
      "checkpoint-dir", cl::value_desc("folder"), cl::cat(stateCategory),
      cl::desc("Save checkpoints there, at least after the last step")};
  cl::opt<int64_t> checkpointEvery{"checkpoint-every", cl::value_desc("n"),
                                   cl::init(0), cl::cat(stateCategory),
                                   cl::desc("and after every n steps")};
  cl::opt<int64_t> keepCheckpoints{
      "keep-checkpoints", cl::value_desc("n"), cl::init(5),
      cl::cat(stateCategory),
      cl::desc("Checkpoints to keep; 0 keeps all (default: 5)")};
  cl::opt<bool> resume{
      "resume", cl::cat(stateCategory),
      cl::desc("Go on from the newest checkpoint in --checkpoint-dir")};

  // Memory and checks.
  cl::opt<std::string> hbm{
      "hbm", cl::value_desc("size"), cl::cat(deviceCategory),
      cl::desc("Device memory of a rank, as 54GB; a program that needs more is "
               "an error (default: the program's own limit)")};
  cl::opt<bool> debugMemory{
      "debug-memory", cl::cat(deviceCategory),
      cl::desc("Guard the ends of the arenas, fill free memory with NaNs, and "
               "measure the bytes touched")};
  cl::opt<bool> verify{
      "verify", cl::init(true), cl::cat(deviceCategory),
      cl::desc("Prove before the run that each access is ordered after what it "
               "depends on, that ranks together compute what one would and "
               "that routines compute what the model says (default: true); "
               "--report says whether it was done")};

  cl::opt<uint64_t> orderSeed{
      "order-seed", cl::value_desc("n"), cl::cat(deviceCategory),
      cl::desc("Run streams in turns, in an order that this number decides: "
               "the same number repeats a run exactly")};

  // The link to the host.
  cl::opt<double> d2hGbps{
      "d2h-gbps", cl::value_desc("rate"), cl::init(0), cl::cat(deviceCategory),
      cl::desc("Copies from a device to its host take as long as at this rate, "
               "in 10^9 bytes per second (default: as fast as this machine; "
               "with --simulate as the target says)")};
  cl::opt<double> h2dGbps{
      "h2d-gbps", cl::value_desc("rate"), cl::init(0), cl::cat(deviceCategory),
      cl::desc("The same in the other direction (default: --d2h-gbps)")};

  // Simulation.
  cl::opt<bool> simulate{
      "simulate", cl::cat(timeCategory),
      cl::desc("Simulate one step in time on --target instead of executing")};
  cl::opt<std::string> target{
      "target", cl::value_desc("name or file"), cl::cat(timeCategory),
      cl::desc("What to simulate on: a target that comes with mf-run "
               "(--list-targets), or the file of one")};
  cl::list<std::string> set{
      "set", cl::value_desc("path=number"), cl::cat(timeCategory),
      cl::desc("Change a number of the target, as "
               "networks.hccs.collective_share=0.5; may be repeated")};
  cl::list<std::string> routing{
      "routing", cl::value_desc("names"), cl::CommaSeparated,
      cl::cat(timeCategory),
      cl::desc("Choose experts as a scenario says instead of by scores: W0 to "
               "W7 of Megatron's benchmark of imbalance, zipf, trace. With "
               "--simulate several, or all, 12 steps of each")};
  cl::opt<bool> listTargets{"list-targets", cl::cat(timeCategory),
                            cl::desc("Print the targets and end")};
  cl::opt<bool> printTarget{
      "print-target", cl::cat(timeCategory),
      cl::desc("Print --target as a file to edit, and end")};
  cl::opt<bool> listParameters{
      "list-parameters", cl::cat(timeCategory),
      cl::desc("Print the numbers of --target that --set can change, and end")};
  cl::opt<std::string> calibrate{
      "calibrate", cl::value_desc("folder"), cl::cat(timeCategory),
      cl::desc("Fit --target to a profile, print how well each number fits, "
               "write the target to -o, and end")};
  cl::opt<std::string> output{
      "o", cl::value_desc("file"), cl::init("-"), cl::cat(timeCategory),
      cl::desc("Where --print-target and --calibrate write (default: standard "
               "output), and --dump-tensors")};

  // A step in time, simulated or executed.
  cl::opt<std::string> trace{
      "trace", cl::value_desc("file"), cl::cat(outputCategory),
      cl::desc("Write the step as a trace for Perfetto")};
  cl::list<int64_t> traceRanks{
      "trace-ranks", cl::value_desc("ranks"), cl::CommaSeparated,
      cl::cat(outputCategory),
      cl::desc("Ranks to show in --trace (default: one of each stage)")};
  cl::opt<std::string> profile{
      "profile", cl::value_desc("folder"), cl::cat(outputCategory),
      cl::desc("Write the step as MindSpore's profiler does, in "
               "ASCEND_PROFILER_OUTPUT of a folder for each stage")};
  cl::opt<std::string> html{
      "html", cl::value_desc("file"), cl::cat(outputCategory),
      cl::desc("Write a page with timeline, memory and table")};
  cl::opt<std::string> memoryHtml{
      "memory-html", cl::value_desc("file"), cl::cat(outputCategory),
      cl::desc("Write a page with the arena over time and all buffers by name, "
               "and end; with --simulate over simulated time")};
  cl::opt<std::string> compare{
      "compare", cl::value_desc("report"), cl::cat(outputCategory),
      cl::desc("Print where the step differs from that of a report")};

  cl::opt<bool> kernelTable{
      "kernel-table", cl::cat(outputCategory),
      cl::desc("Print the kernels of the step beside their lower bounds, and "
               "add them to --report. Rates are those of --target with "
               "--simulate, else measured in under a second")};

  // Output.
  cl::opt<std::string> report{
      "report", cl::value_desc("file"), cl::cat(outputCategory),
      cl::desc("Write losses, times, memory by category and stalls as JSON")};
  cl::opt<bool> quiet{"quiet", cl::cat(runCategory),
                      cl::desc("Print nothing but errors")};

  /// The name of the tool in messages, which verbs of mf replace.
  std::string toolName = "mf-run";

  /// Parses the command line. Ends the program if it is malformed.
  void parse(int argc, char **argv);

  const std::string &getToolName() const { return toolName; }
  bool isMf() const { return toolName != "mf-run"; }

  /// Removes all options but these from the command line.
  void keepOnly(
      std::initializer_list<std::reference_wrapper<const cl::Option>> kept);

  /// Checks the values. Returns an error text, or an empty one if they are
  /// valid.
  std::string check() const;

  /// Returns the pattern of operators whose results are kept. Empty for none.
  llvm::StringRef getDumpPattern() const {
    if (dumpTensors.empty() && !compareWith.empty())
      return "*";
    return dumpTensors.getValue();
  }

  /// The title of pages; that of the input if it is empty.
  std::string title;
  std::string getTitle() const { return title.empty() ? input : title; }

  /// True if an option is given that applies only to executions.
  bool runsSteps() const;

  /// Returns the device memory of a rank in bytes, or 0 if the program
  /// determines it.
  int64_t getHbmBytes() const;

  /// True if the timeline of a step is written, in addition to a report.
  bool writesStep() const {
    return !trace.empty() || !profile.empty() || !html.empty() ||
           !compare.empty() || kernelTable;
  }

  ranks::TrainingOptions getTrainingOptions() const;

  /// Returns the options that all processes of a run must share, with their
  /// values. For options that name files of a machine, the value is only
  /// whether they are given.
  std::vector<ranks::SharedValue> getSharedValues() const;
};

/// Removes LLVM's options whose names mf-run uses from the command line. Must
/// be called before an Options is created.
void removeConflictingOptions();

} // namespace mf::tools

#endif // MF_TOOLS_MF_RUN_OPTIONS_H
