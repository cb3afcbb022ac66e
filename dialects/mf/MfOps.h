//===- MfOps.h - Operations of the mf dialect ------------------*- C++ -*-===//

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

/// The suffix of function names for a piece of the sequence: `.piece1`, and
/// nothing for the first.
std::string getPieceSuffix(int64_t piece);

/// Parses the form that all functions of a model share: `@name keyword? (%arg:
/// type, ...) -> (types) attributes {...} region`. The keyword is the kind of a
/// layer.
mlir::ParseResult parseModelFunction(mlir::OpAsmParser &parser,
                                     mlir::OperationState &result);
void printModelFunction(mlir::OpAsmPrinter &printer,
                        mlir::FunctionOpInterface function);
/// Checks that the body ends in an `mf.return` of the function's result types.
mlir::LogicalResult verifyModelFunction(mlir::FunctionOpInterface function);

/// The ranks that differ in their coordinates on `axes` alone; none if the
/// module has no mesh.
std::optional<int64_t> getGroupSize(mlir::Operation *op, mlir::ArrayAttr axes);
/// Checks that `axes` are different axes of the module's mesh.
mlir::LogicalResult verifyAxes(mlir::Operation *op, mlir::ArrayAttr axes);
/// Checks too that they are in the mesh's order, in which a group's ranks are:
/// the parts of a tensor that is cut over them then lie behind each other.
mlir::LogicalResult verifyGroup(mlir::Operation *op, mlir::ArrayAttr axes);
/// Checks that `position`, where a rank's part of a dimension begins, is one
/// number, or a table of them that is still to be cut.
mlir::LogicalResult verifyPosition(mlir::Operation *op, mlir::Value position);

/// Checks that a share of dropped elements is above 0 and below 1.
mlir::LogicalResult verifyDropRate(mlir::Operation *op,
                                   const llvm::APFloat &value);
/// Names the group, and the channel, of a collective of the ranks of `axes`.
void setAxes(EmittedCollective &collective, mlir::ArrayAttr axes);

class ParamOp;

/// The exchange of ranks with summands of a parameter's gradient. It is cut
/// along the first dimension by `scatter` and then by `own`.
struct GradientReduction {
  /// Axes whose ranks have summands, and share the sum out.
  mlir::ArrayAttr scatter;
  /// Axes whose ranks have the same gradient, and share it out.
  mlir::ArrayAttr own;
  /// Axes whose ranks have summands, and all get the sum.
  mlir::ArrayAttr sum;
};

/// Appends what shares out the gradient of one micro-batch as the parameter is
/// stored. Operators are called `name`.
mlir::Value shareOutGradient(mlir::OpBuilder &builder, ParamOp param,
                             mlir::Value gradient, llvm::StringRef name);

/// Emits what puts a parameter together that ranks store in parts, in the type
/// in which layers read it.
void emitGather(LaunchEmitter &emitter, ParamOp param);

/// Whether ranks have something left to do for a gradient once all
/// micro-batches have added to it.
bool needsReduction(ParamOp param);

/// Checks that `gradient`, which `function` returns for `param`, is the sum
/// over ranks where the parameter is reduced in backward.
mlir::LogicalResult verifySummed(mlir::Operation *function, ParamOp param,
                                 mlir::Value gradient);

/// Checks that a parameter that is stored in parts says so consistently.
mlir::LogicalResult verifyStorage(ParamOp param);

/// Checks that the update of each stage reduces each gradient of the stage that
/// ranks have summands of, once and before anything else reads it.
mlir::LogicalResult verifyReductions(class ModelOp model);

} // namespace mf::ir

#define GET_OP_CLASSES
#include "dialects/mf/MfOps.h.inc"

namespace mf::ir {

/// The `mf.return` that ends `function`.
inline ReturnOp getReturn(mlir::FunctionOpInterface function) {
  return llvm::cast<ReturnOp>(
      function.getFunctionBody().front().getTerminator());
}

} // namespace mf::ir

#endif // MF_DIALECTS_MF_MFOPS_H
