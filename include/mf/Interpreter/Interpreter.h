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
#include "mf/Ranks/InitialValues.h"
#include "mf/Ranks/StepValues.h"
#include "mf/Ranks/WholeTensors.h"

namespace mf::interpreter {

struct InterpreterOptions {
  /// Threads of a kernel; 0 takes as many as the machine has. Results do not
  /// depend on it.
  int threads = 0;
  /// Of the initial values, which are those of a lowered program.
  uint64_t seed = 0;
  /// Micro-batches of a step, where the model has no training configuration
  /// that says so.
  int64_t microBatches = 1;
  /// Called for each trained parameter.
  ranks::TensorChange changeParameter;
};

/// Runs steps of one model, which must not change meanwhile. What cannot be run
/// is reported at its operation.
class Interpreter {
public:
  static mlir::FailureOr<std::unique_ptr<Interpreter>>
  create(ir::ModelOp model, const InterpreterOptions &options);
  ~Interpreter();

  int64_t getMicroBatches() const;
  /// Whether a step computes gradients.
  bool hasBackward() const;
  /// Whether it changes parameters.
  bool hasUpdate() const;

  mlir::FailureOr<ranks::StepOutput> runStep(const ranks::StepInput &input);

  /// The gradients of the last step as backward left them, neither clipped nor
  /// divided by the loss scale; of tied parameters, each one's own. Of those
  /// that ranks share out in fp32 the whole, summed over the axes on which the
  /// parameter is reduced.
  llvm::Expected<ranks::WholeTensors> collectGradients() const;
  /// The trained parameters that the steps so far read; of tied ones the owner.
  llvm::Expected<ranks::WholeTensors> collectParameters() const;

private:
  class State;
  explicit Interpreter(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace mf::interpreter

#endif // MF_INTERPRETER_INTERPRETER_H
