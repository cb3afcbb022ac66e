//===- Interpreter.h - Runs models of the mf dialect ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The reference for all rewrites. It runs one operator at a time on plain
// tensors, with the kernels that lowered programs use, but without a memory
// plan and without streams. It runs a model at every level of the mf dialect:
//
//   mf.layer                 forward: the loss
//   mf.chunk                 forward and backward: the loss and gradients
//   mf.forward, mf.backward  the same; with mf.update the whole step
//   mf.schedule              the step as each stage's schedule says
//
// Each rank runs one stage, with its own parameters, gradients and optimizer
// state. Without schedules, each micro-batch passes forward and backward
// through all chunks before the next one starts.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_INTERPRETER_INTERPRETER_H
#define MF_EXEC_INTERPRETER_INTERPRETER_H

#include "dialects/mf/MfOps.h"
#include "mf/Exec/Ranks/Training.h"

namespace mf::interpreter {

/// Runs steps of one model, which must not change meanwhile. Errors are
/// reported at the operation that cannot be run. Training runs use it like a
/// program. Features that only lowered programs have (memory, streams,
/// checkpoints of ranks) are rejected.
class Interpreter : public ranks::RankEngine {
public:
  static mlir::FailureOr<std::unique_ptr<Interpreter>>
  create(ir::ModelOp model, const ranks::TrainingOptions &options);
  ~Interpreter() override;

  ranks::TrainingProperties getProperties() const override;
  llvm::Error check() override;
  llvm::Error start(ranks::NoteUser note) override;
  llvm::Expected<ranks::StepOutput>
  runStep(const ranks::StepInput &input,
          llvm::function_ref<llvm::Error()> useGradients) override;
  /// Collects the gradients. Gradients that ranks share in fp32 are summed over
  /// the axes over which the parameter is reduced.
  llvm::Expected<ranks::WholeTensors> collectGradients() const override;
  /// Collects the parameters that the steps so far have read.
  llvm::Expected<ranks::WholeTensors> collectParameters() const override;
  llvm::Expected<ranks::WholeTensors> collectTrained() const override;

private:
  class State;
  explicit Interpreter(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace mf::interpreter

#endif // MF_EXEC_INTERPRETER_INTERPRETER_H
