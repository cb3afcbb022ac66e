//===- StepCompiler.h - From a YAML to a decoded step ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The whole compiler as a function. It runs mf-translate, mf-opt and the
// decoder of mf-run on a training YAML in memory.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLAN_SETTINGS_STEPCOMPILER_H
#define MF_PLAN_SETTINGS_STEPCOMPILER_H

#include "mf/Layers/CellTree.h"
#include "mf/Program/Program.h"
#include "mf/Support/Diagnostic.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/pipeline/Pipeline.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mf::planner {

/// The input that is the same for all YAMLs to be compiled.
struct CompilerInput {
  /// The name of the YAML's file, for messages.
  std::string fileName;
  /// The text of a model in the mf dialect. Empty to import the YAML's own
  /// model.
  std::optional<std::string> model;
  /// The name of the model's file, for messages.
  std::string modelName;
  /// The options of mf-opt of the same names.
  passes::LoweringOptions lowering;
  /// Whether steps have certificates, which only proofs of results read.
  bool certify = false;
  /// Whether steps are proven, for which they must have certificates.
  bool verify = false;
  /// Whether the INFO lines about layers are left out.
  bool quiet = true;
  /// Receives the warnings of importing and lowering. May be empty.
  std::function<void(Diagnostic)> handleWarning;
  /// The device with which the limit of memory is compared, which is `hbm` or
  /// that of the YAML. Empty to compare with none.
  std::string target, hbm;
  /// The value of mf-translate's --pretrained-config. May be empty.
  std::string pretrainedConfig;
  /// Caches the packings of frames and scratch that several steps have in
  /// common.
  std::shared_ptr<memory::PackMemo> memo = std::make_shared<memory::PackMemo>();
};

/// One of the layers that are distributed over stages.
struct ModelLayer {
  /// The prefix that operators' cells are relative to, for example `layers.3`.
  std::string name;
  /// The index of the layer's kind. Layers of one kind have the same operators,
  /// with the same types, attributes and operands, and differ only in names.
  size_t kind = 0;
};

/// Returns the layers of a model in order.
std::vector<ModelLayer> findLayers(mlir::ModuleOp module);

/// Returns the model from which steps are compiled: that of the input or, if it
/// has none, the one that the YAML describes.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
readModel(const CompilerInput &input, llvm::StringRef yaml,
          mlir::MLIRContext &context);

/// Returns a title for pages about a YAML: the names of its model and of the
/// file, as "llama2_7b · train.yaml".
std::string makeTitle(llvm::StringRef yaml, llvm::StringRef fileName);

/// Returns the layers of a YAML's model without compiling a step.
llvm::Expected<std::vector<ModelLayer>> readLayers(const CompilerInput &input,
                                                   llvm::StringRef yaml);

/// Returns whether the input has no model, or the one that a YAML describes.
bool hasOwnModel(const CompilerInput &input, llvm::StringRef yaml);

/// The effort that is spent on making arenas small.
enum class PlanEffort : uint8_t {
  /// Arenas are within some per cent of the smallest.
  Quick,
  /// Arenas are those of mf-opt.
  Full
};

/// A step in the ascend dialect. It is the module that mf-opt prints for the
/// same options.
struct LoweredStep {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The layers of the model in order.
  std::vector<ModelLayer> layers;
  /// The operators and Cells of each layer that settings can name.
  std::map<std::string, CellTree> names;
  /// The device memory problem of each stage.
  std::vector<memory::StepProblem> arenas;
};

/// Compiles one training step without a memory limit. The error has all errors
/// that the compiler reports.
llvm::Expected<LoweredStep> lowerStep(const CompilerInput &input,
                                      llvm::StringRef yaml, PlanEffort effort,
                                      mlir::MLIRContext &context);

/// A decoded step with its layers and memory problems.
struct CompiledStep {
  program::Program program;
  /// The layers of the model in order.
  std::vector<ModelLayer> layers;
  /// The operators and Cells of each layer that settings can name.
  std::map<std::string, CellTree> names;
  PlanEffort effort = PlanEffort::Full;
  /// The device memory problem of each stage.
  std::vector<memory::StepProblem> arenas;
};

/// Compiles and decodes one training step. Safe to call from several threads.
llvm::Expected<CompiledStep> compileStep(const CompilerInput &input,
                                         llvm::StringRef yaml,
                                         PlanEffort effort);

} // namespace mf::planner

#endif // MF_PLAN_SETTINGS_STEPCOMPILER_H
