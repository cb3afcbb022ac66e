//===- ChoiceCosts.h - Costs of MindSpore's choices -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A step needs more memory than necessary where MindSpore, or the YAML, chooses
// to keep, gather or convert a value that could be sharded, recomputed or left
// as it is. This file finds those choices. For each one it compiles the step
// again with the alternative.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLAN_SETTINGS_CHOICECOSTS_H
#define MF_PLAN_SETTINGS_CHOICECOSTS_H

#include "mf/Frontend/Config/SettingEdit.h"
#include "mf/Plan/Settings/StepCompiler.h"

namespace mf::planner {

/// How many forward-backward passes a step has, compared with those before.
struct PassRatio {
  int64_t times = 1, by = 1;
};

/// One choice of a step, and its alternative.
struct MemoryChoice {
  /// The key of the YAML, or a name for the choice.
  std::string name;
  std::string given, instead;
  /// The changes of keys that select the alternative.
  std::vector<KeyChange> changes = {};
  /// Edits the model to have the alternative. Null if keys select it.
  void (*editModel)(mlir::ModuleOp) = nullptr;
  /// The options of lowering that select the alternative.
  std::optional<passes::LoweringOptions> lowering = std::nullopt;
  /// The settings that select it, if several keys have to agree.
  std::optional<MemorySettings> settings = std::nullopt;
  /// The passes with which the step keeps its samples, if those of a pass are
  /// others. They are left alone if they cannot be divided.
  std::optional<PassRatio> passes = std::nullopt;
  /// True if the model of the YAML is another one then.
  bool changesModel = false;
  /// True if it treats all layers in a way that a plan chooses for each layer.
  bool isPlannable = false;

  /// Returns `NAME: GIVEN -> INSTEAD`.
  std::string describe() const {
    return name + ": " + given + " -> " + instead;
  }
};

/// Returns the choices of a step that have an alternative. Fails if the YAML or
/// the model cannot be read.
llvm::Expected<std::vector<MemoryChoice>>
findChoices(const CompilerInput &input, llvm::StringRef yaml);

/// Returns a YAML with the alternative.
llvm::Expected<std::string> applyChoice(llvm::StringRef yaml,
                                        llvm::StringRef fileName,
                                        const MemoryChoice &choice);

/// The size of a stage's arena.
struct StagePeak {
  int64_t stage = 0;
  int64_t bytes = 0;
};

/// A choice with the peak of its alternative.
struct ChoiceCost {
  MemoryChoice choice;
  /// The peak of the fullest stage with the alternative. Empty if that does not
  /// compile.
  std::optional<StagePeak> peak;
  /// The error if the alternative does not compile.
  std::string problem;
};

/// The planned bytes of statics of one kind on the fullest stage.
struct HeldBytes {
  std::string name;
  int64_t bytes = 0;
};

/// The peaks of a step and of the alternatives to its choices.
struct ChoiceCosts {
  /// The peak of the fullest stage of the unchanged step.
  StagePeak given;
  std::vector<ChoiceCost> costs;
  std::vector<HeldBytes> held;
};

/// Compiles the step of a model and a YAML, and again with the alternative of
/// each choice. Fails if the unchanged step does not compile.
llvm::Expected<ChoiceCosts> measureChoices(const CompilerInput &input,
                                           llvm::StringRef yaml);

} // namespace mf::planner

#endif // MF_PLAN_SETTINGS_CHOICECOSTS_H
