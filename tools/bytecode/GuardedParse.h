//===- GuardedParse.h - Reads IR that may be damaged -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_BYTECODE_GUARDEDPARSE_H
#define MF_TOOLS_BYTECODE_GUARDEDPARSE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

namespace mf::tools {

/// Parses a file like mlir::parseSourceFile. A text in a format that this mf
/// does not read is refused before it is parsed. If MLIR's reader aborts on
/// damaged bytecode, ends the program with an error message. Must always be
/// called from the same thread.
mlir::OwningOpRef<mlir::ModuleOp> parseGuarded(llvm::SourceMgr &sources,
                                               mlir::MLIRContext &context);

/// Ends the program with the error of parseGuarded if MLIR's reader aborts on
/// the buffer, or if the buffer is a text in another format. Does not report
/// other errors.
void refuseUnreadable(llvm::MemoryBufferRef buffer,
                      const mlir::DialectRegistry &registry);

} // namespace mf::tools

#endif // MF_TOOLS_BYTECODE_GUARDEDPARSE_H
