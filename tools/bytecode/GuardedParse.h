//===- GuardedParse.h - Reads IR that may be damaged -----------*- C++ -*-===//

#ifndef MF_TOOLS_BYTECODE_GUARDEDPARSE_H
#define MF_TOOLS_BYTECODE_GUARDEDPARSE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

namespace mf::tools {

/// As mlir::parseSourceFile. MLIR's reader aborts on some damaged bytecode,
/// rather than fail: then this ends the program with an error that says so.
/// Must be called from one thread only.
mlir::OwningOpRef<mlir::ModuleOp> parseGuarded(llvm::SourceMgr &sources,
                                               mlir::MLIRContext &context);

/// Ends the program as parseGuarded does if the buffer is bytecode on which
/// MLIR's reader aborts. Whatever else is wrong with it is not said.
void refuseAbortingBytecode(llvm::MemoryBufferRef buffer,
                            const mlir::DialectRegistry &registry);

} // namespace mf::tools

#endif // MF_TOOLS_BYTECODE_GUARDEDPARSE_H
