//===- ChoiceCosts.h - What MindSpore's choices cost -----------*- C++ -*-===//
//
// A step needs more memory than it must where MindSpore, or the YAML for it,
// chooses to keep, gather or convert what could be cut, made again or left as
// it is. Each such choice is made otherwise and the step compiled again.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLANNER_CHOICECOSTS_H
#define MF_PLANNER_CHOICECOSTS_H

#include "mf/Frontend/Config/SettingEdit.h"
#include "mf/Plan/Settings/StepCompiler.h"

namespace mf::planner {

/// One choice of a step, and the other one.
struct MemoryChoice {
  /// The key, or what it is about.
  std::string name;
  std::string given, instead;
  /// The keys that say the other one.
  std::vector<KeyChange> changes = {};
  /// How the model becomes the other one; null if keys say it.
  void (*editModel)(mlir::ModuleOp) = nullptr;
  /// The options of lowering with the other choice.
  std::optional<passes::LoweringOptions> lowering = std::nullopt;
};

/// The choices of a step that could be made otherwise. Errors: the YAML or the
/// model cannot be read.
llvm::Expected<std::vector<MemoryChoice>>
findChoices(const CompilerInput &input, llvm::StringRef yaml);

/// The arena of a stage.
struct StagePeak {
  int64_t stage = 0;
  int64_t bytes = 0;
};

struct ChoiceCost {
  MemoryChoice choice;
  /// The peak of the fullest stage with the other choice; none if it does not
  /// compile.
  std::optional<StagePeak> peak;
  /// Why it does not compile.
  std::string problem;
};

/// The planned bytes of statics of one kind on the fullest stage.
struct HeldBytes {
  std::string name;
  int64_t bytes = 0;
};

struct ChoiceCosts {
  /// The peak of the fullest stage of the step as it is.
  StagePeak given;
  std::vector<ChoiceCost> costs;
  std::vector<HeldBytes> held;
};

/// Compiles the step of a model and a YAML, and again with each choice made
/// otherwise. Errors: the step does not compile as it is.
llvm::Expected<ChoiceCosts> measureChoices(const CompilerInput &input,
                                           llvm::StringRef yaml);

} // namespace mf::planner

#endif // MF_PLANNER_CHOICECOSTS_H
