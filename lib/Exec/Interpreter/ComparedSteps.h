//===- ComparedSteps.h - Results of steps of a module -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_INTERPRETER_COMPAREDSTEPS_H
#define MF_LIB_EXEC_INTERPRETER_COMPAREDSTEPS_H

#include "mf/Decode/Decoder.h"
#include "mf/Exec/Interpreter/Comparison.h"
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

/// The constant learning rate of all comparisons: large, so that a wrong update
/// shows in the next loss.
constexpr float comparedLearningRate = 0.01F;

struct ComparedSteps {
  std::vector<float> losses;
  std::vector<std::optional<float>> globalNorms;
  /// The gradients of the last step.
  ranks::TensorValues gradients;
  ranks::TensorValues parameters;
};

/// Runs steps on random tokens, which depend only on the seed and the sizes.
mlir::FailureOr<ComparedSteps> runSteps(ModuleEngine &engine, int64_t steps,
                                        uint64_t seed, float lossScale);

/// Returns the elements of a floating-point tensor.
std::vector<double> getNumbers(const ranks::TensorValue &value);

/// Returns the square root of the sum of squares.
double getNorm(llvm::ArrayRef<double> values);

/// Compares `gradients` of the module `after` with finite differences of the
/// loss of `before`, at parameters that are far from zero.
void compareWithDifferences(mlir::ModuleOp before, mlir::ModuleOp after,
                            const ranks::TrainingOptions &base,
                            Comparison &comparison);

/// Compares the parameters after one step with those that AdamW, by the model's
/// training configuration, computes from the parameters and gradients of
/// `before`.
void compareWithAdamW(ir::ModelOp model, const ComparedSteps &before,
                      const ranks::TensorValues &updated, float lossScale,
                      Comparison &comparison);

} // namespace mf::interpreter

#endif // MF_LIB_EXEC_INTERPRETER_COMPAREDSTEPS_H
