//===- ComparedSteps.h - Results of steps of a module -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_INTERPRETER_COMPAREDSTEPS_H
#define MF_LIB_EXEC_INTERPRETER_COMPAREDSTEPS_H

#include "mf/Exec/Interpreter/Comparison.h"
#include "mf/Exec/Interpreter/ModuleEngine.h"

namespace mf::interpreter {

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
