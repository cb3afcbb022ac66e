//===- Functions.h - Functions of a model, run on a rank -------*- C++ -*-===//

#ifndef MF_LIB_INTERPRETER_FUNCTIONS_H
#define MF_LIB_INTERPRETER_FUNCTIONS_H

#include "Rank.h"

namespace mf::interpreter {

/// Runs one operator: of a model, on a stage's state, or between a tensor and
/// its copy in host memory.
mlir::LogicalResult runOperator(Rank &rank, mlir::Operation *op,
                                Environment &values);

/// Binds the arguments of `function`; their shapes must be those of its types.
mlir::LogicalResult bindArguments(mlir::FunctionOpInterface function,
                                  llvm::ArrayRef<Tensor> arguments,
                                  Environment &values);

/// Runs a function. Its results are appended to `results`, if given.
mlir::LogicalResult
runFunction(Rank &rank, mlir::FunctionOpInterface function,
            llvm::ArrayRef<Tensor> arguments,
            llvm::SmallVectorImpl<Tensor> *results = nullptr);

/// Runs backward of a chunk on the gradient of its output, what it reads of
/// forward's arguments, and forward's residuals. Adds the gradients to the
/// rank's and gives the one of the hidden input, if there is one.
mlir::FailureOr<Tensor> runBackwardFunction(Rank &rank, ir::BackwardOp backward,
                                            const Tensor &outputGradient,
                                            llvm::ArrayRef<Tensor> inputs,
                                            llvm::ArrayRef<Tensor> residuals);

/// Adds what backward returns: the gradient of the hidden input, which it
/// gives, if there is one, and those of `parameters`.
mlir::FailureOr<Tensor> addGradients(Rank &rank, mlir::Operation *op,
                                     mlir::ArrayAttr parameters,
                                     llvm::ArrayRef<Tensor> results);

/// Runs the kernels of an operator on parameters, gradients and optimizer
/// Runs what an operator on tensors emits, such as a collective.
mlir::LogicalResult runEmitted(Rank &rank, ir::ComputeOpInterface op,
                               Environment &values);

/// state at once.
mlir::LogicalResult runUpdateOperator(Rank &rank, ir::UpdateOpInterface op,
                                      Environment &values);

} // namespace mf::interpreter

#endif // MF_LIB_INTERPRETER_FUNCTIONS_H
