//===- Interpreter.h - Runs models of mf as they are -----------*- C++ -*-===//
//
// A reference for everything that rewrites: one operator at a time on plain
// tensors, through the kernels that lowered programs run, with no plan of
// memory and no streams. It runs a model at every level of the mf dialect:
//
//   mf.layer                 forward: the loss
//   mf.chunk                 forward and backward: the loss and gradients
//   mf.forward, mf.backward  the same; with mf.update the whole step
//   mf.schedule              the step as each stage's schedule says
//
// A rank is what runs one stage, with parameters, gradients and optimizer state
// of its own. Without schedules each micro-batch goes through all chunks and
// back before the next one.
//
//===----------------------------------------------------------------------===//

#ifndef MF_INTERPRETER_INTERPRETER_H
#define MF_INTERPRETER_INTERPRETER_H

#include "dialects/mf/MfOps.h"
#include "mf/Exec/Ranks/Training.h"

namespace mf::interpreter {

/// Runs steps of one model, which must not change meanwhile. An operation that
/// cannot be run is reported there. A training run does with it what it does
/// with a program; what only a lowered program has (memory, streams,
/// checkpoints of ranks) is refused.
class Interpreter : public ranks::RankEngine {
public:
  static mlir::FailureOr<std::unique_ptr<Interpreter>>
  create(ir::ModelOp model, const ranks::TrainingOptions &options);
  ~Interpreter() override;

  ranks::TrainingFacts getFacts() const override;
  llvm::Error check() override;
  llvm::Error start(ranks::NoteUser note) override;
  llvm::Expected<ranks::StepOutput>
  runStep(const ranks::StepInput &input,
          llvm::function_ref<llvm::Error()> useGradients) override;
  /// The gradients that ranks share out in fp32 are summed over the axes on
  /// which the parameter is reduced.
  llvm::Expected<ranks::WholeTensors> collectGradients() const override;
  /// The parameters that the steps so far read.
  llvm::Expected<ranks::WholeTensors> collectParameters() const override;
  llvm::Expected<ranks::WholeTensors> collectTrained() const override;

private:
  class State;
  explicit Interpreter(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace mf::interpreter

#endif // MF_INTERPRETER_INTERPRETER_H
