//===- StepCompiler.h - From a YAML to a decoded step ----------*- C++ -*-===//
//
// The whole compiler as a function: runs mf-translate, mf-opt and the decoder
// of mf-run on a training YAML, in memory.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLANNER_STEPCOMPILER_H
#define MF_PLANNER_STEPCOMPILER_H

#include "mf/Program/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/pipeline/Pipeline.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace mf::planner {

/// The input that all YAMLs to be compiled share.
struct CompilerInput {
  /// The name of the YAML's file, for messages.
  std::string fileName;
  /// The text of a model in the mf dialect; none imports the YAML's own.
  std::optional<std::string> model;
  /// The name of its file, for messages.
  std::string modelName;
  /// As mf-opt's --schedule; empty takes the YAML's.
  std::string schedule;
  /// As mf-opt's --gradient_accumulation_steps; 0 takes the YAML's.
  int64_t gradientAccumulationSteps = 0;
  /// The options of mf-opt with these names.
  passes::LoweringOptions lowering;
  /// As mf-translate's --pretrained-config; may be empty.
  std::string pretrainedConfig;
  /// Frames and scratch that arenas of any of them have in common are packed
  /// once.
  std::shared_ptr<memory::PackMemo> memo = std::make_shared<memory::PackMemo>();
};

/// A layer that counts among those that stages are made of.
struct ModelLayer {
  /// The prefix that operators' places are relative to: `layers.3`.
  std::string name;
  /// Layers of one kind have the same operators, with the same types and
  /// attributes, on the same values; only names may differ.
  size_t kind = 0;
};

/// The layers of a model, in order.
std::vector<ModelLayer> findLayers(mlir::ModuleOp module);

/// The layers of a YAML's model, without compiling a step.
llvm::Expected<std::vector<ModelLayer>> readLayers(const CompilerInput &input,
                                                   llvm::StringRef yaml);

/// How much trouble is taken over the sizes of arenas.
enum class PlanEffort : uint8_t {
  /// Within some per cent of the least.
  Quick,
  /// As mf-opt.
  Full
};

/// A step in the ascend dialect, of which mf-opt writes the same text for the
/// same options.
struct LoweredStep {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The layers of its model, in order.
  std::vector<ModelLayer> layers;
  /// The problems of device memory, by stage.
  std::vector<memory::StepProblem> arenas;
};

/// Compiles one training step without a limit of memory. The error has all
/// that the compiler reports as errors.
llvm::Expected<LoweredStep> lowerStep(const CompilerInput &input,
                                      llvm::StringRef yaml, PlanEffort effort,
                                      mlir::MLIRContext &context);

struct CompiledStep {
  program::Program program;
  /// The layers of the model, in order.
  std::vector<ModelLayer> layers;
  PlanEffort effort = PlanEffort::Full;
  /// The problems of device memory, by stage.
  std::vector<memory::StepProblem> arenas;
};

/// The same, decoded. May be called from several threads.
llvm::Expected<CompiledStep> compileStep(const CompilerInput &input,
                                         llvm::StringRef yaml,
                                         PlanEffort effort);

} // namespace mf::planner

#endif // MF_PLANNER_STEPCOMPILER_H
