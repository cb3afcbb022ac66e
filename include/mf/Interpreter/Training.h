//===- Training.h - Steps of a model that is not lowered -------*- C++ -*-===//

#ifndef MF_INTERPRETER_TRAINING_H
#define MF_INTERPRETER_TRAINING_H

#include "dialects/mf/MfOps.h"
#include "mf/Runner/Trainer.h"

namespace mf::interpreter {

/// Does with a model what runner::train does with a program, and prints the
/// same lines: batches in, losses, gradients and parameters out. What only a
/// lowered program has (memory, streams, checkpoints of ranks) is refused.
/// What is wrong with the model is reported at its operations, everything else
/// by a call of `fail`.
mlir::LogicalResult train(ir::ModelOp model,
                          const runner::TrainingOptions &options,
                          llvm::raw_ostream &out, bool isTerminal,
                          llvm::function_ref<void(llvm::StringRef)> note,
                          llvm::function_ref<void(llvm::StringRef)> fail);

} // namespace mf::interpreter

#endif // MF_INTERPRETER_TRAINING_H
