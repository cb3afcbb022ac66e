//===- GuardedParse.h - Reads IR that may be damaged -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_BYTECODE_GUARDEDPARSE_H
#define MF_TOOLS_BYTECODE_GUARDEDPARSE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

namespace mf::tools {

/// Parses a file like mlir::parseSourceFile. If MLIR's reader aborts on damaged
/// bytecode, ends the program with an error message. Must always be called from
/// the same thread.
mlir::OwningOpRef<mlir::ModuleOp> parseGuarded(llvm::SourceMgr &sources,
                                               mlir::MLIRContext &context);

/// Ends the program as parseGuarded does if MLIR's reader aborts on the buffer.
/// Does not report other errors.
void refuseAbortingBytecode(llvm::MemoryBufferRef buffer,
                            const mlir::DialectRegistry &registry);

} // namespace mf::tools

#endif // MF_TOOLS_BYTECODE_GUARDEDPARSE_H
