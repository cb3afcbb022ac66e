//===- StepInput.h - The step that a verb is about --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A verb takes a training YAML, a model in the mf dialect, or a step in the
// ascend dialect. All become a step in memory.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TOOLS_MF_STEPINPUT_H
#define MF_TOOLS_MF_STEPINPUT_H

#include "mf/Decode/Decoder.h"
#include "mf/Frontend/Config/SettingEdit.h"
#include "mf/Plan/Settings/StepCompiler.h"
#include "tools/lowering/LoweringFlags.h"

namespace mf::tools {

namespace cl = llvm::cl;

/// The options of all verbs that lower a step. A program has one object, which
/// it creates before it parses its command line.
struct StepOptions {
  explicit StepOptions(cl::OptionCategory &category, bool hasTasks = true);

  cl::opt<std::string> model, pretrainedConfig;
  cl::opt<int64_t> lossChunks, gradientAccumulationSteps;
  cl::opt<bool> log;
  /// Empty if the verb has options of these names itself.
  std::optional<cl::opt<std::string>> schedule;
  std::optional<cl::opt<bool>> recomputeTasks;
  LoweringFlags lowering;
};

/// What a verb does with its input.
struct StepRequest {
  /// The file; "-" is standard input.
  std::string input;
  /// Changes of the YAML, as `recompute_config.recompute=True`.
  std::vector<std::string> changes;
  /// True to prove the step.
  bool verify = false;
  /// True to leave a model as it is if it comes without a YAML.
  bool keepsModel = false;
  /// True if the step must have certificates, for a later proof.
  bool certify = false;
  /// The target and --hbm, which are compared with each other. No target
  /// compares nothing.
  std::string target = {}, hbm = {};
  /// The values of --schedule and --recompute-tasks if the verb has them
  /// itself.
  std::string schedule = {};
  bool recomputeTasks = false;
};

/// The file of a verb that is about one step, and --set.
struct StepFileOptions {
  explicit StepFileOptions(cl::OptionCategory &category);
  StepRequest getRequest() const { return {input, {set.begin(), set.end()}}; }

  cl::opt<std::string> input;
  cl::list<std::string> set;
};

/// What --set says where it changes both.
constexpr llvm::StringLiteral setOfBoth(
    "Change a number of the target, as networks.hccs.collective_share=0.5, or "
    "a key of the YAML, as recompute_config.recompute=True; may be repeated");

/// Takes the changes of the YAML out of --set, in which those of a target's
/// numbers are left. Without a target they are about the default one.
llvm::Expected<std::vector<std::string>>
takeYamlChanges(cl::list<std::string> &set, llvm::StringRef target);

/// --hbm of a verb.
struct HbmOption {
  explicit HbmOption(cl::OptionCategory &category);
  /// Returns the bytes, which must have a unit: 50G, 50GB or 50GiB. Returns 0
  /// without the option.
  llvm::Expected<int64_t> getBytes() const;

  cl::opt<std::string> text;
};

/// A step in the ascend dialect. `context` must outlive `module`.
struct InputStep {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The YAML from which the step was lowered, with the changes of --set. Empty
  /// for a step that was given.
  std::string yaml;
  /// The text of the given IR, or empty.
  std::string source;
  /// True if the input is a model.
  bool isModel = false;
  /// What was proven of the step, such as "proven"; "off" for nothing.
  std::string verification = "off";
  /// The warnings about the YAML, each once.
  std::vector<Diagnostic> warnings;
};

/// Reads or lowers a step. Loads the dialects that it needs into `context`.
llvm::Expected<InputStep> readStep(const StepOptions &options,
                                   const StepRequest &request,
                                   mlir::MLIRContext &context);

/// Lowers the step of a YAML. The request's input and changes do not count.
/// Places are those in `original`, which is the YAML before it was changed.
llvm::Expected<InputStep> lowerYaml(planner::CompilerInput input,
                                    std::string yaml, llvm::StringRef original,
                                    const StepRequest &request,
                                    mlir::MLIRContext &context);

/// A YAML, and what else the options say for the compiler.
struct YamlInput {
  planner::CompilerInput compiler;
  std::string yaml;
};
llvm::Expected<YamlInput> readYaml(const StepOptions &options,
                                   llvm::StringRef path);

/// Returns whether a file has IR rather than YAML.
bool isIr(llvm::StringRef path, llvm::StringRef text);

/// Reads changes of a YAML. Each has the form `section.key=value`, in which the
/// value is YAML: `recompute_config.recompute=[4, 2, 0, 0]`.
llvm::Expected<std::vector<KeyChange>>
parseChanges(llvm::ArrayRef<std::string> changes);

/// Makes changes of a YAML.
llvm::Expected<std::string> changeYaml(llvm::StringRef yaml,
                                       llvm::StringRef fileName,
                                       llvm::ArrayRef<std::string> changes);

/// Decodes a step. The error has the place.
llvm::Expected<program::DecodedProgram> decodeStep(const InputStep &step);

/// Prints the warnings of a step as compilers do.
void printWarnings(const InputStep &step, llvm::raw_ostream &os);

/// Prints an error and returns the exit code of a failure.
int fail(llvm::Error error);

} // namespace mf::tools

#endif // MF_TOOLS_MF_STEPINPUT_H
