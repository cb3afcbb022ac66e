//===- LowerFunctions.h - Functions of a model to routines -----*- C++ -*-===//

#ifndef MF_PASSES_LOWER_LOWERFUNCTIONS_H
#define MF_PASSES_LOWER_LOWERFUNCTIONS_H

#include "passes/lower/ProgramBuilder.h"
#include "passes/schedule/ModelChunks.h"

namespace mf::passes {

/// Makes the routine of a chunk's forward function and the layout of its
/// frame: the residuals, then what is recomputed, then what backward keeps for
/// the half that makes gradients of parameters. The routine's arguments are the
/// function's and then its outputs; those for which `addsLoss` is true are
/// added to the step's loss instead and are no arguments.
mlir::LogicalResult lowerForward(ProgramBuilder &program,
                                 const ChunkFunctions &chunk,
                                 llvm::ArrayRef<bool> addsLoss);

/// Makes the routine of a chunk's recompute function, whose arguments are those
/// of forward that it reads; residuals and its results are slots of the frame.
mlir::LogicalResult lowerRecompute(ProgramBuilder &program,
                                   const ChunkFunctions &chunk);

/// Makes the routine of a chunk's backward function. The routine's arguments
/// are the outputs' gradients, the arguments of forward that it reads, and the
/// gradients of the hidden inputs; residuals and kept values are slots of the
/// frame. Parameter gradients are added to the stage's, or written there when
/// there is but one micro-batch.
mlir::LogicalResult lowerBackward(ProgramBuilder &program,
                                  const ChunkFunctions &chunk);

/// Makes the routine of the half of a split backward that makes gradients of
/// parameters. The routine's arguments are the outputs' gradients and the
/// arguments of forward that it reads.
mlir::LogicalResult lowerBackwardWeights(ProgramBuilder &program,
                                         const ChunkFunctions &chunk);

/// Makes the routine `update`, with the function's arguments: the learning
/// rate, the step number and, where losses are scaled, the loss scale.
mlir::LogicalResult lowerUpdate(ProgramBuilder &program, ir::UpdateOp update);

/// The device scalars of a scaled loss: the scale that the host copies at the
/// beginning of a step, and the gradient that backward begins with.
ascend::StaticOp getLossScale(ProgramBuilder &program);
ascend::StaticOp getScaledGradient(ProgramBuilder &program);

/// Makes the routine `begin`, which zeroes the statics that a step adds to and,
/// if `gradient` is given, multiplies it by the loss scale for backward. False
/// if there is nothing to do.
bool buildBegin(ProgramBuilder &program, bool hasLoss,
                mlir::FloatAttr gradient);

/// Makes the routine `finish`, which reports the mean loss.
void buildFinish(ProgramBuilder &program);

/// The name of the frame layout of a forward function.
std::string getLayoutName(llvm::StringRef forward);

} // namespace mf::passes

#endif // MF_PASSES_LOWER_LOWERFUNCTIONS_H
