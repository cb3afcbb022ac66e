//===- MfOps.h - Operations of the mf dialect ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_MF_MFOPS_H
#define MF_DIALECTS_MF_MFOPS_H

#include "dialects/mf/MfDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mf::ir {

/// Returns the suffix of function names for a piece of the sequence, such as
/// `.piece1`. Empty for the first piece.
std::string getPieceSuffix(int64_t piece);

/// Parses the common syntax of the functions of a model: `@name keyword? (%arg:
/// type, ...) -> (types) attributes {...} region`. The keyword is the kind of a
/// layer.
mlir::ParseResult parseModelFunction(mlir::OpAsmParser &parser,
                                     mlir::OperationState &result);
void printModelFunction(mlir::OpAsmPrinter &printer,
                        mlir::FunctionOpInterface function);
/// Checks that the body ends in an `mf.return` of the function's result types.
mlir::LogicalResult verifyModelFunction(mlir::FunctionOpInterface function);

/// Returns the number of ranks that differ only in their coordinates on `axes`,
/// which must satisfy verifyAxes. Without a mesh it is the number of the
/// model's stages, or 1 without axes.
int64_t getGroupSize(mlir::Operation *op, mlir::ArrayAttr axes);
/// Checks that `axes` are different axes of the module's mesh.
mlir::LogicalResult verifyAxes(mlir::Operation *op, mlir::ArrayAttr axes);
/// Checks in addition that they are in the mesh's order, which is that of a
/// group's ranks, so that the parts of a tensor that is cut over them are
/// contiguous.
mlir::LogicalResult verifyGroup(mlir::Operation *op, mlir::ArrayAttr axes);
/// Checks that `position`, at which a rank's part of a dimension begins, is a
/// single number, or a table of such numbers that is not cut yet.
mlir::LogicalResult verifyPosition(mlir::Operation *op, mlir::Value position);

/// Checks the type of a whole operand or result. Messages call it `what` and
/// have `reason` behind the type that is expected.
mlir::LogicalResult verifyType(mlir::Operation *op, mlir::Value value,
                               mlir::RankedTensorType expected,
                               llvm::StringRef what = "a result",
                               llvm::StringRef reason = "");
/// Returns the type with another last dimension.
mlir::RankedTensorType withLast(mlir::RankedTensorType type, int64_t size);
/// Returns the type without its last dimension, in fp32.
mlir::RankedTensorType getRowType(mlir::RankedTensorType type);

/// Checks that a fraction of dropped elements is above 0 and below 1.
mlir::LogicalResult verifyDropRate(mlir::Operation *op,
                                   const llvm::APFloat &value);
/// Sets the group and the channel of a collective of the ranks of `axes`.
void setAxes(EmittedCollective &collective, mlir::ArrayAttr axes);
/// Returns a buffer in which the `parts` parts of a tensor along `dim` are
/// contiguous, as a collective splits it: `tensor` itself, or a copy.
EmittedBuffer emitParts(LaunchEmitter &emitter, EmittedBuffer tensor,
                        mlir::RankedTensorType type, int64_t dim,
                        int64_t parts);
/// Emits a collective whose output, of `type`, is the concatenation of `parts`
/// parts along `dim`.
void emitConcatenation(LaunchEmitter &emitter, EmittedCollective collective,
                       mlir::RankedTensorType type, int64_t dim, int64_t parts);
/// Emits a copy of the part of a tensor along `dim` that a rank of `axes` has.
void emitOwnPart(LaunchEmitter &emitter, EmittedBuffer tensor,
                 mlir::RankedTensorType type, int64_t dim, int64_t parts,
                 mlir::ArrayAttr axes, EmittedBuffer part);

/// Returns the names in a list of parameters.
llvm::SmallVector<llvm::StringRef> getNames(mlir::ArrayAttr parameters);

class ParamOp;

/// Returns the dimensions of a parameter that a state of it has: all of them,
/// or those that remain after a mean over rows or columns.
llvm::SmallVector<int64_t> getStateDims(ParamOp param, State state);

/// Returns the type of one rank's part of a state. Null if the state is a mean
/// over rows or columns and the parameter has fewer than two dimensions.
mlir::RankedTensorType getStateType(ParamOp param, State state);

/// The reduction of a parameter's gradient over the ranks that hold summands of
/// it. The result is cut along the dimension of storage by `scatter` and then
/// by `own`.
struct GradientReduction {
  /// Axes whose ranks hold summands, over which the sum is scattered.
  mlir::ArrayAttr scatter;
  /// Axes whose ranks hold the same gradient and each keep their own part of
  /// it.
  mlir::ArrayAttr own;
  /// Axes whose ranks hold summands and all receive the sum.
  mlir::ArrayAttr sum;
};

/// Appends the operators that reduce and scatter the gradient of one
/// micro-batch to the layout in which the parameter is stored. Their cell is
/// `name`.
mlir::Value shareOutGradient(mlir::OpBuilder &builder, ParamOp param,
                             mlir::Value gradient, llvm::StringRef name);

/// Emits the collectives that gather a parameter that is stored in shards, in
/// the type in which layers read it. `rounded` is the rank's part in that type,
/// if it has one.
void emitGather(LaunchEmitter &emitter, ParamOp param,
                std::optional<EmittedBuffer> rounded = std::nullopt);

/// Returns whether the gradient must still be reduced over ranks after all
/// micro-batches have been accumulated.
bool needsReduction(ParamOp param);

/// Checks that `gradient`, which `function` returns for `param`, is summed over
/// ranks if the parameter is reduced in backward.
mlir::LogicalResult verifySummed(mlir::Operation *function, ParamOp param,
                                 mlir::Value gradient);

/// Checks that the attributes of a parameter that is stored in shards are
/// consistent.
mlir::LogicalResult verifyStorage(ParamOp param);

/// Checks that the update of each stage reduces each gradient of which ranks
/// hold summands once, and before anything else reads it.
mlir::LogicalResult verifyReductions(class ModelOp model);

} // namespace mf::ir

#define GET_OP_CLASSES
#include "dialects/mf/MfOps.h.inc"

namespace mf::ir {

/// Returns the `mf.return` that ends `function`.
inline ReturnOp getReturn(mlir::FunctionOpInterface function) {
  return llvm::cast<ReturnOp>(
      function.getFunctionBody().front().getTerminator());
}

} // namespace mf::ir

#endif // MF_DIALECTS_MF_MFOPS_H
