//===- Functions.h - Functions of a model, run on a rank -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_INTERPRETER_FUNCTIONS_H
#define MF_LIB_EXEC_INTERPRETER_FUNCTIONS_H

#include "Rank.h"

namespace mf::interpreter {

/// Runs one operator: of a model, on a stage's state, or between a tensor and
/// its copy in host memory.
mlir::LogicalResult runOperator(Rank &rank, mlir::Operation *op,
                                Environment &values);

/// Binds the arguments of `function`. Their shapes must be those of its types.
mlir::LogicalResult bindArguments(mlir::FunctionOpInterface function,
                                  llvm::ArrayRef<Tensor> arguments,
                                  Environment &values);

/// Runs a function. Its results are appended to `results`, if given.
mlir::LogicalResult
runFunction(Rank &rank, mlir::FunctionOpInterface function,
            llvm::ArrayRef<Tensor> arguments,
            llvm::SmallVectorImpl<Tensor> *results = nullptr);

/// Runs the recompute function of a chunk on the values that a task passes (the
/// arguments and outputs of forward that it reads) and on the residuals of
/// `frame`, to which it appends its results.
mlir::LogicalResult runRecomputeFunction(Rank &rank, ir::RecomputeOp recompute,
                                         llvm::ArrayRef<Tensor> passed,
                                         llvm::SmallVectorImpl<Tensor> &frame);

/// Runs backward of a chunk on the values that a task passes (the gradients of
/// its outputs, and the arguments of forward that it reads) and on the values
/// of `frame`, to which it appends those that it keeps for the other half. Adds
/// the gradients of parameters to the rank's, and returns those of the hidden
/// inputs.
mlir::FailureOr<llvm::SmallVector<Tensor>>
runBackwardFunction(Rank &rank, ir::BackwardOp backward,
                    llvm::ArrayRef<Tensor> passed,
                    llvm::SmallVectorImpl<Tensor> &frame);

/// Runs the half of a split backward that makes gradients of parameters, and
/// adds them to the rank's.
mlir::LogicalResult runWeightsFunction(Rank &rank,
                                       ir::BackwardWeightsOp weights,
                                       llvm::ArrayRef<Tensor> passed,
                                       llvm::ArrayRef<Tensor> frame);

/// Adds gradients of `parameters` to the rank's.
mlir::LogicalResult addGradients(Rank &rank, mlir::Operation *op,
                                 mlir::ArrayAttr parameters,
                                 llvm::ArrayRef<Tensor> gradients);

/// Runs the launches and collectives that an operator on tensors emits.
mlir::LogicalResult runEmitted(Rank &rank, ir::ComputeOpInterface op,
                               Environment &values);

/// Runs the kernels of an operator on parameters, gradients and optimizer state
/// immediately.
mlir::LogicalResult runUpdateOperator(Rank &rank, ir::UpdateOpInterface op,
                                      Environment &values);

/// Puts a parameter together that ranks store in parts.
mlir::LogicalResult gatherParameter(Rank &rank, ir::ParamOp param);

} // namespace mf::interpreter

#endif // MF_LIB_EXEC_INTERPRETER_FUNCTIONS_H
