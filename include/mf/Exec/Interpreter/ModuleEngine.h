//===- ModuleEngine.h - Steps of a module at any level ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_INTERPRETER_MODULEENGINE_H
#define MF_EXEC_INTERPRETER_MODULEENGINE_H

#include "mf/Decode/Decoder.h"
#include "mf/Exec/Ranks/Training.h"

namespace mf::interpreter {

/// Runs steps of one module, which must not change meanwhile. Models are
/// interpreted, planned programs run on emulated devices.
class ModuleEngine {
public:
  /// Makes an engine. Reports an error at an operation that cannot be run.
  static mlir::FailureOr<std::unique_ptr<ModuleEngine>>
  create(mlir::ModuleOp module, const ranks::TrainingOptions &options);

  const ranks::TrainingProperties &getProperties() const { return properties; }
  /// Returns whether the module defines the number of micro-batches in a step.
  bool knowsMicroBatches() const { return isTrained; }

  mlir::FailureOr<ranks::StepOutput> runStep(const ranks::StepInput &input);
  /// Returns the gradients of the last step as backward computed them.
  const ranks::TensorValues &getGradients() const { return gradients; }
  mlir::FailureOr<ranks::TensorValues> getParameters() const;

private:
  ModuleEngine(mlir::ModuleOp module, const ranks::TrainingOptions &options)
      : module(module), options(options) {}
  mlir::LogicalResult start();
  mlir::LogicalResult report(llvm::Error error) const;

  mlir::ModuleOp module;
  const ranks::TrainingOptions options;
  /// Empty if the module is a model.
  std::optional<program::DecodedProgram> decoded;
  std::unique_ptr<ranks::RankEngine> engine;
  ranks::TrainingProperties properties;
  bool isTrained = true;
  ranks::TensorValues gradients;
};

} // namespace mf::interpreter

#endif // MF_EXEC_INTERPRETER_MODULEENGINE_H
