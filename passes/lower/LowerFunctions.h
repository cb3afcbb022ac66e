//===- LowerFunctions.h - Parts of a model to an ascend program -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_LOWER_LOWERFUNCTIONS_H
#define MF_PASSES_LOWER_LOWERFUNCTIONS_H

#include "passes/lower/ProgramBuilder.h"
#include "passes/schedule/ModelChunks.h"

namespace mf::passes {

/// Makes the routine of a chunk's forward function and the layout of its frame:
/// the residuals, then recomputed values, then values that backward keeps for
/// the half that computes gradients of parameters. The routine's arguments are
/// those of the function, followed by its outputs. Outputs for which `addsLoss`
/// is true are added to the step's loss and are no arguments. `first` is the
/// forward function of the chunk's first version if this is another version, or
/// null.
mlir::LogicalResult lowerForward(ProgramBuilder &program,
                                 const ChunkFunctions &chunk,
                                 ir::ForwardOp first,
                                 llvm::ArrayRef<bool> addsLoss);

/// Makes the routine of a chunk's recompute function. Its arguments are the
/// arguments of forward that it reads. Residuals and its results are slots of
/// the frame.
mlir::LogicalResult lowerRecompute(ProgramBuilder &program,
                                   const ChunkFunctions &chunk);

/// Makes the routine of a chunk's backward function. Its arguments are the
/// gradients of the outputs, the arguments of forward that it reads, and the
/// gradients of the hidden inputs. Residuals and kept values are slots of the
/// frame. Parameter gradients are added to those of the stage, or stored there
/// if there is only one micro-batch.
mlir::LogicalResult lowerBackward(ProgramBuilder &program,
                                  const ChunkFunctions &chunk);

/// Makes the routine of the half of a split backward that computes gradients of
/// parameters. Its arguments are the gradients of the outputs and the arguments
/// of forward that it reads.
mlir::LogicalResult lowerBackwardWeights(ProgramBuilder &program,
                                         const ChunkFunctions &chunk);

/// Makes the routine `update` with the function's arguments: the learning rate,
/// the step number and, if losses are scaled, the loss scale.
mlir::LogicalResult lowerUpdate(ProgramBuilder &program, ir::UpdateOp update);

/// Return the device scalars for a scaled loss: the scale that the host copies
/// at the start of a step, and the gradient with which backward starts.
ascend::StaticOp getLossScale(ProgramBuilder &program);
ascend::StaticOp getScaledGradient(ProgramBuilder &program);

/// Makes the routine `begin`, which zeroes the statics that a step adds to and,
/// if `gradient` is given, multiplies it by the loss scale for backward.
/// Returns false if there is nothing to do.
bool buildBegin(ProgramBuilder &program, bool hasLoss,
                mlir::FloatAttr gradient);

/// Makes the routine `finish`, which reports the mean loss.
void buildFinish(ProgramBuilder &program);

/// Returns the name of the frame layout of a forward function.
std::string getLayoutName(llvm::StringRef forward);

/// Lowers a schedule to the `ascend.step` of the program. Routines run on the
/// compute stream, in the order of the schedule's tasks. Transfers, copies of
/// swapped values and sums over ranks run concurrently on other streams.
mlir::LogicalResult buildStep(ProgramBuilder &program, ir::ScheduleOp schedule);

} // namespace mf::passes

#endif // MF_PASSES_LOWER_LOWERFUNCTIONS_H
