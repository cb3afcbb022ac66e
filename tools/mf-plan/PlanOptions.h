//===- PlanOptions.h - The command line of mf-plan -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_PLAN_PLANOPTIONS_H
#define MF_TOOLS_MF_PLAN_PLANOPTIONS_H

#include "mf/Frontend/Config/SettingEdit.h"
#include "tools/lowering/LoweringFlags.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace mf::tools {

/// Limits on memory from a lowest to a highest.
struct LimitRange {
  double low = 0, high = 0, step = 0;

  /// Parses `40GB:60GB`, `40GB:60GB:2GB`, or numbers in the unit of a problem.
  static llvm::Expected<LimitRange> parse(llvm::StringRef text);

  /// Returns the limits in ascending order. The highest one is always included,
  /// even if it is not a multiple of the step.
  std::vector<double> list() const;
};

namespace cl = llvm::cl;

/// Memory settings of a training YAML.
enum class Setting {
  Offset,
  Recompute,
  SelectRecompute,
  SelectCommRecompute,
  Swap
};

/// The options as llvm::cl parses them. The only object is created in main.
struct PlanOptions {
  cl::OptionCategory category{"A plan"};

  cl::opt<std::string> input{cl::Positional, cl::desc("[<train.yaml>]"),
                             cl::cat(category)};

  // Options for the input.
  cl::opt<std::string> problem{
      "problem", cl::value_desc("file"), cl::cat(category),
      cl::desc("Solve an abstract problem, in JSON, instead of planning a "
               "YAML; - is standard input")};
  cl::opt<std::string> model{
      "model", cl::value_desc("file"), cl::cat(category),
      cl::desc("Plan this model (default: the one that the YAML describes)")};
  cl::opt<std::string> pretrainedConfig{
      "pretrained-config", cl::value_desc("file"), cl::cat(category),
      cl::desc("Hugging Face config.json that completes model_config, as the "
               "one in the YAML's pretrained_model_dir does")};
  cl::opt<std::string> target{
      "target", cl::value_desc("name or file"), cl::cat(category),
      cl::desc("What the step runs on: a target that comes with mf (mf-run "
               "--list-targets), or the file of one")};
  cl::list<std::string> set{
      "set", cl::value_desc("path=number"), cl::cat(category),
      cl::desc("Change a number of the target, as "
               "networks.hccs.collective_share=0.5; may be repeated")};
  cl::opt<std::string> hbm{"hbm", cl::value_desc("size"), cl::cat(category),
                           cl::desc("Device memory per rank, as 54GB (default: "
                                    "max_device_memory of the YAML)")};

  /// The options of mf-opt.
  LoweringFlags lowering{category};

  // Options for the changes that are allowed.
  cl::list<Setting> keep{
      "keep",
      cl::CommaSeparated,
      cl::value_desc("settings"),
      cl::cat(category),
      cl::desc("What stays as the YAML has it:"),
      cl::values(clEnumValN(Setting::Offset, "offset", "layers of each stage"),
                 clEnumValN(Setting::Recompute, "recompute", "full recompute"),
                 clEnumValN(Setting::SelectRecompute, "select_recompute",
                            "operators that are recomputed"),
                 clEnumValN(Setting::SelectCommRecompute,
                            "select_comm_recompute",
                            "communication that is recomputed"),
                 clEnumValN(Setting::Swap, "swap", "swap_config"))};
  cl::list<int64_t> interleave{
      "interleave", cl::CommaSeparated, cl::value_desc("counts"),
      cl::cat(category),
      cl::desc(
          "Numbers of chunks on a stage to try beside the YAML's, as 1,2,3")};
  cl::list<int64_t> microBatches{
      "micro-batches", cl::CommaSeparated, cl::value_desc("counts"),
      cl::cat(category),
      cl::desc("Numbers of micro-batches to try beside the YAML's")};
  cl::list<std::string> schedules{"schedules", cl::CommaSeparated,
                                  cl::value_desc("names"), cl::cat(category),
                                  cl::desc("Schedules to try beside the YAML's "
                                           "(mf-schedule --help lists them)")};
  cl::opt<bool> recomputeTasks{
      "recompute-tasks", cl::cat(category),
      cl::desc("Try recompute in tasks of its own, which need not wait for "
               "gradients, too (mf-opt --recompute-tasks)")};
  cl::opt<bool> expertLevels{
      "expert-levels", cl::cat(category),
      cl::desc("Try the memory levels of experts: patterns of select_recompute "
               "that mf alone knows")};
  cl::opt<int64_t> devices{
      "devices", cl::value_desc("count"), cl::cat(category),
      cl::desc("Also choose the layout of this many devices: data, model, "
               "context and expert parallel, stages, and what is sharded; the "
               "number of samples of a step stays the same")};
  cl::opt<int64_t> candidates{
      "candidates", cl::value_desc("count"), cl::cat(category),
      cl::desc("End each solution of the abstract problem after so many "
               "candidates (default: 10000, with --problem and for all of a "
               "--frontier 1000000)")};
  cl::opt<double> timeLimit{
      "time-limit", cl::value_desc("seconds"), cl::cat(category),
      cl::desc("End the search with the best plan so far, as ^C does (default: "
               "no limit, so that the plan does not depend on the machine)")};

  // Options for the output.
  cl::opt<std::string> output{
      "o", cl::value_desc("file"), cl::cat(category),
      cl::desc("Write the YAML with the plan; - is standard output, and what "
               "is printed then goes to standard error")};
  cl::opt<bool> explain{
      "explain", cl::cat(category),
      cl::desc(
          "Print for each stage why its next better option is not chosen")};
  cl::opt<std::string> frontier{
      "frontier", cl::value_desc("low:high[:step]"), cl::cat(category),
      cl::desc(
          "Plan for each of these limits on memory, as 40GB:60GB:2GB, and "
          "print what more memory buys (default step: a tenth of the range)")};
  cl::opt<std::string> plot{"plot", cl::value_desc("file.svg"),
                            cl::cat(category), cl::desc("Draw the --frontier")};
  cl::opt<std::string> json{
      "json", cl::ValueOptional, cl::value_desc("file"), cl::cat(category),
      cl::desc("Write what is found as JSON, to standard output instead of "
               "text if no file is given")};
  cl::opt<std::string> html{
      "html", cl::value_desc("file"), cl::cat(category),
      cl::desc("Write a page about the plan, which opens without a network: "
               "what changes and why, by stage and by layer")};
  cl::opt<std::string> problemOut{
      "problem-out", cl::value_desc("file"), cl::cat(category),
      cl::desc("Write the abstract problem that is solved, for --problem")};

  /// Changes of the YAML that `mf plan` finds in --set.
  std::vector<KeyChange> changes;

  /// Parses the command line. Ends the program if it is malformed.
  void parse(int argc, char **argv);

  /// Makes the options those of `mf plan`: of a training YAML alone, with a
  /// default target and with units of sizes. Must be called before `parse`.
  void restrictToTraining(llvm::StringRef target);

  /// Checks the values of the options.
  llvm::Error check() const;

  /// Returns the number of candidates of a solution, given the default.
  int64_t getCandidates(int64_t otherwise = 1'000'000) const {
    return isGiven(candidates) ? candidates : otherwise;
  }
  /// Returns the time limit in seconds, if there is one.
  std::optional<double> getTimeLimit() const {
    return isGiven(timeLimit) ? std::optional<double>(timeLimit) : std::nullopt;
  }
  /// True if JSON replaces the text on standard output.
  bool printsJson() const { return isGiven(json) && isStandardOutput(json); }
  /// True if the planned YAML is written to standard output.
  bool printsYaml() const { return output == "-"; }

  static bool isGiven(const cl::Option &option) {
    return option.getNumOccurrences() > 0;
  }

private:
  /// Empty for mf-plan, which has no default.
  std::string defaultTarget;

  static bool isStandardOutput(llvm::StringRef path) {
    return path.empty() || path == "-";
  }
  llvm::Error checkInput() const;
  llvm::Error checkTraining() const;
  llvm::Error checkLayouts() const;
  llvm::Error checkOutputs() const;
};

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_PLANOPTIONS_H
