//===- MfOps.h - Operations of the mf dialect ------------------*- C++ -*-===//

#ifndef MF_DIALECTS_MF_MFOPS_H
#define MF_DIALECTS_MF_MFOPS_H

#include "dialects/mf/MfDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mf::ir {

/// Parses what the functions of a model share: `@name keyword? (%arg: type,
/// ...)
/// -> (types) attributes {...} region`. The keyword is the kind of a layer.
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
/// Names the group, and the channel, of what ranks of `axes` do together.
void setAxes(EmittedCollective &collective, mlir::ArrayAttr axes);

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
